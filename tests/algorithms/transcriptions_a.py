"""The papers' boxes once more: dense, one direction and one component at a time, sharing no code with the library.

Every transcription is a generator that yields the reported point after each iteration. It takes its random numbers from
the generators the session derives from (seed, t), in the order in which the library draws them; nothing else is shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

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


# ---------------------------------------------------------------------------------------------- ZSFW-DVR, Algorithm 1


def zsfw_dvr(
    w: World, x: Vector, law: Any, S: int, b: int, p: float, gamma: Any, mu: Any, *, start: str, scheme: str
) -> Iterator[Vector]:
    d, everyone = w.d, range(w.n)
    name = type(law).__name__
    step = {"Gaussian": 1 / (d + b + 1), "Rademacher": 1 / (d + b - 1), "Orthogonal": 1.0}[name]
    scale = {"Gaussian": 1 / b, "Rademacher": 1 / b, "Orthogonal": d / b}[name]
    rng = w.rng(0)
    U = law.draw(rng, d, b).columns(0, b)
    if start == "coordinate":
        g = w.along(x, np.eye(d), mu(0), everyone, scheme)
    else:
        dd = w.along(x, U, mu(0), everyone, scheme)
        g = np.zeros(d)
        for j in range(b):
            g = g + (scale if start == "paper" else step) * dd[j] * U[:, j]
    t = 0
    while True:
        s = w.lmo(g)
        old, x = x, x + gamma(t) * (s - x)
        yield x
        t += 1
        rng = w.rng(t)
        U = law.draw(rng, d, b).columns(0, b)
        if rng.random() < p:
            dd = w.along(x, U, mu(t), everyone, scheme)
            before = g.copy()
            for j in range(b):
                g = g + step * (dd[j] - U[:, j] @ before) * U[:, j]
        else:
            batch = rng.integers(w.n, size=S, dtype=np.int64)
            new, was = w.along(x, U, mu(t), batch, scheme), w.along(old, U, mu(t), batch, scheme)
            for j in range(b):
                g = g + scale * (new[j] - was[j]) * U[:, j]


# ---------------------------------------------------------------------------------- Sahu, Zaheer, Kar, Algorithms 1-3


def zo_fw(w: World, x: Vector, L: float) -> Iterator[Vector]:
    t = 0
    while True:
        gamma = 2 / (t + 2)
        c = L * gamma / w.d
        g = w.along(x, np.eye(w.d), c, range(w.n), "forward")
        x = (1 - gamma) * x + gamma * w.lmo(g)
        yield x
        t += 1


def zo_sfw(
    w: World, x: Vector, law: Any, scheme: str, m: int, S: int, T: int | None = None
) -> Iterator[Vector]:
    d, average, t = w.d, np.zeros(w.d), 0
    while True:
        gamma = 2 / (t + 8) if T is None else T ** (-3 / 4)
        if scheme == "kwsa":
            count, rho, c = d, 4 / (t + 8) ** (2 / 3), 2 / (d**0.5 * (t + 8) ** (1 / 3))
        elif scheme == "rdsa":
            count, rho, c = 1, 4 / (d ** (1 / 3) * (t + 8) ** (2 / 3)), 2 / (d**1.5 * (t + 8) ** (1 / 3))
        else:
            rho = 4 / ((1 + d / m) ** (1 / 3) * (t + 8) ** (2 / 3))
            count, c = m, 2 * m**0.5 / (d**1.5 * (t + 8) ** (1 / 3))
        rng = w.rng(t)
        z = law.draw(rng, d, count).columns(0, count)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        slopes = w.along(x, z, c, batch, "forward")
        g = np.zeros(d)
        for i in range(count):
            g = g + slopes[i] * z[:, i] / (1 if scheme == "kwsa" else count)
        average = (1 - rho) * average + rho * g
        x = (1 - gamma) * x + gamma * w.lmo(average)
        yield x
        t += 1


# ------------------------------------------------------------------------------- Huang, Tao, Chen, Algorithms 1 and 2


def cooge(w: World, x: Vector, i: int, mu: float) -> Vector:
    g = np.zeros(w.d)
    for j in range(w.d):
        e = np.zeros(w.d)
        e[j] = 1.0
        g[j] = (w.f(i, x + mu * e) - w.f(i, x - mu * e)) / (2 * mu)
    return g


def unige(w: World, x: Vector, i: int, beta: float, u: Vector) -> Vector:
    return w.d / beta * (w.f(i, x + beta * u) - w.f(i, x)) * u


def unit_vectors(law: Any, rng: np.random.Generator, d: int, count: int) -> Vector:
    U = law.draw(rng, d, count).columns(0, count)
    return U / np.sqrt((U**2).sum(axis=0))


def three_points(w: World, v: Vector, x: Vector, z: Vector, t: int, eta: float) -> tuple[Vector, Vector]:
    vertex = w.lmo(v)
    theta = 1 / ((t + 1) * (t + 2))
    gamma = min(1.0, (1 + theta) * eta)
    x = x + gamma * (vertex - x)
    y = z + eta * (vertex - z)
    alpha = 1 / ((t + 1) + 1)
    return x, (1 - alpha) * y + alpha * x


def acc_szofw(
    w: World, z: Vector, law: Any, kind: str, T: int, q: int, b2: int, b1: int | None
) -> Iterator[Vector]:
    d, x, t = w.d, z, 0
    eta, mu, beta = T**-0.5, d**-0.5 * T**-0.5, d**-1.0 * T**-0.5
    v = was = np.zeros(d)
    while True:
        rng = w.rng(t)
        full = t % q == 0
        if full and b1 is None:
            batch = np.arange(w.n)
        else:
            batch = rng.integers(w.n, size=b1 if full else b2, dtype=np.int64)
        V = unit_vectors(law, rng, d, len(batch)) if kind == "unige" else None
        total = np.zeros(d)
        for k, i in enumerate(batch):
            if V is None:
                total += cooge(w, z, i, mu) - (0.0 if full else cooge(w, was, i, mu))
            else:
                total += unige(w, z, i, beta, V[:, k]) - (0.0 if full else unige(w, was, i, beta, V[:, k]))
        v = total / len(batch) + (0.0 if full else v)
        was = z
        x, z = three_points(w, v, x, z, t, eta)
        yield z
        t += 1


def acc_szofw_star(w: World, z: Vector, law: Any, kind: str, T: int, S: int) -> Iterator[Vector]:
    d, x, t = w.d, z, 0
    eta, mu, beta = T ** (-2 / 3), d**-0.5 * T ** (-2 / 3), d**-1.0 * T ** (-2 / 3)
    v = was = np.zeros(d)
    while True:
        rng = w.rng(t)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        V = unit_vectors(law, rng, d, S) if kind == "unige" else None
        new, old = np.zeros(d), np.zeros(d)
        for k, i in enumerate(batch):
            new += (cooge(w, z, i, mu) if V is None else unige(w, z, i, beta, V[:, k])) / S
            if t > 0:
                old += (cooge(w, was, i, mu) if V is None else unige(w, was, i, beta, V[:, k])) / S
        rho = (t + 1) ** (-2 / 3)
        v = new if t == 0 else new + (1 - rho) * (v - old)
        was = z
        x, z = three_points(w, v, x, z, t, eta)
        yield z
        t += 1


# ------------------------------------------------------------------------- Balasubramanian, Ghadimi, Algorithms 1 to 3


def pairs(w: World, x: Vector, law: Any, m: int, nu: float, rng: np.random.Generator) -> Vector:
    u = law.draw(rng, w.d, m).columns(0, m)
    xi = rng.integers(w.n, size=m, dtype=np.int64)
    G = np.zeros(w.d)
    for j in range(m):
        G = G + (w.f(xi[j], x + nu * u[:, j]) - w.f(xi[j], x)) / nu * u[:, j] / m
    return G


def zscg(w: World, z: Vector, law: Any, N: int, m: int, B: float, convex: bool) -> Iterator[Vector]:
    k = 1
    while True:
        if convex:
            nu, alpha = math.sqrt(2 * B / (N**2 * (w.d + 3) ** 3)), 6 / (k + 5)
        else:
            nu, alpha = math.sqrt(2 * B / (N * (w.d + 3) ** 3)), 1 / math.sqrt(N)
        G = pairs(w, z, law, m, nu, w.rng(k - 1))
        z = (1 - alpha) * z + alpha * w.lmo(G)
        yield z
        k += 1


def zscg_accelerated(
    w: World, z: Vector, law: Any, N: int, m: Callable[[int], int], L: float, D0: float
) -> Iterator[Vector]:
    x, d, k = z, w.d, 1
    nu = (2 * N) ** -0.5 * max(1 / (d + 3), math.sqrt(D0 / (d * (N + 1))))
    while True:
        alpha, gamma, mu = 2 / (k + 1), 4 * L / k, L * D0 / (k * N)
        G = pairs(w, (1 - alpha) * z + alpha * x, law, m(k), nu, w.rng(k - 1))
        y_bar, i = x, 1
        while True:
            slope = G + gamma * (y_bar - x)
            y = w.lmo(slope)
            if slope @ (y - y_bar) >= -mu:
                break
            y_bar = (i - 1) / (i + 1) * y_bar + 2 / (i + 1) * y
            i += 1
        x = y_bar
        z = (1 - alpha) * z + alpha * x
        yield z
        k += 1


# ------------------------------------------------------------------------------------------------ Chen, Zhou, Yi, Gu


def fw_black(
    w: World, x: Vector, law: Any, b: int, beta: float, delta: float, option: str, start: str
) -> Iterator[Vector]:
    d, t, m = w.d, 0, np.zeros(w.d)

    def grad_est(rng: np.random.Generator) -> Vector:
        q = np.zeros(d)
        U = unit_vectors(law, rng, d, b) if option == "I" else law.draw(rng, d, b).columns(0, b)
        for j in range(b):
            u = U[:, j]
            slope = w.central(x, u, delta, range(w.n))
            q = q + (d if option == "I" else 1) / b * slope * u
        return q

    while True:
        rng = w.rng(t)
        if t == 0 and start == "estimate":
            m = grad_est(rng)
        m = beta * m + (1 - beta) * grad_est(rng)
        x = x + 0.8 / math.sqrt(t + 1) * (w.lmo(m) - x)
        yield x
        t += 1
