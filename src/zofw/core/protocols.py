"""What a method and a problem are, by what they can do."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from zofw.atoms import Atom
from zofw.core.directions import Array, Indices
from zofw.core.query import Answer, Query
from zofw.core.task import FirstOrderTask, Task, gap


class State(Protocol):
    """What the next step needs, and nothing else: a frozen dataclass with at least t and x."""

    @property
    def t(self) -> int: ...
    @property
    def x(self) -> Array: ...


@dataclass(frozen=True)
class Ending:
    """A method's own word that it has nothing left to do: ``converged``, or stalled with nothing certified."""

    converged: bool
    sentence: str


@dataclass(frozen=True)
class Info:
    """What a step says about itself, beside the next state.

    Attributes
    ----------
    gap, gap_error
        An estimate of the Frank-Wolfe gap max over s of ⟨∇f(x), x − s⟩, and its standard error.
    bound
        An upper bound of that gap from values paid for at x, at a confidence that the method states. Only a bound makes a
        run CONVERGED at ``gap_tol``; a gap without one ends it as ESTIMATED.
    at_start
        Whether gap and bound are of the x that the iteration began with, as in most papers, and not of the new one.
    ending
        The method's own word that it is done.
    numbers
        Further columns of the trace.
    """

    gap: float | None = None
    gap_error: float | None = None
    bound: float | None = None
    at_start: bool = False
    ending: Ending | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)

    def columns(self) -> dict[str, float]:
        """Everything that is a number, by name."""
        own = {"gap": self.gap, "gap_error": self.gap_error, "bound": self.bound}
        return {name: number for name, number in own.items() if number is not None} | dict(self.numbers)


def frank_wolfe_info(g: Array, x: Array, s: Atom, **numbers: float) -> Info:
    """⟨g, x − s⟩ at the x that the iteration began with, and the method's own numbers."""
    return Info(gap(g, x, s), at_start=True, numbers=numbers)


Step = Generator[Query, Answer, tuple[Any, Info]]


class Algorithm(Protocol):
    """A frozen dataclass of settings, with one step of the method as a generator of queries.

    ``step`` must be a pure function of (task, state, rng) and the answers: the session replays it to resume a run.
    ``resolve`` replaces settings left at None by values derived from the task; ``check`` refuses bad settings with a
    sentence before the first query. A first-order reference method is a :class:`FirstOrder` one instead.
    """

    name: ClassVar[str]

    def init(self, task: Task, x0: Array) -> Any: ...
    def step(self, task: Task, state: Any, rng: np.random.Generator) -> Step: ...


@runtime_checkable
class FirstOrder(Protocol):
    """A reference method, which gets a task with the gradient and asks no queries."""

    name: ClassVar[str]
    first_order: ClassVar[bool]

    def init(self, task: FirstOrderTask, x0: Array) -> Any: ...
    def step(self, task: FirstOrderTask, state: Any, rng: np.random.Generator) -> Step: ...


@runtime_checkable
class Problem(Protocol):
    """A finite sum: component values at points, and nothing else."""

    @property
    def n(self) -> int: ...
    @property
    def dim(self) -> int: ...
    def values(self, points: Array, components: Indices) -> Array:
        """f_i(x) for every point (rows) and component (columns): (len(points), len(components))."""
