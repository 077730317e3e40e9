"""A point as a mixture of atoms, x = Σ w_j a_j, w ≥ 0, Σ w = 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zofw.atoms import Atom
from zofw.core import Array, Indices

LIGHT = 1e-14  # a weight that is rounding


@dataclass(frozen=True)
class Mixture:
    """Atoms and their weights."""

    atoms: tuple[Atom, ...]
    weights: Array

    def point(self) -> Array:
        """Return x."""
        out = np.zeros(self.atoms[0].dim)
        for atom, weight in zip(self.atoms, self.weights, strict=True):
            atom.add_to(out, float(weight))
        return out

    def toward(self, other: Mixture, share: float) -> Mixture:
        """Return (1 − share) of this and share of the other; an atom of both stands once."""
        atoms, weights = list(self.atoms), [*((1 - share) * self.weights)]
        for atom, weight in zip(other.atoms, share * other.weights, strict=True):
            at = next((k for k, known in enumerate(self.atoms) if known == atom), None)
            if at is None:
                atoms.append(atom)
                weights.append(weight)
            else:
                weights[at] += weight
        return Mixture(tuple(atoms), np.array(weights))


def carrying(weights: Array) -> tuple[Indices, Array]:
    """Return the places of the weights that carry x, and these weights, scaled to a sum of 1."""
    keep = np.flatnonzero(weights > LIGHT)
    return keep, weights[keep] / np.where(weights > LIGHT, weights, 0.0).sum()
