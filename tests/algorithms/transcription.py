"""What transcriptions of papers share: a world answered one value at a time, and the comparison with the library.

A transcription is the paper's box once more: dense, one direction and one component at a time, sharing no code with the
library. It is a generator that yields the reported point after each iteration, and takes its random numbers from the
generators that the session derives from (seed, t), in the order in which the library draws them; nothing else is shared.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import zofw
from zofw.algorithms import as_algorithm
from zofw.core import Task
from zofw.problems import BlackBox, evaluate

Vector = np.ndarray


class World:
    """A finite sum and a set: one value and one vertex at a time, both counted."""

    def __init__(self, component: Callable[[Vector, int], float], n: int, d: int, entropy: Any) -> None:
        self.component, self.n, self.d, self.entropy = component, n, d, entropy
        self.queries = self.lmos = 0

    def f(self, i: int, x: Vector) -> float:
        self.queries += 1
        return self.component(x, i)

    def rng(self, t: int) -> np.random.Generator:
        seed = np.random.SeedSequence(list(self.entropy), spawn_key=(t,))
        return np.random.Generator(np.random.Philox(seed))

    def vertex(self, g: Vector) -> Vector:
        raise NotImplementedError

    def lmo(self, g: Vector) -> Vector:
        self.lmos += 1
        return self.vertex(g)

    # averages over components of directional differences ------------------------------------------------------------

    def central(self, x: Vector, u: Vector, mu: float, batch: Any) -> float:
        total = 0.0
        for i in batch:
            total += (self.f(i, x + mu * u) - self.f(i, x - mu * u)) / (2 * mu)
        return total / len(batch)

    def forward(self, x: Vector, u: Vector, mu: float, batch: Any, base: list[float]) -> float:
        total = 0.0
        for k, i in enumerate(batch):
            total += (self.f(i, x + mu * u) - base[k]) / mu
        return total / len(batch)

    def base(self, x: Vector, batch: Any) -> list[float]:
        return [self.f(i, x) for i in batch]

    def along(self, x: Vector, U: Vector, mu: float, batch: Any, scheme: str) -> Vector:
        if scheme == "central":
            return np.array([self.central(x, U[:, j], mu, batch) for j in range(U.shape[1])])
        base = self.base(x, batch)
        return np.array([self.forward(x, U[:, j], mu, batch, base) for j in range(U.shape[1])])


class OnL1(World):
    radius = 2.0

    def vertex(self, g: Vector) -> Vector:
        i = int(np.argmax(np.abs(g)))
        s = np.zeros(self.d)
        s[i] = -self.radius * np.sign(g[i])
        return s


class OnL2(World):
    radius = 1.5

    def vertex(self, g: Vector) -> Vector:
        return -self.radius * g / math.sqrt(float(g @ g))


class OnSimplex(World):
    def vertex(self, g: Vector) -> Vector:
        return np.eye(self.d)[int(np.argmin(g))]


class OnNuclear(World):
    radius, shape = 2.0, (3, 4)

    def vertex(self, g: Vector) -> Vector:
        left, _, right = np.linalg.svd(g.reshape(self.shape))
        return (-self.radius * np.outer(left[:, 0], right[0])).reshape(-1)


def onto_simplex(v: Vector, total: float) -> Vector:
    """max(v − θ, 0) with θ such that the entries sum to ``total``."""
    low, high = float(v.min()) - total, float(v.max())
    for _ in range(200):
        theta = (low + high) / 2
        if np.maximum(v - theta, 0).sum() > total:
            low = theta
        else:
            high = theta
    return np.maximum(v - high, 0)


def onto_l1(v: Vector, radius: float) -> Vector:
    return v if np.abs(v).sum() <= radius else np.sign(v) * onto_simplex(np.abs(v), radius)


def project(w: World, v: Vector) -> Vector:
    if isinstance(w, OnL1):
        return onto_l1(v, w.radius)
    if isinstance(w, OnL2):
        norm = math.sqrt(float(v @ v))
        return v if norm <= w.radius else v * (w.radius / norm)
    if isinstance(w, OnNuclear):
        left, sigma, right = np.linalg.svd(v.reshape(w.shape), full_matrices=False)
        return (left @ np.diag(onto_l1(sigma, w.radius)) @ right).reshape(-1)
    return onto_simplex(v, 1.0)


def sphere_estimate(w: World, x: Vector, V: Vector, mu: float, batch: Any) -> Vector:
    """d/(μb) Σ_j [f_S(x + μv_j) − f_S(x)] v_j, v_j of length 1."""
    slopes = w.along(x, V, mu, batch, "forward")
    g = np.zeros(w.d)
    for j in range(V.shape[1]):
        g = g + w.d / V.shape[1] * slopes[j] * V[:, j]
    return g


def unit(U: Vector) -> Vector:
    return U / np.linalg.norm(U, axis=0)


def coordinate_gradient(w: World, x: Vector, mu: float, batch: Any) -> Vector:
    g = np.zeros(w.d)
    for j in range(w.d):
        e = np.zeros(w.d)
        e[j] = 1.0
        g[j] = w.central(x, e, mu, batch)
    return g


D, N, T = 12, 9, 24
SETS: dict[str, tuple[Any, type[World]]] = {
    "l1": (zofw.L1Ball(2.0), OnL1),
    "l2": (zofw.L2Ball(1.5), OnL2),
    "simplex": (zofw.Simplex(), OnSimplex),
    "nuclear": (zofw.NuclearBall(2.0, (3, 4)), OnNuclear),
}


def unit_vectors(law: Any, rng: np.random.Generator, d: int, count: int) -> Vector:
    """Columns of a draw, of length 1."""
    U = law.draw(rng, d, count).columns(0, count)
    return U / np.sqrt((U**2).sum(axis=0))


def logistic() -> Callable[[np.ndarray, int], float]:
    """f_i(x) = log(1 + exp(−y_i⟨a_i, x⟩)) + ‖x − c_i‖²/20."""
    rng = np.random.default_rng(5)
    A, C, y = rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.choice([-1.0, 1.0], N)

    def component(x: np.ndarray, i: int) -> float:
        return float(np.log1p(np.exp(-y[i] * (A[i] @ x))) + 0.05 * ((x - C[i]) ** 2).sum())

    return component


def sigmoids() -> Callable[[np.ndarray, int], float]:
    """f_i(x) = tanh(⟨a_i, x⟩ − y_i) + ‖x − c_i‖²/4: smooth and not convex."""
    rng = np.random.default_rng(6)
    A, C, y = rng.standard_normal((N, D)), rng.standard_normal((N, D)), rng.standard_normal(N)

    def component(x: np.ndarray, i: int) -> float:
        return float(np.tanh(A[i] @ x - y[i]) + 0.25 * ((x - C[i]) ** 2).sum())

    return component


@dataclass(frozen=True)
class Case:
    """Settings, their transcription, the closed formula of queries for iteration t (with the method's own numbers), LMO calls.

    ``lmos`` is None where the transcription counts them; ``sets`` names the sets to compare on.
    """

    method: Any
    box: Callable[[World, np.ndarray], Iterator[np.ndarray]]
    queries: Callable[[int, dict[str, float]], int]
    lmos: int | None = 1
    sets: tuple[str, ...] = tuple(SETS)


def agrees(case: Case, component: Callable[[np.ndarray, int], float], tolerance: float = 1e-9) -> None:
    """Points, queries and LMO calls of the first T iterations are those of the transcription, on every set."""
    assert pickle.loads(pickle.dumps(case.method)) == case.method
    for where in case.sets:
        region, world_type = SETS[where]
        problem = BlackBox(component, dim=D, n=N)
        session = zofw.Session(region, dim=D, n=N, method=case.method, max_iter=T, rng=11, diagnose=0)
        world = world_type(component, N, D, session.run.entropy)
        box = case.box(world, region.initial_point(D))
        seen = {"iterations": 0, "queries": 0, "lmos": 0}

        def compare(
            session: zofw.Session, world=world, box=box, seen=seen, region=region, where=where
        ) -> None:
            spent, calls = session.nfev - seen["queries"], session.nlmo - seen["lmos"]
            before = (world.queries, world.lmos)
            expected, t = next(box), seen["iterations"]
            np.testing.assert_allclose(
                session.x, expected, rtol=tolerance, atol=tolerance, err_msg=f"iteration {t} on {where}"
            )
            assert spent == world.queries - before[0] == case.queries(t, session.info.numbers)
            assert calls == world.lmos - before[1] and case.lmos in (None, calls)
            assert region.contains(session.x)
            seen.update(iterations=t + 1, queries=session.nfev, lmos=session.nlmo)

        session.observers.append(compare)
        while (query := session.ask()) is not None:
            session.tell(query, evaluate(problem, query))
        assert seen["iterations"] == T


def refused(method: Any, words: str) -> None:
    """The settings are refused with a sentence that has these words."""
    with pytest.raises(ValueError, match=words) as refusal:
        as_algorithm(method, Task(zofw.L1Ball(1.0), D, N, 10_000))
    assert str(refusal.value).rstrip().endswith(".")
