"""The user's own set, by one method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zofw.atoms import Atom, Sparse
from zofw.sets import Custom, L1Ball, L2Ball, Product, as_set, can_project, check_set

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Disc:
    """A user's set: the unit ball around (3, …, 3)."""

    def lmo(self, g: Array) -> Array:
        e = np.eye(1, g.size)[0]
        return 3.0 - (g / np.linalg.norm(g) if g.any() else e)


class Rich(Disc):
    """The same with everything it could tell."""

    fixed_dim = 2

    def atom(self, g: Array) -> Atom:
        return Sparse(np.arange(g.size), self.lmo(g), g.size)

    def contains(self, x: Any, tol: float = 1e-9) -> bool:
        return bool(np.linalg.norm(np.asarray(x) - 3.0) <= 1 + tol)

    def diameter(self, dim: int) -> float:
        return 2.0

    def initial_point(self, dim: int) -> Array:
        return np.full(dim, 3.0)

    def inball(self, dim: int) -> tuple[Array, float]:
        return np.full(dim, 3.0), 1.0

    def tangent(self, v: Any) -> Array:
        return np.array(v, dtype=float)

    def project(self, x: Any) -> Array:
        return 3.0 + L2Ball().project(np.asarray(x) - 3.0)


def test_one_method_is_enough() -> None:
    disc = as_set(Disc())
    np.testing.assert_allclose(disc.lmo([0.0, 2.0]), [3, 2])
    np.testing.assert_allclose(disc.initial_point(2), [3, 3])
    assert disc.contains([3.5, 3.5])
    assert not disc.contains([3.9, 3.9])
    assert not disc.contains([np.nan, 3.0])
    assert disc.inball(2) is None
    assert disc.fixed_dim is None
    assert not can_project(disc)
    with pytest.raises(AttributeError, match="Disc cannot project"):
        _ = disc.project  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="diameter of Disc is needed but not known"):
        disc.diameter(2)
    assert disc == Custom(Disc())
    report = check_set(Disc(), 3)
    assert report.ok, str(report)
    assert {f.law.split()[0] for f in report.findings if f.ok is None} == {
        "lmo",
        "diameter",
        "project",
        "clip",
        "inball",
        "facets",
    }


def test_what_the_object_knows_is_used() -> None:
    rich = as_set(Rich())
    assert isinstance(rich, Custom)
    assert isinstance(rich.atom([1.0, 0.0]), Sparse)
    assert rich.diameter(2) == 2.0
    assert rich.fixed_dim == 2
    assert rich.contains([3.0, 4.0])
    assert can_project(rich)
    report = check_set(Rich(), 2)
    assert report.ok, str(report)
    assert {f.law.split()[0] for f in report.findings if f.ok is None} == {"lmo", "clip", "facets"}


def test_functions_and_given_facts() -> None:
    ball = as_set(lambda g: -g / np.linalg.norm(g), dim=3, diameter=2.0)
    assert ball.diameter(3) == 2.0
    with pytest.raises(ValueError, match="dimension 3, but dimension 2"):
        ball.lmo([1.0, 1.0])
    assert Product([ball, Rich()]).fixed_dim == 5


def test_the_oracle_cannot_harm_the_caller() -> None:
    def vandal(g: Array) -> Array:
        g /= np.linalg.norm(g)
        return -g

    g = np.array([3.0, 4.0])
    with pytest.raises(ValueError, match="read-only"):
        as_set(vandal).lmo(g)
    assert g.tolist() == [3.0, 4.0]
    assert not np.shares_memory(as_set(lambda g: g).lmo(g), g)


@pytest.mark.parametrize(
    ("oracle", "sentence"),
    [
        (lambda g: g[:1], r"must return an array of shape \(2,\)"),
        (lambda g: g * np.nan, "NaN or infinite"),
    ],
)
def test_wrong_answers_are_told(oracle: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        as_set(oracle).lmo([1.0, 2.0])


def test_what_is_no_set() -> None:
    with pytest.raises(TypeError, match=r"A set is needed, and int is not one.*lmo\(g\)"):
        as_set(3)


def test_a_registered_set_with_facts_is_wrapped() -> None:
    assert as_set(L1Ball(), diameter=5.0).diameter(3) == 5.0
