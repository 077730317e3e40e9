"""Faults that show only after some iterations: of a memory of components, and of atoms with weights. Each breaks a law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import zofw
from zofw.algorithms.facts import Estimate, Facts
from zofw.atoms import Dense
from zofw.core import Batch, Info, gap
from zofw.differences import OwnDifferences
from zofw.extend import bookkeeping, check_method, mathematics
from zofw.extend.mathematics import MethodSubject
from zofw.sets.check import examine

BATCH = 6
PAST = (mathematics.later_estimates_are_as_stated, mathematics.atoms_make_the_point)


@dataclass(frozen=True)
class Remembering:
    """SAGA's estimate with away steps over the atoms of x, with one fault or none."""

    fault: str = ""
    radius: float = 1e-6

    name: ClassVar[str] = "remembering"
    facts: ClassVar[Facts] = Facts(
        queries="n*(d + 1) if t == 0 else 12*(d + 1)",
        lmo=("0", "2"),
        estimate=Estimate("0", "0", later="1"),
        within=8_000,
    )

    @dataclass(frozen=True)
    class State:
        t: int
        x: np.ndarray
        memory: np.ndarray
        g: np.ndarray
        atoms: tuple[Dense, ...]
        weights: np.ndarray

    def init(self, task, x0):
        nothing = np.zeros((task.n, task.dim))
        return self.State(0, x0, nothing, np.zeros(task.dim), (Dense(x0),), np.ones(1))

    def step(self, task, state, rng):
        estimate, memory, g = yield from self.remember(task, state, rng)
        s = task.lmo(estimate)
        x, atoms, weights = self.move(state, estimate, s.dense(), 2 / (state.t + 20))
        after = self.State(state.t + 1, x, memory, g, atoms, weights)
        return after, Info(gap(estimate, state.x, s), at_start=True)

    def remember(self, task, state, rng):
        """ĝ, the memory and its mean."""
        fault, x, d, n = self.fault, state.x, task.dim, task.n
        if state.t == 0:
            own = OwnDifferences.of(x, task.all, task.pattern(task.all), self.radius)
            memory = own.slopes((yield own.query))[0].reshape(n, d)
            return memory.mean(axis=0), memory, memory.mean(axis=0)
        drawn = rng.integers(n, size=2 * BATCH)
        S = Batch(n, drawn)
        anchor = task.set.initial_point(d) if fault == "gradients of the start" else x
        own = OwnDifferences.of(anchor, S, task.pattern(S), self.radius)
        new = own.slopes((yield own.query))[0].reshape(2 * BATCH, d)
        change = new - state.memory[drawn]
        sizes = {"correction turned": -1.0, "correction times d": d, "no correction": 0.0, "summed": BATCH}
        estimate = state.g + sizes.get(fault, 1.0) * change[:BATCH].mean(axis=0)
        if fault == "memory alone for the drawn":
            estimate = state.g + new[:BATCH].mean(axis=0)
        memory, g = state.memory.copy(), state.g.copy()
        share = {
            "mean summed": 1.0,
            "mean turned": -1 / n,
            "mean left": 0.0,
            "mean over the batch": 1 / BATCH,
        }
        for i, correction in zip(drawn[BATCH:], change[BATCH:], strict=True):
            first = not np.array_equal(
                memory[i], state.memory[i] + correction
            )  # one drawn twice moves g once
            g = g + share.get(fault, 1 / n) * correction * first
            if fault == "memory of the neighbour":
                memory[(i + 1) % n] = state.memory[i] + correction
            elif fault == "memory of the change":
                memory[i] = correction
            elif fault != "memory left":
                memory[i] = state.memory[i] + correction
        return estimate, memory, g

    def move(self, state, g, s, gamma):
        """x, atoms and weights after a step towards s or away from the worst atom."""
        fault, A, w = self.fault, [a.dense() for a in state.atoms], state.weights.copy()
        heights = np.array([g @ a for a in A])
        i = int(np.argmax(heights))
        towards = len(A) == 1 or g @ (state.x - s) >= heights[i] - g @ state.x
        if towards:
            x, gain = state.x + gamma * (s - state.x), gamma
            w *= 1.0 if fault == "weights not scaled" else 1 - gamma
            place = next((j for j, a in enumerate(A) if np.array_equal(a, s)), len(A))
            if place == len(A):
                A, w = [*A, s], np.append(w, 0.0)
            w[place] += 0.0 if fault == "gain left out" else gain
        else:
            i = int(np.argmin(heights)) if fault == "away from the best" else i
            most = 1.0 if fault == "away beyond the face" else w[i] / (1 - w[i])
            gamma = min(gamma, most) if fault != "away beyond the face" else 0.9
            sign = -1.0 if fault == "away turned" else 1.0
            x = state.x + sign * gamma * (state.x - A[i])
            w *= 1 + gamma
            w[i] -= 0.0 if fault == "loss left out" else gamma
        keep = w > 1e-12 if fault != "away beyond the face" else w != 0.0
        return x, tuple(Dense(a) for a, k in zip(A, keep, strict=True) if k), w[keep]


FAULTS = (
    "correction turned", "correction times d", "no correction", "summed", "memory alone for the drawn",
    "gradients of the start", "mean summed", "mean turned", "mean left", "mean over the batch",
    "memory of the neighbour", "memory of the change", "memory left",
    "away from the best", "weights not scaled", "gain left out", "away turned", "loss left out", "away beyond the face",
)  # fmt: skip


def broken(method):
    """The names of the laws that it breaks, those of this file first."""
    subject = MethodSubject(method)
    rest = [law for law in mathematics.LAWS if law not in PAST]
    for law in (*PAST, *rest, bookkeeping.stays_inside_and_is_counted):
        if examine(law, subject).ok is False:
            yield law.__name__


def test_without_a_fault_nothing_breaks():
    assert list(broken(Remembering())) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_memory_or_of_the_atoms_breaks_a_law(fault):
    assert next(broken(Remembering(fault)), None) in {law.__name__ for law in PAST}


@pytest.mark.parametrize("fault", ["correction turned", "correction times d", "no correction", "summed"])
def test_the_shipped_memory_with_a_fault_breaks_a_law(fault):
    factor = {"correction turned": -1.0, "correction times d": 8.0, "no correction": 0.0, "summed": 4.0}[
        fault
    ]

    @dataclass(frozen=True)
    class Wrong(zofw.papers.SAGAFW):
        def step(self, task, state, rng):
            lmo = task.lmo
            task.lmo = lambda g: lmo(state.g + factor * (g - state.g) if state.t else g)
            try:
                return (yield from super().step(task, state, rng))
            finally:
                del task.lmo

    assert next(broken(Wrong(batch_size=4)), None) == "later_estimates_are_as_stated"


@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_away_and_pairwise_steps_of_the_library_keep_the_law_of_atoms(variant):
    (finding,) = (
        one for one in check_method(zofw.papers.FrankWolfe(variant)).findings if "weight is taken" in one.law
    )
    assert finding.ok is True
