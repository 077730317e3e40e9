"""The inexact oracles keep the accuracy they state, cold and warm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zofw.atoms import Dense, RankOne
from zofw.sets import NuclearBall, Spectraplex
from zofw.sets.lanczos import EXACT, start_vector, top_eigenvector

Array = NDArray[np.float64]


def matrices(m: int, k: int) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    block = np.zeros((m, k))
    block[: m // 2, : k // 2] = 0.9 * rng.standard_normal((m // 2, k // 2))
    block[m // 2 :, k // 2 :] = rng.standard_normal((m - m // 2, k - k // 2))
    u, v = rng.standard_normal(m), rng.standard_normal(k)
    q = np.linalg.qr(rng.standard_normal((max(m, k), max(m, k))))[0]
    cluster = (
        q[:m, : min(m, k)] * np.r_[1.0, 1 - 1e-7, 1 - 1e-4, np.linspace(0.9, 0, min(m, k) - 3)]
    ) @ np.eye(min(m, k), k)
    return {
        "gaussian": rng.standard_normal((m, k)),
        "block": block,
        "rank one": np.outer(u, v),
        "noisy": np.outer(u, v) + 0.1 * rng.standard_normal((m, k)),
        "cluster": cluster,
        "huge": 1e200 * rng.standard_normal((m, k)),
        "diagonal": np.eye(m, k) * np.arange(1, k + 1),
        "identity": np.eye(m, k),
        "zero": np.zeros((m, k)),
    }


@pytest.mark.parametrize("shape", [(80, 70), (70, 90), (5, 200)])
@pytest.mark.parametrize("kind", matrices(5, 5))
def test_nuclear_accuracy(kind: str, shape: tuple[int, int]) -> None:
    G = matrices(*shape)[kind]
    sigma = np.linalg.svd(G, compute_uv=False)[0]
    for tol in (1e-3, 1e-8):
        region = NuclearBall(2.0, shape, tol)
        cold = region.atom(G)
        other = RankOne(np.ones(shape[0]), np.ones(shape[1]), 1.0)
        for atom in (cold, region.atom(G, cold), region.atom(G, other)):
            assert -atom.dot(G.ravel()) >= 2 * sigma * (1 - tol) - 1e-300
            assert np.linalg.norm(atom.left) == pytest.approx(1)
            assert region.contains(atom.dense())


@pytest.mark.parametrize("kind", matrices(5, 5))
def test_spectraplex_accuracy(kind: str) -> None:
    n = 75
    G = matrices(n, n)[kind]
    values = np.linalg.eigvalsh((G + G.T) / 2)
    for tol in (1e-3, 1e-8):
        region = Spectraplex(n, 3.0, tol)
        cold = region.atom(G)
        for atom in (cold, region.atom(G, cold)):
            excess = atom.dot(G.ravel()) - 3 * values[0]
            assert excess <= 3 * tol * (values[-1] - values[0]) + 1e-12 * np.abs(values).max()


def test_a_warm_start_in_the_wrong_eigenspace_is_left() -> None:
    """The start is exactly the eigenvector of the second eigenvalue."""
    rng = np.random.default_rng(4)
    n = EXACT + 6
    misses = 0
    for _ in range(150):
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        gap = 10.0 ** -(6 * rng.random())
        A = (Q * np.r_[-gap, 0.0, np.sort(rng.random(n - 2))]) @ Q.T
        atom = Spectraplex(n, tol=1e-6).atom(A, RankOne(Q[:, 1], Q[:, 1], 1.0))
        misses += atom.dot(A.ravel()) + gap > 1e-6 * (1 + gap)
    assert misses <= 1


def test_a_warm_start_saves_work() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 200))
    A = A + A.T
    counts = []

    def count(tol: float, start: Array) -> int:
        counts.clear()

        def matvec(z: Array) -> Any:
            counts.append(1)
            return B @ z

        top_eigenvector(matvec, start, tol)
        return len(counts)

    B = A + 0.01 * rng.standard_normal((200, 200))
    B = (B + B.T) / 2
    warm = np.linalg.eigh(A)[1][:, -1]
    assert count(1e-3, start_vector(200, warm)) < count(1e-3, start_vector(200, None)) <= 200


def test_results_do_not_depend_on_earlier_calls() -> None:
    rng = np.random.default_rng(0)
    G, H = rng.standard_normal((2, 70, 70))
    region = NuclearBall(1.0, (70, 70))
    first = region.atom(G)
    region.atom(H)
    assert region.atom(G) == first
    assert region.atom(G, region.atom(H)) == region.atom(G, region.atom(H))


@pytest.mark.parametrize("region", [NuclearBall(1.0, (3, 2)), Spectraplex(2)])
@pytest.mark.parametrize("warm", [Dense(np.zeros(6)), RankOne(np.ones(5), np.ones(5), 1.0)])
def test_a_strange_warm_start_is_refused(region: Any, warm: Any) -> None:
    with pytest.raises(ValueError, match="a warm start must be a RankOne atom of this set"):
        region.atom(np.ones(region.fixed_dim), warm)


def test_nan_is_no_member() -> None:
    assert not NuclearBall(1.0, (2, 2)).contains(np.full((2, 2), np.nan))
    assert not Spectraplex(2).contains(np.full((2, 2), np.nan))
    assert not Spectraplex(2).contains([[0.5, 0.1], [0.0, 0.5]])
