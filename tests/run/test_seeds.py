"""Seeds: the generator of an iteration is NumPy's own for (seed, t), made more quickly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from zofw.run.session.random_streams import AHEAD, Stream

WIDE = tuple(int(word) for word in np.random.default_rng(0).integers(1 << 32, size=9))


@pytest.mark.parametrize(
    "entropy",
    [(0,), (5,), (1 << 32,), ((1 << 64) + 3, 1), (1, 2, 3, 4), (1, 2, 3, 4, 5), ((1 << 127) + 12345,), WIDE],
)
def test_it_is_the_one_of_a_spawned_seed_sequence(entropy):
    for iteration, redraws in product([0, 1, 77, (1 << 32) - 1, 1 << 32, (1 << 40) + 9], [0, 1, 1 << 35]):
        key = (iteration, redraws) if redraws else (iteration,)
        sequence = np.random.SeedSequence(list(entropy), spawn_key=key)
        expected = np.random.Generator(np.random.Philox(sequence)).integers(1 << 63, size=8)
        stream = Stream(entropy)
        stream.at(3).random(5)  # what was drawn before does not matter
        assert np.array_equal(stream.at(iteration, redraws).integers(1 << 63, size=8), expected), key


def test_two_runs_do_not_share_a_generator():
    one, other = Stream((1,)), Stream((1,))
    a, b = one.at(0), other.at(0)
    assert np.array_equal(a.random(3), b.random(3))
    one.at(1)
    assert b.random() == Stream((1,)).at(0).random(4)[3]


def test_iterations_may_come_in_any_order():
    stream = Stream((3,))
    order = [0, AHEAD - 1, AHEAD, 2 * AHEAD + 7, 1, (1 << 32) + 5, (1 << 32) - 1, 0]
    for iteration in order:
        sequence = np.random.SeedSequence(3, spawn_key=(iteration,))
        assert stream.at(iteration).random() == np.random.Generator(np.random.Philox(sequence)).random()
