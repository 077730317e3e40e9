"""The papers' algorithm boxes in plain NumPy and SciPy, as a researcher would write them: the other side of each ratio.

Directions are drawn and stored densely, samples are a SciPy CSR matrix, losses are whole-array expressions. Nothing is
slowed down on purpose: perturbed margins come from one product Z_S U instead of b perturbed points.
"""

from __future__ import annotations

import numpy as np


def logistic(t):
    """log(1 + e^{−t})."""
    return np.logaddexp(0.0, -t)


def correntropy(sigma=10.0):
    """(σ²/2)(1 − e^{−t²/σ²})."""
    return lambda t: 0.5 * sigma**2 * (1.0 - np.exp(-((t / sigma) ** 2)))


def central(loss, margins, along, mu):
    """Central differences of the mean loss along every direction, (b,)."""
    ahead = loss(margins[:, None] + mu * along).mean(axis=0)
    behind = loss(margins[:, None] - mu * along).mean(axis=0)
    return (ahead - behind) / (2 * mu)


def l1_vertex(g, radius):
    """argmin ⟨s, g⟩ over the ℓ₁ ball."""
    j = np.argmax(np.abs(g))
    s = np.zeros_like(g)
    s[j] = -radius * np.sign(g[j])
    return s


class ZSFWDVR:
    """Zeroth-order stochastic Frank-Wolfe with double variance reduction, central differences, Gaussian directions."""

    def __init__(self, A, loss, *, batch_size, directions, mu, radius, seed=0):
        self.A, self.loss, self.S, self.b, self.mu, self.radius = A, loss, batch_size, directions, mu, radius
        self.n, self.d = A.shape
        self.rng = np.random.default_rng(seed)
        self.x = self.before = np.zeros(self.d)
        self.g = np.zeros(self.d)
        self.t = 0

    def difference(self):
        """g ← g + (1/b) U(Δf_S(x_t) − Δf_S(x_{t−1}))."""
        U = self.rng.standard_normal((self.d, self.b))
        A = self.A[self.rng.integers(self.n, size=self.S)]
        along = A @ U
        new = central(self.loss, A @ self.x, along, self.mu)
        old = central(self.loss, A @ self.before, along, self.mu)
        self.g = self.g + U @ (new - old) / self.b

    def refresh(self):
        """g ← g + U(Δf(x_t) − Uᵀg)/(d + b + 1)."""
        U = self.rng.standard_normal((self.d, self.b))
        new = central(self.loss, self.A @ self.x, self.A @ U, self.mu)
        self.g = self.g + U @ (new - U.T @ self.g) / (self.d + self.b + 1)

    def step(self, refresh=False):
        """One iteration."""
        self.refresh() if refresh else self.difference()
        gamma = 2.0 / (self.t + 200.0)
        self.before = self.x
        self.x = self.x + gamma * (l1_vertex(self.g, self.radius) - self.x)
        self.t += 1


class ZOFW:
    """Deterministic zeroth-order Frank-Wolfe: forward differences along every coordinate, all components."""

    def __init__(self, A, loss, *, mu, radius):
        self.A, self.loss, self.mu, self.radius = A.tocsc(), loss, mu, radius
        self.x = np.zeros(A.shape[1])
        self.t = 0

    def step(self):
        """g_j = [f(x + μe_j) − f(x)]/μ from the changed margins of all n components."""
        d = self.A.shape[1]
        margins = self.A @ self.x
        base = self.loss(margins).mean()
        g = np.empty(d)
        for j in range(d):
            moved = margins + self.mu * self.A[:, [j]].toarray()[:, 0]
            g[j] = (self.loss(moved).mean() - base) / self.mu
        gamma = 2.0 / (self.t + 2.0)
        self.x = self.x + gamma * (l1_vertex(g, self.radius) - self.x)
        self.t += 1


class AccSZOFW:
    """Accelerated SPIDER Frank-Wolfe with coordinate differences: a full estimate every q iterations."""

    def __init__(self, A, loss, *, epoch, mu, eta, radius, seed=0):
        self.A, self.loss, self.q, self.mu, self.eta, self.radius = A, loss, epoch, mu, eta, radius
        self.n, self.d = A.shape
        self.rng = np.random.default_rng(seed)
        self.x = self.z = self.before = np.zeros(self.d)
        self.t = 0

    def step(self):
        """One iteration; a coordinate moves a margin by μ times an entry of the matrix."""
        if self.t % self.q == 0:
            self.v = np.empty(self.d)
            margins = self.A @ self.z
            for j in range(self.d):
                self.v[j] = central(self.loss, margins, self.A[:, [j]].toarray(), self.mu)[0]
        else:
            A = self.A[self.rng.integers(self.n, size=self.q)]
            along = A.toarray()
            new = central(self.loss, A @ self.z, along, self.mu)
            self.v = self.v + new - central(self.loss, A @ self.before, along, self.mu)
        w, t = l1_vertex(self.v, self.radius), self.t
        self.before = self.z
        self.x = self.x + min(1.0, (1 + 1 / ((t + 1) * (t + 2))) * self.eta) * (w - self.x)
        y = self.z + self.eta * (w - self.z)
        self.z = (1 - 1 / (t + 2)) * y + self.x / (t + 2)
        self.t += 1
