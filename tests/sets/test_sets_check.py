"""The conformance kit catches each mistake under the law that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zofw.atoms import Atom, Dense
from zofw.sets import Box, L1Ball, L2Ball, Simplex, check_set

Array = NDArray[np.float64]


def tied_sum(g: Array) -> Array:
    """The mistake of a published library: every tied coordinate gets the full radius."""
    return np.where(np.abs(g) == np.abs(g).max(), -np.sign(g), 0.0)


class Buffer:
    """Hands out the same memory every time."""

    def __init__(self) -> None:
        self.s = np.zeros(4)

    def lmo(self, g: Array) -> Array:
        self.s[:] = L1Ball().lmo(g)
        return self.s


class Forgetful:
    """Depends on how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def lmo(self, g: Array) -> Array:
        self.calls += 1
        return np.where(g != 0, -np.sign(g), (-1.0) ** self.calls)


class Shifted(L1Ball):
    """Returns s − x instead of s."""

    def lmo(self, g: Any, warm: Atom | None = None) -> Array:
        return super().lmo(g) - 0.3

    def atom(self, g: Any, warm: Atom | None = None) -> Any:
        return Dense(super().atom(g).dense() - 0.3)


class WrongDot(Dense):
    def dot(self, g: Array) -> float:
        return 0.5 * super().dot(g)


class WrongMove(Dense):
    def move(self, x: Array, gamma: float) -> Array:
        return super().move(x, gamma**2)


def moves_the_boundary(self: L2Ball, x: Array) -> Array:
    return 0 * x if abs(np.linalg.norm(x) - 1) < 1e-9 else L2Ball().project(x)


def overriding(cls: type[Any], name: str, method: Callable[..., Any]) -> Any:
    return type("Wrong", (cls,), {name: method})()


def in_place(g: Array) -> Array:
    g /= -np.linalg.norm(g) or 1.0
    return g.copy()


def single_precision(g: Array) -> Array:
    return L1Ball().lmo(g).astype(np.float32)


def soft(g: Array) -> Array:
    return np.clip(-g, -1, 1)


MISTAKES: dict[str, tuple[Any, str]] = {
    "tied sum, alone": (tied_sum, "lmo minimises"),
    "tied sum, with contains": (
        overriding(L1Ball, "lmo", lambda self, g, warm=None: tied_sum(g)),
        "lmo returns a member",
    ),
    "maximises": (lambda g: np.sign(g) + (g == 0), "lmo minimises"),
    "returns s - x": (Shifted(), "lmo returns a member"),
    "returns g": (lambda g: g, "lmo neither changes g"),
    "changes g": (in_place, "lmo neither changes g"),
    "one buffer": (Buffer(), "lmo neither changes g"),
    "remembers": (Forgetful(), "lmo is a function of g"),
    "float32": (single_precision, "lmo returns a finite real array"),
    "a list": (lambda g: L1Ball().lmo(g).tolist(), "lmo returns a finite real array"),
    "not scale-free": (soft, "lmo(c g) is as good"),
    "zero gives NaN": (lambda g: -g / np.sqrt(g @ g) if g.any() else g * np.nan, "lmo(0) is a member"),
    "takes NaN": (
        overriding(L1Ball, "lmo", lambda self, g, warm=None: L1Ball().lmo(np.nan_to_num(g))),
        "a gradient with NaN or Inf is refused",
    ),
    "atom differs": (
        overriding(L1Ball, "atom", lambda self, g, warm=None: Dense(-L1Ball().atom(g).dense())),
        "lmo minimises",
    ),
    "lmo differs from atom": (
        overriding(L1Ball, "lmo", lambda self, g, warm=None: L1Ball(1.5).lmo(g)),
        "atom(g) is the vertex lmo(g)",
    ),
    "warm start is worse": (
        overriding(L1Ball, "atom", lambda self, g, warm=None: L1Ball(1.0 if warm is None else 0.5).atom(g)),
        "atom(g) is the vertex lmo(g)",
    ),
    "wrong dot": (
        overriding(L1Ball, "atom", lambda self, g, warm=None: WrongDot(L1Ball().atom(g).dense())),
        "atom(g) is the vertex lmo(g)",
    ),
    "wrong move": (
        overriding(L1Ball, "atom", lambda self, g, warm=None: WrongMove(L1Ball().atom(g).dense())),
        "atom(g) is the vertex lmo(g)",
    ),
    "projects twice": (overriding(L2Ball, "project", moves_the_boundary), "project gives the nearest"),
    "small diameter": (overriding(L1Ball, "diameter", lambda self, dim: 1.0), "diameter is at least"),
    "start outside": (
        overriding(L1Ball, "initial_point", lambda self, dim: np.ones(dim)),
        "initial_point is a member",
    ),
    "start of wrong shape": (
        overriding(L1Ball, "initial_point", lambda self, dim: np.ones(2)),
        "initial_point is a member",
    ),
    "contains too little": (
        overriding(L1Ball, "contains", lambda self, x, tol=0: bool(np.count_nonzero(x) <= 1)),
        "contains accepts convex combinations",
    ),
    "contains too much": (
        overriding(L1Ball, "contains", lambda self, x, tol=0: not np.isnan(x).any()),
        "contains accepts",
    ),
    "contains NaN": (
        overriding(L1Ball, "contains", lambda self, x, tol=0: not np.abs(x).sum() > 1 + tol),
        "contains accepts",
    ),
    "not nearest": (
        overriding(L2Ball, "project", lambda self, x: L1Ball().project(x)),
        "project gives the nearest",
    ),
    "projects in place": (
        overriding(L1Ball, "project", lambda self, x: np.copyto(x, L1Ball().project(x)) or x),
        "project gives the nearest",
    ),
    "projects outside": (
        overriding(L1Ball, "project", lambda self, x: L2Ball().project(x)),
        "project gives the nearest",
    ),
    "inball too large": (
        overriding(L1Ball, "inball", lambda self, dim: (np.zeros(dim), 0.9)),
        "inball lies inside",
    ),
    "inball of no radius": (
        overriding(L1Ball, "inball", lambda self, dim: (np.zeros(dim), 0.0)),
        "inball lies inside",
    ),
    "tangent too small": (
        overriding(L1Ball, "tangent", lambda self, v: v - np.mean(v, axis=0)),
        "tangent is an orthogonal projection",
    ),
    "tangent too large": (overriding(Simplex, "tangent", lambda self, v: np.array(v)), "inball lies inside"),
    "tangent not idempotent": (
        overriding(Simplex, "tangent", lambda self, v: v - np.mean(v, axis=0) + 0.5 * np.mean(v, axis=0)),
        "tangent is an orthogonal projection",
    ),
    "tangent of the wrong axis": (
        overriding(Simplex, "tangent", lambda self, v: v - np.mean(v)),
        "tangent is an orthogonal projection",
    ),
    "raises": (overriding(L1Ball, "diameter", lambda self, dim: 1 / 0), "diameter is at least"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_caught(mistake: str) -> None:
    wrong, law = MISTAKES[mistake]
    report = check_set(wrong, 4, trials=60)
    broken = [finding.law for finding in report.failures]
    assert any(name.startswith(law) for name in broken), str(report)
    assert not report.ok
    with pytest.raises(ValueError, match="BROKEN"):
        report.raise_if_failed()


def test_a_failure_names_the_gradient() -> None:
    report = check_set(lambda g: np.sign(g) + (g == 0), 3)
    assert "for g = [" in report.failures[0].why
    assert "breaks" in str(report).splitlines()[0]


def test_a_set_in_the_wrong_dimension() -> None:
    report = check_set(Box([0, 0], [1, 1]), 3)
    assert not report.ok
    assert "lives in dimension 2" in str(report)


def test_a_minimum_by_other_means() -> None:
    right = check_set(L1Ball(2.0), 4, minimum=lambda g: -2 * float(np.abs(g).max()))
    assert right.ok, str(right)
    right.raise_if_failed()
    assert "keeps every law" in str(right)
    skipped = [finding.law for finding in right.findings if finding.ok is None]
    assert skipped == ["facets and the affine hull are the set: the least ⟨g, x⟩ over them is that of lmo(g)"]
    lazy = check_set(lambda g: L1Ball(0.5).lmo(g), 4, minimum=lambda g: -float(np.abs(g).max()))
    assert [finding.law for finding in lazy.failures] == [
        "lmo attains the minimum that was computed by other means"
    ]


def test_same_seed_same_report() -> None:
    assert check_set(tied_sum, 4, rng=1) == check_set(tied_sum, 4, rng=np.random.default_rng(1))
