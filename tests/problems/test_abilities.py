"""What a problem can do is asked once and forgotten with the problem."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np

import zofw
from zofw.problems import Logistic, evaluate
from zofw.problems.abilities import abilities


def logistic(seed=0):
    rng = np.random.default_rng(seed)
    return Logistic(rng.standard_normal((20, 3)), np.where(rng.random(20) < 0.5, -1.0, 1.0))


def test_a_problem_is_forgotten_after_its_run():
    f = logistic()
    zofw.minimize(f, zofw.L1Ball(), method="zo-fw", budget=500, rng=0)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_a_copy_has_its_own_abilities():
    f = logistic(0)
    x = np.array([0.3, -0.2, 0.1])
    abilities(f)
    for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        other.matrix = logistic(1).matrix
        assert abilities(other).mean(x) == logistic(1).value(x) != f.value(x)
        assert abilities(other) is abilities(other)
    assert abilities(f).mean(x) == f.value(x)


def test_slots_are_no_hindrance():
    class Slotted:
        __slots__ = ("dim", "n")

        def __init__(self):
            self.dim, self.n = 2, 1

        def values(self, points, components):
            return (points**2).sum(axis=1, keepdims=True)

    query = zofw.core.Query(np.array([1.0, 2.0]), zofw.core.Batch(1))
    assert evaluate(Slotted(), query).values == 5.0
