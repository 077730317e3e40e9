r"""The second-order model of components that are no ridge functions: a gradient and a Hessian each, along their own coordinates.

    g_j  = (f(x + he_j) − f(x − he_j))/2h
    H_jj = (f(x + he_j) − 2f(x) + f(x − he_j))/h²
    H_jk = (f(x + he_j + he_k) − f(x + he_j) − f(x + he_k) + f(x))/h²          1 + 2s + s(s − 1)/2 evaluations for s coordinates

H = Σ_r λ_r v_r v_rᵀ makes s rows of each component, as if it were a sum of s ridge functions at this x: z = v_r, p = v_rᵀg, q = λ_r.

Coordinates have colours such that no component has two of one colour: f_i(x + h Σ_{j of a colour} e_j) is f_i(x + he_j) with the one j
that component i knows, so that one anchor serves all components.

References
----------
A. Curtis, M. Powell, J. Reid, On the estimation of sparse Jacobian matrices, IMA J. Appl. Math. 13, 1974 (colours).
A. Griewank, Ph. Toint, Partitioned variable metric updates for large structured optimization problems, Numer. Math. 39, 1982.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from zofw.algorithms.ridge_newton.solve import Model
from zofw.core import Answer, Array, Batch, Indices, Pattern, Purpose, Query, Stencil, Task
from zofw.differences import known_pairs
from zofw.directions import UnitSteps
from zofw.extras import lazy

sp = lazy("scipy.sparse")


def price(pattern: Pattern) -> int:
    """Evaluations of :func:`measure`."""
    s = pattern.sizes
    return int((1 + 2 * s + s * (s - 1) // 2).sum())


def measure(task: Task, x: Array, h: float) -> Generator[Query, Answer, tuple[Model, Array]]:
    """The model of all components around x, and their values there, (n,): nothing and NaN of those that failed."""
    pattern, n = task.pattern(task.all), task.n
    starts, index, sizes, total = pattern.starts, pattern.index, pattern.sizes, pattern.index.size
    every = np.arange(n, dtype=np.int64)
    owner = np.repeat(every, sizes)
    place = np.arange(total) - starts[owner]  # of a coordinate within its component
    corner = np.concatenate([[0], np.cumsum(sizes**2)])  # where the Hessian of a component begins
    U = UnitSteps(
        task.dim, np.concatenate([index, index, 0 * every]), np.repeat([1.0, -1.0, 0.0], [total, total, n])
    )
    query = Query(
        x, Batch(n, np.concatenate([owner, owner, every])), U, h, Stencil.AHEAD, Purpose.ESTIMATE, paired=True
    )
    ahead, behind, value = np.split(known_pairs((yield query))[0], [total, 2 * total])
    here = value[owner]
    g, H = (ahead - behind) / (2 * h), np.zeros(corner[-1])
    H[corner[owner] + place * (sizes[owner] + 1)] = (ahead - 2 * here + behind) / h**2
    colour = colours(pattern, task.dim)[index]
    for c in range(int(colour.max(initial=0))):
        first = np.full(n, -1, dtype=np.int64)
        first[owner[colour == c]] = np.flatnonzero(colour == c)
        k = np.flatnonzero((first[owner] >= 0) & (colour > c))
        j, own = first[owner[k]], owner[k]
        if not len(k):
            continue
        anchor = x.copy()
        anchor[index[colour == c]] += h
        steps = UnitSteps(task.dim, index[k], np.ones(len(k)))
        query = Query(anchor, Batch(n, own), steps, h, Stencil.AHEAD, Purpose.ESTIMATE, paired=True)
        both = known_pairs((yield query))[0]
        bend = (both - ahead[j] - ahead[k] + value[own]) / h**2
        H[corner[own] + place[j] * sizes[own] + place[k]] = bend
        H[corner[own] + place[k] * sizes[own] + place[j]] = bend
    failed = np.zeros(n, dtype=bool)
    failed[owner[np.isnan(g)]] = True
    squares = np.repeat(every, sizes**2)
    failed[squares[np.isnan(H)]] = True
    g, H = np.where(failed[owner], 0.0, g), np.where(failed[squares], 0.0, H)
    return _rows(task, x, pattern, g, H, corner), np.where(failed, np.nan, value)


def _rows(task: Task, x: Array, pattern: Pattern, g: Array, H: Array, corner: Indices) -> Model:
    """The blocks as rows of ridge functions, components of one size together."""
    p, q, z, columns, lengths = [], [], [], [], []
    for s in np.unique(pattern.sizes[pattern.sizes > 0]):
        which = np.flatnonzero(pattern.sizes == s)
        slopes = g[pattern.starts[which][:, None] + np.arange(s)]  # (m, s)
        bends, V = np.linalg.eigh(H[corner[which][:, None] + np.arange(s * s)].reshape(-1, s, s))
        p.append(np.einsum("mjr,mj->mr", V, slopes).ravel())
        q.append(bends.ravel())
        z.append(V.transpose(0, 2, 1).ravel())
        own = pattern.index[pattern.starts[which][:, None] + np.arange(s)]
        columns.append(np.repeat(own, s, axis=0).ravel())
        lengths.append(np.full(len(which) * s, s))
    ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    shape = (len(ends) - 1, task.dim)
    Z = sp.csr_array((np.concatenate(z), np.concatenate(columns), ends), shape=shape)
    return Model(x, Z, np.concatenate(p), np.concatenate(q), 1 / task.n)


def colours(pattern: Pattern, dim: int) -> Indices:
    """A colour for every coordinate, (d,), such that no component has two of one colour: the first that is free, one by one."""
    owner = np.repeat(np.arange(len(pattern.sizes)), pattern.sizes)
    order = np.argsort(pattern.index, kind="stable")
    ends = np.searchsorted(pattern.index[order], np.arange(dim + 1))
    taken = [0] * len(pattern.sizes)  # bits: the colours of each component
    found = np.zeros(dim, dtype=np.int64)
    for j in np.argsort(-np.diff(ends), kind="stable"):
        mine = owner[order[ends[j] : ends[j + 1]]]
        used = 0
        for i in mine:
            used |= taken[i]
        free = ~used & (used + 1)  # the lowest bit that is not set
        found[j] = free.bit_length() - 1
        for i in mine:
            taken[i] |= free
    return found


__all__ = ["colours", "measure", "price"]
