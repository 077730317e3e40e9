"""Frank-Wolfe steps on a model of f, which cost no query."""

from __future__ import annotations

import numpy as np

from zofw.atoms import Atom, Dense
from zofw.core import Array, Task

MOST = 20  # vertices of one move


class Moves:
    """Steps towards vertices from x: where they lead, and the one point of the set that stands for all of them."""

    def __init__(self, x: Array) -> None:
        self.x, self.path, self.covered = x, np.zeros_like(x), 0.0
        self.visited: dict[bytes, tuple[Atom, float]] = {}  # each vertex with what its steps have gained

    def slide(self, task: Task, m: Array, L: float, calls: float) -> Array:
        """Move to about the minimiser of ⟨m, z⟩ + ½L‖z − x‖² over the set, by Frank-Wolfe steps; returns z − x.

        References
        ----------
        G. Lan, Y. Zhou, Conditional gradient sliding for convex optimization, SIAM Journal on Optimization, 2016.
        """
        x, gained, warm = self.x, 0.0, None
        for _ in range(int(min(max(calls, 1), MOST))):
            g = m + L * (self.x - x)
            warm = atom = task.lmo(g, warm)
            step = atom.dense() - self.x
            slope, bend = -float(g @ step), L * float(step @ step)
            if slope <= 0.05 * gained or bend <= 0:
                break
            gamma = min(1.0, slope / bend)
            gain = gamma * slope - 0.5 * gamma**2 * bend
            gained += gain
            self.path = (1 - gamma) * self.path + gamma * atom.dense()
            self.x, self.covered = self.x + gamma * step, self.covered + gamma * (1 - self.covered)
            self.visited[atom.key()] = (atom, self.visited.get(atom.key(), (atom, 0.0))[1] + gain)
        return self.x - x

    def target(self) -> Atom:
        """v with x = (1 − c)x₀ + cv, c the share covered."""
        only = next(iter(self.visited.values()))[0]
        return only if len(self.visited) == 1 else Dense(self.path / self.covered)
