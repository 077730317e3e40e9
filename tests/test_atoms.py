"""Laws of atoms, against their dense form."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from zofw import atoms as module
from zofw.atoms import Atom, Blocks, Dense, RankOne, Sparse, as_atom, digest

finite = st.floats(-1e3, 1e3)
vectors = st.integers(1, 6).flatmap(lambda n: arrays(float, n, elements=finite))


@st.composite
def sparse(draw: st.DrawFn) -> Sparse:
    dim = draw(st.integers(1, 8))
    index = sorted(draw(st.sets(st.integers(0, dim - 1))))
    return Sparse(np.array(index, dtype=int), np.array([draw(finite) for _ in index]), dim)


simple = st.one_of(vectors.map(Dense), sparse(), st.builds(RankOne, vectors, vectors, finite))
some = st.one_of(simple, st.lists(simple, min_size=1, max_size=3).map(lambda parts: Blocks(tuple(parts))))


def dense_by_hand(atom: Any) -> Any:
    if isinstance(atom, Dense):
        return atom.vector
    if isinstance(atom, Sparse):
        return np.array([sum(atom.value[atom.index == i]) for i in range(atom.dim)], dtype=float)
    if isinstance(atom, RankOne):
        return np.array([atom.scale * a * b for a in atom.left for b in atom.right])
    return np.concatenate([dense_by_hand(part) for part in atom.parts])


@given(atom=some, gamma=st.floats(0, 1), seed=st.integers(0, 99))
def test_laws(atom: Any, gamma: float, seed: int) -> None:
    s = atom.dense()
    assert isinstance(atom, Atom)
    assert s.shape == (atom.dim,)
    np.testing.assert_allclose(s, dense_by_hand(atom), rtol=1e-12)
    s[:] = 7.0
    s = atom.dense()
    np.testing.assert_allclose(s, dense_by_hand(atom), rtol=1e-12)
    x, g = np.random.default_rng(seed).standard_normal((2, atom.dim))
    before = x.copy()
    y = atom.move(x, gamma)
    size = max(1.0, np.abs(s).max())
    np.testing.assert_allclose(y, x + gamma * (s - x), atol=1e-12 * size)
    assert not np.shares_memory(x, y)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(atom.move(x, 1.0), s)
    np.testing.assert_array_equal(atom.move(x, 0.0), x)
    assert atom.dot(g) == pytest.approx(s @ g, abs=1e-10 * size * atom.dim)
    copy = pickle.loads(pickle.dumps(atom))
    assert copy == atom
    assert copy.key() == atom.key()
    assert hash(copy) == hash(atom)
    assert as_atom(atom) is atom


def test_equality_is_by_value_within_a_form() -> None:
    a, b = Dense(np.array([0.0, 1.0])), Dense(np.array([-0.0, 1.0]))
    assert a == b
    assert a.key() == b.key()
    assert a != Dense(np.array([0.0, 2.0]))
    assert a != Sparse(np.array([1]), np.array([1.0]), 2)
    assert Blocks((a,)) == Blocks((b,)) != Blocks((a, b))
    assert Blocks((a, b)) != Dense(np.array([0.0, 1.0, 0.0, 1.0]))
    assert RankOne([1.0], [2.0], 1.0) != RankOne([2.0], [1.0], 1.0)
    assert a != 3
    assert len({a, b}) == 1


def test_digest_tells_types_and_shapes_apart() -> None:
    values = [1, 1.0, "1", None, (1,), ((1,),), (), np.ones(4), np.ones((2, 2)), np.ones(4, dtype=int)]
    assert len({digest(value) for value in values}) == len(values)


def test_an_array_becomes_dense() -> None:
    given = np.arange(6.0).reshape(2, 3)
    atom = as_atom(given)
    given[0, 0] = 9.0
    assert isinstance(atom, Dense)
    assert atom.dense().tolist() == [0, 1, 2, 3, 4, 5]
    assert as_atom([1, 2]).dense().dtype == np.float64


def test_rank_one_moves_in_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    atom = RankOne(rng.standard_normal(7), rng.standard_normal(5), -2.0)
    x = rng.standard_normal(35)
    whole = atom.move(x, 0.3)
    monkeypatch.setattr(module, "CHUNK", 12)
    np.testing.assert_array_equal(atom.move(x, 0.3), whole)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Dense(np.zeros((2, 2))), "vector must be one-dimensional"),
        (lambda: Dense(np.array([np.nan])), "NaN or infinite"),
        (lambda: Sparse(np.array([0, 1]), np.array([1.0]), 3), "index has shape"),
        (lambda: Sparse(np.array([1, 0]), np.ones(2), 3), "strictly increasing"),
        (lambda: Sparse(np.array([1, 1]), np.ones(2), 3), "strictly increasing"),
        (lambda: Sparse(np.array([3]), np.ones(1), 3), r"within \[0, 3\)"),
        (lambda: Sparse(np.array([-1]), np.ones(1), 3), r"within \[0, 3\)"),
        (lambda: RankOne([1.0], [1.0], np.inf), "scale must be finite"),
        (lambda: Blocks(()), "one or more atoms"),
        (lambda: Blocks((np.zeros(2),)), "found .'ndarray'"),
        (lambda: Dense(np.zeros(2)).move(np.zeros((2, 1)), 0.5), "cannot move a point of shape"),
    ],
)
def test_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


def test_an_atom_cannot_be_changed() -> None:
    atom = Dense(np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        atom.vector[0] = 1.0
