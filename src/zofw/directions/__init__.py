"""Laws of directions: what a d×b matrix of search directions looks like, and its constants."""

from zofw.directions.coordinate import Coordinate, Coordinates, basis
from zofw.directions.explicit import Explicit
from zofw.directions.gaussian import Gaussian
from zofw.directions.implicit import Implicit
from zofw.directions.orthogonal import CosineBlock, Orthogonal
from zofw.directions.rademacher import Rademacher
from zofw.directions.registry import laws
from zofw.directions.sphere import Sphere
from zofw.directions.unit_steps import UnitSteps

__all__ = [
    "Coordinate",
    "Coordinates",
    "CosineBlock",
    "Explicit",
    "Gaussian",
    "Implicit",
    "Orthogonal",
    "Rademacher",
    "Sphere",
    "UnitSteps",
    "basis",
    "laws",
]
