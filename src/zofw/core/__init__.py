"""The wall between an algorithm and whoever answers it.

An algorithm never evaluates anything: it yields a :class:`Query` and receives an :class:`Answer`. Everything that is
counted, seeded, stopped, saved or sent to another machine happens on the other side, in :mod:`zofw.run`.

Dictionary used everywhere: x iterate, s vertex, g gradient estimate, U directions (d×b), mu radius, gamma step size,
rho averaging, p refresh probability, n components, d dimension, b directions, S batch, t iteration.
"""

from zofw.core.directions import Array, Directions, Indices, Law, Operator, Transposed, of_length
from zofw.core.protocols import Algorithm, Ending, FirstOrder, Info, Problem, State, Step, frank_wolfe_info
from zofw.core.query import Answer, Batch, EvaluationError, Purpose, Query, Stencil, Tile, blocks
from zofw.core.task import ConvexSet, FirstOrderTask, OutOfBudget, Projecting, Task, gap

__all__ = [
    "Algorithm",
    "Answer",
    "Array",
    "Batch",
    "ConvexSet",
    "Directions",
    "Ending",
    "EvaluationError",
    "FirstOrder",
    "FirstOrderTask",
    "Indices",
    "Info",
    "Law",
    "Operator",
    "OutOfBudget",
    "Problem",
    "Projecting",
    "Purpose",
    "Query",
    "State",
    "Stencil",
    "Step",
    "Task",
    "Tile",
    "Transposed",
    "blocks",
    "frank_wolfe_info",
    "gap",
    "of_length",
]
