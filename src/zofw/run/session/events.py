"""The seven events of a run: a run is what its events, applied in their order, have made of it.

Every event has the number of the query that was open when it came and the seconds of the run, which
are set when it is put; nothing changes it after that. None of them holds a clock, a file or a
function, so the same events give the same run at any time. ``by`` names who evaluated: a worker, a
person at a desk; nothing depends on it. The log writes the fields in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from zofw.core import Array, Tile
from zofw.run.record.status import Status


@dataclass(eq=False)
class Answered:
    """All values of the open query, and the variances if it asks for them."""

    query: int
    values: Array
    variance: Array | None = None
    by: str = ""
    seconds: float = 0.0


@dataclass(eq=False)
class Part:
    """Sums of a tile, or single evaluations: of the open query, or of one whose rows come late."""

    query: int
    tile: Tile
    values: Array
    squares: Array | None = None
    by: str = ""
    seconds: float = 0.0


@dataclass(eq=False)
class Failed:
    """Evaluations without a value: ``cost`` is charged, ``again`` were lost with their worker.

    ``lost`` says that they are given up: a query with ``enough`` gets NaN for these rows, another one
    means without the component of the first tile, of which the other tiles are not evaluated.
    ``replaced`` says that a stand-in takes the place of the value.
    """

    query: int
    tiles: tuple[Tile, ...] = ()
    cost: int = 0
    reason: str = ""
    again: int = 0
    lost: bool = False
    replaced: bool = False
    by: str = ""
    seconds: float = 0.0


@dataclass(eq=False)
class Dropped:
    """The open iteration is given up and begun again with other random numbers."""

    query: int
    seconds: float = 0.0


@dataclass(eq=False)
class Diagnosed:
    """The exact objective for a row of the trace; ``cost`` evaluations that are not charged."""

    query: int
    row: int
    value: float
    cost: int
    seconds: float = 0.0


@dataclass(eq=False)
class Extended:
    """Limits are replaced, and a run that had stopped continues; ``turn`` iterations had begun."""

    query: int
    limits: Mapping[str, float | None] = field(default_factory=dict)
    turn: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class Stopped:
    """The run is ended from outside, with a status and perhaps a reason."""

    query: int
    status: Status = Status.INTERRUPTED
    turn: int = 0
    reason: str = ""
    seconds: float = 0.0


Event: TypeAlias = Answered | Part | Failed | Dropped | Diagnosed | Extended | Stopped
KINDS: tuple[type[Event], ...] = (Answered, Part, Failed, Dropped, Diagnosed, Extended, Stopped)
