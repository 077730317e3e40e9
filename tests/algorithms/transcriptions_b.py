"""More of the papers' boxes: dense, one direction and one component at a time; see ``transcriptions_a``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from transcriptions_a import OnL1, OnL2, OnNuclear, Vector, World

# -------------------------------------------------------------------------------------- projections, by plain bisection


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


# ----------------------------------------------------------------------------------------------- Gao and Huang: FZFW, FZCGS


def cooge(w: World, x: Vector, mu: float, batch: Any) -> Vector:
    g = np.zeros(w.d)
    for j in range(w.d):
        e = np.zeros(w.d)
        e[j] = 1.0
        g[j] = w.central(x, e, mu, batch)
    return g


def spider(w: World, t: int, x: Vector, old: Vector, v: Vector, q: int, S2: int, mu: float) -> Vector:
    if t % q == 0:
        return cooge(w, x, mu, range(w.n))
    batch = w.rng(t).integers(w.n, size=S2, dtype=np.int64)
    return v + cooge(w, x, mu, batch) - cooge(w, old, mu, batch)


def fzfw(w: World, x: Vector, diameter: float, K: int) -> Iterator[Vector]:
    q = S2 = math.ceil(math.sqrt(w.n))
    gamma, mu = min(1.0, 1 / (diameter * math.sqrt(K))), 1 / math.sqrt(w.d * K)
    old, v = x, np.zeros(w.d)
    for t in range(K):
        v = spider(w, t, x, old, v, q, S2, mu)
        u = w.lmo(v)
        old, x = x, x + gamma * (u - x)
        yield x


def condg(w: World, g: Vector, u: Vector, gamma: float, eta: float) -> Vector:
    ut = u
    while True:
        v = w.lmo(g + (ut - u) / gamma)
        if (g + (ut - u) / gamma) @ (ut - v) <= eta:
            return ut
        alpha = min(1.0, ((u - ut) / gamma - g) @ (v - ut) / (np.linalg.norm(v - ut) ** 2 / gamma))
        ut = (1 - alpha) * ut + alpha * v


def fzcgs(w: World, x: Vector, L: float, K: int) -> Iterator[Vector]:
    q = S2 = math.ceil(math.sqrt(w.n))
    mu = 1 / math.sqrt(w.d * K)
    old, v = x, np.zeros(w.d)
    for t in range(K):
        v = spider(w, t, x, old, v, q, S2, mu)
        old, x = x, condg(w, v, x, 1 / (3 * L), 1 / K)
        yield x


# -------------------------------------------------------------------------------------------------------------- JAGUAR


def coordinates(law: Any, rng: np.random.Generator, d: int, b: int) -> list[int]:
    U = law.draw(rng, d, b).columns(0, b)
    return [int(np.flatnonzero(U[:, j])[0]) for j in range(b)]


def jaguar(w: World, x: Vector, law: Any, tau: float) -> Iterator[Vector]:
    d = w.d
    h = cooge(w, x, tau, range(w.n))
    k = 0
    while True:
        if k > 0:  # at k = 0 the box replaces an entry of h by itself
            (i,) = coordinates(law, w.rng(k), d, 1)
            e = np.eye(d)[i]
            h = h - (h @ e) * e + w.central(x, e, tau, range(w.n)) * e
        x = x + 4 / (k + 8 * d) * (w.lmo(h) - x)
        yield x
        k += 1


def jaguar_stochastic(
    w: World, x: Vector, law: Any, S: int, b: int, tau: float, gamma: Any, eta: Any, start: str
) -> Iterator[Vector]:
    d = w.d
    h = g = np.zeros(d)
    k = 0
    while True:
        rng = w.rng(k)
        if k == 0 and start == "coordinate":
            h = g = cooge(w, x, tau, rng.integers(w.n, size=S, dtype=np.int64))
        chosen = coordinates(law, rng, d, b)
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        rho, new = h.copy(), h.copy()
        for i in chosen:
            e = np.eye(d)[i]
            delta = w.central(x, e, tau, batch)
            rho = rho - d / b * (h @ e) * e + d / b * delta * e
            new = new - (h @ e) * e + delta * e
        h, g = new, (1 - eta(k)) * g + eta(k) * rho
        x = x + gamma(k) * (w.lmo(g) - x)
        yield x
        k += 1


# -------------------------------------------------------------------------------------------------------- Sahu and Kar


def sahu_kar(
    w: World, x: Vector, law: Any, q: int, S2: int, eta: float, gamma: Callable[[int], float]
) -> Iterator[Vector]:
    d, t, old, g = w.d, 0, x, np.zeros(w.d)
    while True:
        if t % q == 0:
            g = w.along(x, np.eye(d), eta, range(w.n), "forward")
        else:
            rng = w.rng(t)
            Z = law.draw(rng, d, S2).columns(0, S2)
            batch = rng.integers(w.n, size=S2, dtype=np.int64)
            total = np.zeros(d)
            for j, i in enumerate(batch):
                z = Z[:, j]
                here = (w.f(i, x + eta * z) - w.f(i, x)) / eta
                there = (w.f(i, old + eta * z) - w.f(i, old)) / eta
                total = total + (here - there) * z
            g = g + total / S2
        old, x = x, x + gamma(t) * (w.lmo(g) - x)
        yield x
        t += 1


# ------------------------------------------------------------------------------------------------- projection methods


def sphere_estimate(w: World, x: Vector, V: Vector, mu: float, batch: Any) -> Vector:
    """d/(μb) Σ_j [f_S(x + μv_j) − f_S(x)] v_j, v_j of length 1."""
    slopes = w.along(x, V, mu, batch, "forward")
    g = np.zeros(w.d)
    for j in range(V.shape[1]):
        g = g + w.d / V.shape[1] * slopes[j] * V[:, j]
    return g


def unit(U: Vector) -> Vector:
    return U / np.linalg.norm(U, axis=0)


def zo_psgd(w: World, x: Vector, law: Any, S: int, b: int, lr: float, mu: float) -> Iterator[Vector]:
    t = 0
    while True:
        rng = w.rng(t)
        V = unit(law.draw(rng, w.d, b).columns(0, b))
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        x = project(w, x - lr / math.sqrt(t + 1) * sphere_estimate(w, x, V, mu, batch))
        yield x
        t += 1


def zo_svrg(w: World, x: Vector, law: Any, S: int, b: int, m: int, eta: float, mu: float) -> Iterator[Vector]:
    s = 0
    while True:
        start = x
        for k in range(m):
            rng = w.rng(s * m + k)
            V = unit(law.draw(rng, w.d, b).columns(0, b))
            if k == 0:  # the difference of the box vanishes
                full = v = sphere_estimate(w, start, V, mu, range(w.n))
            else:
                batch = rng.integers(w.n, size=S, dtype=np.int64)
                v = sphere_estimate(w, x, V, mu, batch) - sphere_estimate(w, start, V, mu, batch) + full
            x = project(w, x - eta * v)
            yield x
        s += 1


def zo_svrg_coordinate(
    w: World, x: Vector, S: int, m: int, eta: float, mu: float, law: Any
) -> Iterator[Vector]:
    t = 0
    while True:
        rng = w.rng(t)
        law.draw(rng, w.d, w.d)
        if t % m == 0:
            start, full = x, cooge(w, x, mu, range(w.n))
            v = full
        else:
            batch = rng.integers(w.n, size=S, dtype=np.int64)
            v = cooge(w, x, mu, batch) - cooge(w, start, mu, batch) + full
        x = project(w, x - eta * v)
        yield x
        t += 1


def zpdvr(w: World, x: Vector, law: Any, S: int, b: int, p: float, eta: float, mu: float) -> Iterator[Vector]:
    d, everyone = w.d, range(w.n)
    snapshot, h, t = x, np.zeros(w.d), 0
    while True:
        rng = w.rng(t)
        U, U_w, U_x = (law.draw(rng, d, b).columns(0, b) for _ in range(3))
        coin = t > 0 and rng.random() < p
        if coin:
            snapshot = x
            dd = w.along(snapshot, U, mu, everyone, "forward")
            old = h.copy()
            for j in range(b):
                h = h + (dd[j] - U[:, j] @ old) * U[:, j] / (d + b + 1)
        if coin or t == 0:
            dd = w.along(snapshot, U_w, mu, everyone, "forward")
            g_w = h.copy()
            for j in range(b):
                g_w = g_w + (dd[j] - U_w[:, j] @ h) * U_w[:, j] / b
            g = g_w
        else:
            batch = rng.integers(w.n, size=S, dtype=np.int64)
            new = w.along(x, U_x, mu, batch, "forward")
            was = w.along(snapshot, U_x, mu, batch, "forward")
            g = g_w.copy()
            for j in range(b):
                g = g + (new[j] - was[j]) * U_x[:, j] / b
        x = project(w, x - eta * g)
        yield x
        t += 1


def spsa(w: World, x: Vector, law: Any, S: int, a: float, c: float, T: int) -> Iterator[Vector]:
    for k in range(T):
        rng = w.rng(k)
        delta = law.draw(rng, w.d, 1).columns(0, 1)[:, 0]
        batch = rng.integers(w.n, size=S, dtype=np.int64)
        a_k, c_k = a / (0.1 * T + k + 1) ** 0.602, c / (k + 1) ** 0.101
        plus = sum(w.f(i, x + c_k * delta) for i in batch) / S
        minus = sum(w.f(i, x - c_k * delta) for i in batch) / S
        x = project(w, x - a_k * np.array([(plus - minus) / (2 * c_k * delta[i]) for i in range(w.d)]))
        yield x


# ------------------------------------------------------------------------------------- Frank-Wolfe on ½⟨x, Hx⟩ − ⟨y, x⟩


def frank_wolfe(
    w: World, x: Vector, H: Vector, y: Vector, variant: str, rule: str, L: float = 0.0
) -> Iterator[tuple[Vector, float]]:
    """Points and gaps; the exact line search of a quadratic is −⟨g, d⟩/⟨d, Hd⟩."""
    atoms, weights, t = [x], [1.0], 0
    while True:
        g = H @ x - y
        s = w.lmo(g)
        gap = g @ (x - s)
        i = int(np.argmax([a @ g for a in atoms]))
        kind, d, most = "forward", s - x, 1.0
        if variant == "pairwise":
            kind, d, most = "pairwise", s - atoms[i], weights[i]
        elif variant == "away" and len(atoms) > 1 and g @ (atoms[i] - x) > gap:
            kind, d, most = "away", x - atoms[i], weights[i] / (1 - weights[i])
        wanted = {"open": 2 / (t + 2), "short": -(g @ d) / (L * (d @ d)) if L else 0.0, "exact": 0.0}[rule]
        gamma = min(most, -(g @ d) / (d @ H @ d) if rule == "exact" else wanted)
        x = x + gamma * d
        yield x, gap
        t += 1
        if kind == "forward":
            weights = [(1 - gamma) * one for one in weights]
        if kind == "away":
            weights = [(1 + gamma) * one for one in weights]
        if kind != "forward":
            weights[i] = 0.0 if gamma == most else weights[i] - gamma
        if kind != "away":
            same = [j for j, a in enumerate(atoms) if np.allclose(a, s, rtol=0, atol=1e-12)]
            if same:
                weights[same[0]] += gamma
            else:
                atoms, weights = [*atoms, s], [*weights, gamma]
        kept = [j for j, one in enumerate(weights) if one > 0]
        atoms, weights = [atoms[j] for j in kept], [weights[j] for j in kept]
