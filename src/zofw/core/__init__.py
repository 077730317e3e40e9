"""Messages between a method and the session that answers it.

An algorithm never evaluates anything: it yields a :class:`Query` and receives an
:class:`Answer`. Everything that is counted, seeded, stopped, saved or sent to another machine
happens on the other side, in :mod:`zofw.run`.

Dictionary used everywhere: x iterate, s vertex, g gradient estimate, U directions (d×b), mu
radius, gamma step size, rho averaging, p refresh probability, n components, d dimension, b
directions, S batch, t iteration.
"""

from zofw.atoms import Array as Array
from zofw.core.answer import Answer as Answer
from zofw.core.answer import EvaluationError as EvaluationError
from zofw.core.answer import Late as Late
from zofw.core.protocols import Algorithm as Algorithm
from zofw.core.protocols import FirstOrder as FirstOrder
from zofw.core.protocols import MethodLike as MethodLike
from zofw.core.protocols import Offering as Offering
from zofw.core.protocols import Problem as Problem
from zofw.core.protocols import Step as Step
from zofw.core.protocols import offers as offers
from zofw.core.query import WORST as WORST
from zofw.core.query import Batch as Batch
from zofw.core.query import Clips as Clips
from zofw.core.query import Directions as Directions
from zofw.core.query import Indices as Indices
from zofw.core.query import Law as Law
from zofw.core.query import Matrix as Matrix
from zofw.core.query import Operator as Operator
from zofw.core.query import Pattern as Pattern
from zofw.core.query import Purpose as Purpose
from zofw.core.query import Query as Query
from zofw.core.query import Seed as Seed
from zofw.core.query import Stencil as Stencil
from zofw.core.query import Tile as Tile
from zofw.core.query import Transposed as Transposed
from zofw.core.query import blocks as blocks
from zofw.core.query import of_length as of_length
from zofw.core.task import ConvexSet as ConvexSet
from zofw.core.task import Ending as Ending
from zofw.core.task import FirstOrderTask as FirstOrderTask
from zofw.core.task import FullSet as FullSet
from zofw.core.task import Info as Info
from zofw.core.task import Outer as Outer
from zofw.core.task import OutOfBudget as OutOfBudget
from zofw.core.task import State as State
from zofw.core.task import Task as Task
from zofw.core.task import frank_wolfe_info as frank_wolfe_info
from zofw.core.task import gap as gap
from zofw.core.task import objective as objective
