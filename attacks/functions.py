"""Components with known means, minima and Frank-Wolfe gaps, which write down every call, and fail where they are asked to."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import zofw
from zofw.sets import as_set

SMOOTH = ("quadratic", "narrow", "far", "logistic", "linear", "huge", "tiny")
KINDS = (*SMOOTH, "absolute", "steps", "constant", "waves", "rough")


@dataclass(frozen=True)
class Own:
    """A set of the user's own, which has its oracle only."""

    hull: zofw.ConvexHull

    def lmo(self, g: np.ndarray) -> np.ndarray:
        return self.hull.lmo(g)


class Bad(Exception):
    """A failure that a component raises."""


class Function:
    """n components of one kind around points of the set, and the calls they had.

    ``failing`` is what a share of the points brings: an exception, NaN, infinity, or an exception at one call only.
    """

    def __init__(
        self,
        kind: str,
        n: int,
        members: np.ndarray,
        rng: np.random.Generator,
        failing: str = "",
        share: float = 0.0,
        start: np.ndarray | None = None,
    ) -> None:
        self.kind, self.n, self.dim, self.failing, self.share = kind, n, members.shape[1], failing, share
        self.size = float(np.ptp(members, axis=0).max()) or 1.0  # of the set
        centre = members[0] if kind != "far" else members[0] + 3 * self.size * rng.standard_normal(self.dim)
        spread = 0.1 * self.size * rng.standard_normal((n, self.dim))
        self.centres = centre + spread - spread.mean(axis=0)
        self.scales = 10.0 ** rng.uniform(-2, 2, self.dim) if kind == "narrow" else np.ones(self.dim)
        self.factor = {"huge": 1e12, "tiny": 1e-12}.get(kind, 1.0) / self.size**2
        self.rows = rng.standard_normal((n, self.dim)) / self.size
        self.wall = rng.standard_normal(self.dim)
        if start is not None and self.wall @ (start - members.mean(axis=0)) > 0:
            self.wall = -self.wall  # the start has a value
        self.limit = float(np.quantile(members @ self.wall, 1 - share)) if share else np.inf
        self.once = int(rng.integers(1, 60))
        self.calls, self.points, self.order = 0, list[np.ndarray](), list[int]()
        self.parts: dict[bytes, dict[int, float]] = defaultdict(dict)
        self.failed: Counter[tuple[bytes, int]] = Counter()
        self.at: dict[int, Callable[[], Any]] = {}
        self.lock = threading.RLock()

    def component(self, x: np.ndarray, i: int) -> float:
        """f_i(x), without a trace."""
        y = x - self.centres[i]
        match self.kind:
            case "logistic":
                return float(np.logaddexp(0.0, -self.rows[i] @ x))
            case "linear":
                return float(self.rows[i] @ x)
            case "absolute":
                return float(np.abs(x - self.centres.mean(axis=0)).sum() * (1 + i % 3) / self.size)
            case "constant":
                return 0.25
        value = 0.5 * self.factor * float(self.scales @ y**2)
        match self.kind:
            case "steps":
                return float(np.floor(20 * value) / 20)
            case "waves":
                return value + 0.1 * float(np.cos(9 * y / self.size).sum())
            case "rough":  # noise that is a function of the point, so that runs can be compared
                return value + 1e-3 * float(np.sin(1e9 * (self.wall @ y) / self.size))
        return value

    def __call__(self, x: np.ndarray, i: int = 0) -> float:
        key = np.array(x, dtype=float)
        with self.lock:
            self.calls += 1
            self.points.append(key)
            self.order.append(int(i))
            if act := self.at.get(self.calls):
                act()
            if self.fails(key):
                self.failed[key.tobytes(), i] += 1
                if self.failing in ("raises", "once"):
                    raise Bad("no value here")
                return {"nan": np.nan, "inf": np.inf}[self.failing]
            value = self.component(key, int(i))
            self.parts[key.tobytes()][int(i)] = value
        return value

    def fails(self, x: np.ndarray) -> bool:
        if self.failing == "once":
            return self.calls == self.once
        return bool(self.failing) and bool(self.wall @ x > self.limit)

    def problem(self, vectorized: bool) -> zofw.problems.BlackBox:
        """The components as the library takes them; the vectorised form returns one buffer again and again."""
        if not vectorized:
            fun = self if self.n > 1 else lambda x: self(x)
            return zofw.problems.BlackBox(fun, dim=self.dim, n=self.n)
        buffers: dict[tuple[int, ...], np.ndarray] = {}

        def values(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
            with self.lock:
                out = buffers.setdefault((len(X), len(batch)), np.empty((len(X), len(batch))))
                out[:] = [[self(x, i) for i in batch] for x in X]
                return out if threading.current_thread() is threading.main_thread() else out.copy()

        return zofw.problems.BlackBox(values, dim=self.dim, n=self.n, vectorized=True)

    @property
    def whole(self) -> dict[bytes, float]:
        """The mean at every point of which all components were paid for."""
        return {x: float(np.mean(list(v.values()))) for x, v in self.parts.items() if len(v) == self.n}

    @property
    def together(self) -> dict[bytes, float]:
        """The same at points whose components were asked one after the other, at least three of them, or the one that there is."""
        if self.n == 2:  # two samples of one component may follow each other
            return {}
        ends = [k for k in range(self.n - 1, len(self.points)) if self.order[k] == self.n - 1]
        asked = [
            self.points[k].tobytes()
            for k in ends
            if self.order[k - self.n + 1 : k + 1] == list(range(self.n))
            and all(np.array_equal(self.points[j], self.points[k]) for j in range(k - self.n + 1, k))
        ]
        whole = self.whole
        return {x: whole[x] for x in asked if x in whole}

    def mean(self, x: np.ndarray) -> float:
        return float(np.mean([self.component(np.asarray(x, dtype=float), i) for i in range(self.n)]))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        if self.kind == "linear":
            return np.asarray(self.rows.mean(axis=0))
        if self.kind == "logistic":
            return np.asarray(-(self.rows.T @ (1 / (1 + np.exp(self.rows @ x)))) / self.n)
        return np.asarray(self.factor * self.scales * (x - self.centres.mean(axis=0)))

    def gap(self, region: Any, x: np.ndarray) -> float | None:
        """The Frank-Wolfe gap at x; f(x) − f* where there are kinks; None where f is not convex."""
        if self.kind == "absolute":
            return self.mean(x)
        if self.kind == "constant":
            return 0.0
        if self.kind not in SMOOTH:
            return None
        g = self.gradient(x)
        return float(g @ (x - as_set(region).lmo(g)))
