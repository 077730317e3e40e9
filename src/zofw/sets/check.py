"""The conformance kit: the laws of a set, run on any set, with a sentence for each that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from zofw.atoms import Array
from zofw.sets.given import SetLike, as_set
from zofw.sets.protocol import name_of
from zofw.sets.set_laws import LAWS, Skipped, Subject

__all__ = ["Finding", "Report", "Skipped", "check_set", "examine"]

S = TypeVar("S")


@dataclass(frozen=True)
class Finding:
    """What became of one law: kept (ok is True), broken (False) or not applicable (None), and why."""

    law: str
    ok: bool | None
    why: str = ""


@dataclass(frozen=True)
class Report:
    """The findings of `check_set` and its like, one for each law.

    Attributes
    ----------
    subject
        The set, method, law or problem that was tested, as it prints.
    dim
        The dimension it was tested in, where one was asked for.
    findings
        One `Finding` for each law, in order.
    """

    subject: str
    dim: int | None
    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return self.ok

    @property
    def ok(self) -> bool:
        """Return True if no law was broken."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Return the laws that were broken."""
        return tuple(finding for finding in self.findings if finding.ok is False)

    def raise_if_failed(self) -> None:
        """Raise ValueError with the whole report if a law was broken."""
        if not self.ok:
            raise ValueError(str(self))

    def __str__(self) -> str:
        mark = {True: "kept   ", False: "BROKEN ", None: "skipped"}
        lines = [f"{mark[f.ok]}  {f.law}" + (f": {f.why}" if f.why else "") for f in self.findings]
        count = len(self.failures)
        verdict = "keeps every law" if not count else f"breaks {count} of {len(self.findings)} laws"
        where = "" if self.dim is None else f" in dimension {self.dim}"
        return "\n".join([f"{self.subject}{where} {verdict}.", *lines])


def directions(dim: int, trials: int, rng: np.random.Generator) -> Array:
    """Return gradients that catch mistakes: axes, ties, near ties, few entries, Gaussian ones."""
    count = max(trials // 4, 1)
    axes = np.eye(dim)[rng.permutation(dim)[:count]]
    ties = rng.integers(-1, 2, size=(count, dim)).astype(float)
    near = ties + 0.1 * rng.random((count, dim))
    sparse = np.where(rng.random((count, dim)) < 0.3, rng.standard_normal((count, dim)), 0.0)
    flat = np.ones((1, dim))
    gaussian = rng.standard_normal((count, dim)) * 10.0 ** rng.integers(-3, 4, size=(count, 1))
    G = np.concatenate([gaussian, axes, -axes, ties, near, sparse, flat, -flat])
    return G[G.any(axis=1)]  # zero has a law of its own


def check_set(
    my_set: SetLike,
    dim: int,
    *,
    trials: int = 200,
    rng: int | np.random.Generator = 0,
    tol: float = 1e-7,
    minimum: Callable[[Array], float] | None = None,
) -> Report:
    """Run the laws of a set on any set, and explain each that is broken.

    Parameters
    ----------
    my_set
        A set of this library, or any object with ``lmo(g)``, or a function g ↦ s. Methods that
        it lacks are not tested.
    dim
        The dimension to test in; small ones find the same mistakes sooner.
    trials
        About how many directions to try.
    rng
        Seed or generator of the directions.
    tol
        Relative rounding allowed; give the accuracy of an inexact oracle here.
    minimum
        g ↦ min ⟨g, s⟩ computed by other means, such as a linear programme or a closed form.

    Returns
    -------
    Report
        One finding for each law; ``report.ok``, ``print(report)``,
        ``report.raise_if_failed()``.

    Examples
    --------
    >>> import numpy as np
    >>> from zofw.sets import L1Ball
    >>> check_set(L1Ball(2.0), dim=5).ok
    True
    >>> wrong = check_set(lambda g: g / np.linalg.norm(g), dim=5)  # maximises
    >>> wrong.failures[0].law
    'lmo minimises: no vertex returned for another direction has a smaller ⟨g, s⟩'
    """
    region = as_set(my_set)
    rng = np.random.default_rng(rng)
    try:
        region.check_dim(dim)
    except ValueError as error:
        return Report(
            repr(my_set), dim, (Finding("the set lives in the dimension asked for", False, str(error)),)
        )
    subject = Subject(my_set, region, dim, directions(dim, trials, rng), rng, tol, minimum)
    return Report(repr(my_set), dim, tuple(examine(law, subject) for law in LAWS))


def examine(law: Callable[[S], Iterator[str]], subject: S) -> Finding:
    """Run one law and keep its first complaint."""
    name = str(law.__doc__)
    try:
        complaint = next(islice(law(subject), 1), None)
    except Skipped as reason:
        return Finding(name, None, str(reason))
    except Exception as error:  # whatever the user's code raises is a finding
        return Finding(name, False, f"{name_of(error)} was raised: {error}")
    return Finding(name, complaint is None, complaint or "")
