"""What a method and a problem are, by what they can do."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from zofw.atoms import Array
from zofw.core.answer import Answer
from zofw.core.query import Indices, Query
from zofw.core.task import FirstOrderTask, Info, State, Task

Step: TypeAlias = Generator[Query, Answer, tuple[Any, Info]]


@runtime_checkable
class Algorithm(Protocol):
    """A frozen dataclass of settings, with one step of the method as a generator of queries.

    ``step`` must be a pure function of (task, state, rng) and the answers: the session replays it to resume a run.
    It may be a :class:`Resolving`, a :class:`Checking` and a :class:`Pricing` one as well. A first-order reference method is a
    :class:`FirstOrder` one instead.
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
class Resolving(Protocol):
    """A method that derives the settings left at None from its task, with the reason for each."""

    def resolve(self, task: Task) -> tuple[Algorithm, dict[str, str]]: ...


@runtime_checkable
class Checking(Protocol):
    """A method that refuses bad settings with a sentence before the first query."""

    def check(self, task: Task) -> None: ...


@runtime_checkable
class Pricing(Protocol):
    """A method that knows the most queries its coming iteration can cost: where that can be paid, nothing is rehearsed."""

    def most(self, task: Task, state: State) -> float: ...


@runtime_checkable
class Composing(Protocol):
    """A method that can minimise a function of the components other than their mean: ``task.outer``."""

    composes: ClassVar[bool]


@runtime_checkable
class Reporting(Protocol):
    """A method that has more to say of the point that a run returns: further entries of the result."""

    def report(self, task: Task, state: State, x: Array) -> Mapping[str, object]: ...


MethodLike: TypeAlias = str | Algorithm | FirstOrder  # a registered name, or settings


@runtime_checkable
class Problem(Protocol):
    """A finite sum: component values at points, and nothing else."""

    @property
    def n(self) -> int: ...
    @property
    def dim(self) -> int: ...
    def values(self, points: Array, components: Indices) -> Array:
        """Return f_i(x) for every point (rows) and component (columns): (len(points), len(components))."""
