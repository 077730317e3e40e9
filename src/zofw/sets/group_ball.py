"""The group (ℓ1/ℓ2) ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.atoms import Array, Atom, Sparse
from zofw.sets.protocol import Ball, SetFacts, positive, register
from zofw.sets.thresholds import shrink_to_l1


@register("group-ball")
@dataclass(frozen=True)
class GroupBall(Ball):
    r"""The ball :math:`\{x : \sum_{G} \|x_G\|_2 \le r\}` for a partition of the coordinates
    into groups G.

    .. math:: s_G = -r\,g_G/\|g_G\|_2 \text{ on the group with the greatest } \|g_G\|_2, \quad 0 \text{ elsewhere},

    the first such group on ties; for g = 0 the first coordinate of the first group takes −r.

    Parameters
    ----------
    groups
        Disjoint lists of indices that together are 0, …, d − 1.
    radius
        The radius r > 0.

    References
    ----------
    M. Yuan and Y. Lin, Model selection and estimation in regression with grouped variables, J. R. Stat. Soc. B 68, 2006.

    Examples
    --------
    >>> GroupBall([[0, 1], [2]], 5.0).lmo([3.0, 4.0, -4.5])
    array([-3., -4.,  0.])
    """

    groups: Sequence[ArrayLike]
    radius: float = 1.0
    members: tuple[NDArray[np.int64], ...] = field(init=False, repr=False, compare=False)
    labels: NDArray[np.int64] = field(
        init=False, repr=False, compare=False
    )  # (d,): the group of each coordinate

    facts = SetFacts(
        members=r"\sum_G \|x_G\|_2 \le r",
        oracle=r"$-rg_G/\|g_G\|$ on the greatest group",
        cost="O(d)",
        atom="sparse, one group",
        projection="one sort",
        diameter="2*r",
        inball="r/sqrt(m)",
    )

    def __post_init__(self) -> None:
        positive(self, "radius")
        members = tuple(np.sort(np.asarray(group, dtype=np.int64).reshape(-1)) for group in self.groups)
        dim = sum(group.size for group in members)
        everything = np.concatenate([*members, np.zeros(0, dtype=np.int64)])
        if (
            not dim
            or not all(group.size for group in members)
            or (np.sort(everything) != np.arange(dim)).any()
        ):
            raise ValueError(
                f"GroupBall: groups must be non-empty, disjoint and cover 0, …, d − 1; the {len(members)} groups given "
                f"hold {dim} indices, {np.unique(everything).size} of them different."
            )
        labels = np.empty(dim, dtype=np.int64)
        labels[everything] = np.repeat(np.arange(len(members)), [group.size for group in members])
        vars(self).update(
            groups=tuple(tuple(group.tolist()) for group in members), members=members, labels=labels
        )

    @property
    def fixed_dim(self) -> int:
        """Return the number of indices in all groups."""
        return self.labels.size

    def _norms(self, x: Array) -> Array:
        power = int(np.frexp(np.abs(x).max())[1])  # over a power of two: squares neither overflow nor vanish
        squares = np.bincount(self.labels, weights=np.ldexp(x, -power) ** 2, minlength=len(self.members))
        with np.errstate(over="ignore"):
            norms: Array = np.ldexp(np.sqrt(squares), power)
        return norms

    def atom(self, g: ArrayLike, warm: Atom | None = None) -> Sparse:
        """Return the boundary point opposite to g within the group of the greatest norm."""
        g = self._scaled(g)
        places = self.members[int(np.argmax(self._norms(g)))]
        part = g[places]
        if not part.any():
            part[0] = 1.0
        return Sparse(places, part / np.linalg.norm(part) * -self.radius, g.size)

    def norm(self, x: Array) -> float:
        """Return Σ ‖x_G‖₂."""
        return float(self._norms(x).sum())

    def radii(self, dim: int) -> tuple[float, float]:
        """Return 1/√m for m groups, and 1: Σ ‖x_G‖ ≤ √m ‖x‖₂."""
        return float(len(self.members) ** -0.5), 1.0

    def project(self, x: ArrayLike) -> Array:
        """Return the Euclidean projection: soft thresholding of the group norms."""
        x = self._point(x)
        norms = self._norms(x)
        if norms.sum() <= self.radius:
            return x.copy()
        shrunk = shrink_to_l1(norms, self.radius)
        factors: Array = np.divide(shrunk, norms, out=np.zeros_like(norms), where=norms > 0)
        return x * factors[self.labels]
