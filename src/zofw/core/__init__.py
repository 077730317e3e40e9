"""The wall between an algorithm and whoever answers it.

An algorithm never evaluates anything: it yields a :class:`Query` and receives an :class:`Answer`. Everything that is
counted, seeded, stopped, saved or sent to another machine happens on the other side, in :mod:`zofw.run`.

Dictionary used everywhere: x iterate, s vertex, g gradient estimate, U directions (d×b), mu radius, gamma step size,
rho averaging, p refresh probability, n components, d dimension, b directions, S batch, t iteration.
"""

from zofw.atoms import Array
from zofw.core.answer import Answer, Late
from zofw.core.errors import EvaluationError
from zofw.core.protocols import (
    Algorithm,
    Checking,
    Composing,
    FirstOrder,
    MethodLike,
    Pricing,
    Problem,
    Resolving,
    Step,
)
from zofw.core.query import (
    WORST,
    Batch,
    Clips,
    Directions,
    Indices,
    Law,
    Matrix,
    Operator,
    Pattern,
    Purpose,
    Query,
    Seed,
    Stencil,
    Tile,
    Transposed,
    blocks,
    of_length,
)
from zofw.core.task import (
    ConvexSet,
    Ending,
    Faceted,
    FirstOrderTask,
    Info,
    Outer,
    OutOfBudget,
    Projecting,
    State,
    Task,
    frank_wolfe_info,
    gap,
    objective,
)

__all__ = [
    "WORST",
    "Algorithm",
    "Answer",
    "Array",
    "Batch",
    "Checking",
    "Clips",
    "Composing",
    "ConvexSet",
    "Directions",
    "Ending",
    "EvaluationError",
    "Faceted",
    "FirstOrder",
    "FirstOrderTask",
    "Indices",
    "Info",
    "Late",
    "Law",
    "Matrix",
    "MethodLike",
    "Operator",
    "OutOfBudget",
    "Outer",
    "Pattern",
    "Pricing",
    "Problem",
    "Projecting",
    "Purpose",
    "Query",
    "Resolving",
    "Seed",
    "State",
    "Stencil",
    "Step",
    "Task",
    "Tile",
    "Transposed",
    "blocks",
    "frank_wolfe_info",
    "gap",
    "objective",
    "of_length",
]
