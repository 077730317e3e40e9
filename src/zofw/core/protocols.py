"""What a method and a problem are, by what they can do."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, ClassVar, Protocol, TypeAlias, TypeGuard, runtime_checkable

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
    What else it may have is in :class:`Offering`. A first-order reference method is a :class:`FirstOrder` one instead.
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


class Offering(Algorithm, Protocol):
    """A method with everything that methods may offer; `offers` says which of it one has."""

    composes: ClassVar[
        bool
    ]  # it can minimise a function of the components other than their mean: ``task.outer``

    def resolve(self, task: Task) -> tuple[Algorithm, dict[str, str]]:
        """Return the method with the settings left at None derived from its task, and the reason for each."""

    def check(self, task: Task) -> None:
        """Refuse bad settings with a sentence before the first query."""

    def most(self, task: Task, state: State) -> float:
        """Return the most its coming iteration can cost: if that is left, nothing is rehearsed."""

    def report(self, task: Task, state: State, x: Array) -> Mapping[str, object]:
        """Return further entries of the result, of the point that a run returns."""


def offers(method: object, name: str) -> TypeGuard[Offering]:
    """Return True if a method has an optional attribute of that name."""
    return hasattr(method, name)


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
