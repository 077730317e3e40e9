"""One function over a convex set whose least value is known: f(x) = φ(x − x*) + ⟨g, x − x*⟩, −g in the normal cone at x*.

φ has its least value 0 at 0, so f(x*) = 0 is the least value of f over the set, wherever in it x* was put.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

import zofw

SMOOTH = ("quadratic", "ill", "logsumexp", "styblinski", "rosenbrock")
KINKS = ("l1", "max", "piecewise")
POSITIONS = (
    "box interior", "box face", "box vertex", "simplex interior", "simplex face", "simplex vertex", "l1 interior",
    "l1 face", "l1 vertex", "l2 interior", "l2 sphere", "polytope interior", "polytope face", "polytope vertex",
)  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """A planted problem; ``noise`` is the standard deviation of a value as a share of f(x0)."""

    position: str
    function: str
    dim: int
    draw: int
    noise: float = 0.0

    @property
    def key(self) -> str:
        return f"{self.position}-{self.function}-{self.dim}-{self.draw}-{self.noise:g}".replace(" ", "-")

    @property
    def seed(self) -> int:
        return zlib.crc32(self.key.encode())

    def build(self) -> Problem:
        rng = np.random.default_rng(self.seed)
        region, x, g = _place(self.position, self.dim, rng)
        phi = _function(self.function, self.dim, rng, region.diameter(self.dim))
        if self.position.endswith("interior") or not g.any():
            g = np.zeros(self.dim)
        else:  # as steep as φ itself is across the set
            h = 1e-4 * region.diameter(self.dim)
            slopes = [(phi(h * e) - phi(-h * e)) / (2 * h) for e in np.eye(self.dim)]
            far = region.initial_point(self.dim) - x
            size = max(phi(far) / max(np.linalg.norm(far), 1e-12), float(np.linalg.norm(slopes)))
            g = rng.uniform(0.3, 1.5) * size * g / np.linalg.norm(g)
        return Problem(self, region, x, phi, g)


@dataclass
class Problem:
    """The set, the function, its solution, and where everybody starts."""

    instance: Instance
    set: Any
    solution: np.ndarray
    phi: Callable[[np.ndarray], float]
    slope: np.ndarray

    def __post_init__(self) -> None:
        self.x0 = self.set.initial_point(self.instance.dim)
        self.scale = self(self.x0)

    def __call__(self, x: np.ndarray) -> float:
        z = np.asarray(x, dtype=float) - self.solution
        return float(self.phi(z) + self.slope @ z)

    def gap(self, x: np.ndarray) -> float:
        """f(x) − f* as a share of f(x0) − f*."""
        return max(self(x), 0.0) / self.scale


def _place(position: str, d: int, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """The set, a point x* of it, and g with −g in the normal cone there."""
    name, where = position.split()
    g = rng.standard_normal(d)
    if name == "box":
        lower, upper = -rng.uniform(0.5, 2.0, d), rng.uniform(0.5, 2.0, d)
        x = lower + rng.uniform(0.1, 0.9, d) * (upper - lower)
        held = {"interior": 0, "face": max(1, d // 2), "vertex": d}[where]
        at = rng.permutation(d)[:held]
        high = rng.random(held) < 0.5
        x[at] = np.where(high, upper[at], lower[at])
        g = np.zeros(d)
        g[at] = np.where(high, -1.0, 1.0) * rng.uniform(0.2, 1.0, held)
        return zofw.Box(lower, upper), x, g
    if name == "simplex":
        kept = {"interior": d, "face": max(2, d // 3), "vertex": 1}[where]
        on = rng.permutation(d)[:kept]
        x, g = np.zeros(d), rng.uniform(0.2, 1.0, d)
        x[on] = rng.dirichlet(np.full(kept, 3.0))
        g[on] = 0.0
        return zofw.Simplex(), x, g
    if name == "l1":
        kept = {"interior": d, "face": max(2, d // 3), "vertex": 1}[where]
        on = rng.permutation(d)[:kept]
        x, g = np.zeros(d), rng.uniform(-0.8, 0.8, d)
        signs = rng.choice([-1.0, 1.0], kept)
        x[on] = (
            signs
            * rng.dirichlet(np.full(kept, 3.0))
            * (rng.uniform(0.3, 0.8) if where == "interior" else 1.0)
        )
        g[on] = -signs
        return zofw.L1Ball(1.0), x, g
    if name == "l2":
        x = rng.standard_normal(d)
        x *= (1.0 if where == "sphere" else rng.uniform(0.3, 0.8)) / np.linalg.norm(x)
        return zofw.L2Ball(1.0), x, -x
    rows = rng.standard_normal((2 * d, d))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    right = rng.uniform(0.5, 1.0, 2 * d)
    region = zofw.Polytope(rows, right, bounds=[(-1.5, 1.5)] * d)
    A = np.concatenate([rows, np.eye(d), -np.eye(d)])
    b = np.concatenate([right, np.full(2 * d, 1.5)])
    vertices = np.array([region.lmo(rng.standard_normal(d)) for _ in range(3)])
    if where == "vertex":
        x = vertices[0]
    elif where == "face":  # towards the interior, then back along a direction until a few constraints hold
        x = 0.25 * region.initial_point(d)
        active = np.zeros(len(b), dtype=bool)
        for _ in range(max(1, d // 2)):
            normals = A[active]
            v = rng.standard_normal(d)
            if len(normals):
                v -= np.linalg.pinv(normals) @ (normals @ v)
            slack, speed = b - A @ x, A @ v
            steps = np.where(~active & (speed > 1e-9), slack / np.where(speed > 1e-9, speed, 1.0), np.inf)
            x = x + steps.min() * v
            active[steps.argmin()] = True
    else:
        x = 0.5 * region.initial_point(d) + 0.5 * vertices.mean(0)
    active = b - A @ x < 1e-9
    g = -(A[active].T @ rng.uniform(0.2, 1.0, active.sum())) if active.any() else g
    return region, x, g


def _function(name: str, d: int, rng: np.random.Generator, size: float) -> Callable[[np.ndarray], float]:
    """φ with its least value 0 at 0, at the scale of the set."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    if name in ("quadratic", "ill"):
        H = (Q * np.logspace(0, 1 if name == "quadratic" else 4, d)) @ Q.T
        return lambda z: 0.5 * float(z @ H @ z)
    if name == "logsumexp":
        A = rng.standard_normal((3 * d, d)) * (4.0 / size)
        A -= A.mean(0)  # the gradient of logsumexp at 0 is the mean of the rows
        return lambda z: _logsumexp(A @ z) - np.log(3 * d)
    if name == "styblinski":
        least = scipy.optimize.brentq(lambda t: 4 * t**3 - 32 * t + 5, -3.5, -2.5, xtol=1e-15)
        low = least**4 - 16 * least**2 + 5 * least
        stretch = 4.0 / size * np.sqrt(d) / 2

        def phi(z: np.ndarray) -> float:
            t = least + stretch * z
            return float(np.sum(t**4 - 16 * t**2 + 5 * t - low))

        return phi
    if name == "rosenbrock":
        stretch = 2.0 / size * np.sqrt(d)

        def phi(z: np.ndarray) -> float:
            t = 1.0 + stretch * z
            if d == 1:
                return float((t[0] - 1) ** 2)
            return float(np.sum(100 * (t[1:] - t[:-1] ** 2) ** 2 + (1 - t[:-1]) ** 2))

        return phi
    A = rng.standard_normal((2 * d, d))
    if name == "l1":
        return lambda z: float(np.abs(A @ z).sum())
    if name == "max":
        A -= A.mean(0)
        return lambda z: float((A @ z).max() + 0.5 * z @ z)
    B = (Q * np.logspace(0, 1, d)) @ Q.T
    return lambda z: float(np.abs(A[:d] @ z).max() + 0.5 * z @ B @ z)


def _logsumexp(t: np.ndarray) -> float:
    top = t.max()
    return float(top + np.log(np.exp(t - top).sum()))


def instances(draw: int) -> Iterator[Instance]:
    """A draw: every position with every smooth class, a dimension in turn, kinks, larger dimensions, noise."""
    for i, position in enumerate(POSITIONS):
        for j, function in enumerate(SMOOTH):
            yield Instance(position, function, (2, 5, 10)[(i + j + draw) % 3], draw)
        for k in range(2):
            yield Instance(position, KINKS[(i + k + draw) % 3], (2, 5, 10)[(i + 2 * k + draw) % 3], draw)
        yield Instance(position, SMOOTH[(i + draw) % 5], 20, draw)
        yield Instance(position, SMOOTH[(i + 2 + draw) % 5], 50, draw)
        yield Instance(position, SMOOTH[(i + 1 + draw) % 5], (5, 10, 2)[(i + draw) % 3], draw, noise=1e-3)


def large(draw: int, dim: int) -> Iterator[Instance]:
    """Every position but those of polytopes, a smooth class in turn."""
    for i, position in enumerate(POSITIONS[:11]):
        yield Instance(position, SMOOTH[(i + draw) % 5], dim, draw)
