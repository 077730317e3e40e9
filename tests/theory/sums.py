"""Finite sums whose constants are known, with exact gradients for measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import zofw
from zofw.core import Task
from zofw.problems import BlackBox, evaluate


@dataclass(frozen=True, eq=False)
class Known:
    """A sum with its smoothness constants: L of f, L_hat of every f_i, and a lower bound of its minimum on a set."""

    problem: BlackBox
    L: float
    L_hat: float
    gradients: Any  # x -> (n, d)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.gradients(x).mean(axis=0))

    def value(self, x: np.ndarray) -> float:
        return zofw.problems.mean_value(self.problem, x)


def example(d: int, a: float) -> Known:
    """f_i = ½‖x‖² + (n/2) a x_i², n = d: f = ½(1 + a)‖x‖², L = 1 + a and L̂ = 1 + na."""

    def values(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return 0.5 * (X**2).sum(axis=1)[:, None] + 0.5 * d * a * X[:, batch] ** 2

    def gradients(x: np.ndarray) -> np.ndarray:
        return np.tile(x, (d, 1)) + np.diag(d * a * x)

    return Known(BlackBox(values, dim=d, n=d, vectorized=True), 1.0 + a, 1.0 + d * a, gradients)


def robust(n: int, d: int, seed: int = 0) -> Known:
    """f_i = φ(⟨a_i, x⟩ − y_i), φ(r) = ½(1 − exp(−r²)): non-convex, |φ''| = |(1 − 2r²) exp(−r²)| ≤ 1."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) / np.sqrt(d)
    y = A @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)

    def values(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return 0.5 * (1.0 - np.exp(-((X @ A[batch].T - y[batch]) ** 2)))

    def gradients(x: np.ndarray) -> np.ndarray:
        r = A @ x - y
        return (r * np.exp(-(r**2)))[:, None] * A

    L = float(np.linalg.eigvalsh(A.T @ A / n)[-1])
    return Known(BlackBox(values, dim=d, n=n, vectorized=True), L, float((A**2).sum(axis=1).max()), gradients)


def one_step(method: Any, known: Known, task: Task, state: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """One iteration of a method from a given state, answered at once."""
    step = method.step(task, state, rng)
    try:
        query = next(step)
        while True:
            query = step.send(evaluate(known.problem, query))
    except StopIteration as end:
        return end.value


def run(method: Any, known: Known, region: Any, x0: np.ndarray, iterations: int, seed: int) -> list[Any]:
    """The states before iterations 0, 1, …, ``iterations``."""
    states: list[Any] = []
    session = zofw.Session(
        region,
        dim=known.problem.dim,
        n=known.problem.n,
        method=method,
        max_iter=iterations,
        x0=x0,
        rng=seed,
        diagnose=0,
        observers=[lambda session: states.append(session.state)],
    )
    states.append(session.state)
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(known.problem, query))
    return states


def slope(steps: list[int], errors: list[float]) -> float:
    """Least-squares slope of log error against log T."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
