"""Laws of directions: what a d×b matrix of search directions looks like, and its constants."""

from zofw.directions.coordinate import Coordinate as Coordinate
from zofw.directions.coordinate import Coordinates as Coordinates
from zofw.directions.coordinate import basis as basis
from zofw.directions.explicit import Explicit as Explicit
from zofw.directions.gaussian import Gaussian as Gaussian
from zofw.directions.implicit import Implicit as Implicit
from zofw.directions.implicit import laws as laws
from zofw.directions.orthogonal import CosineBlock as CosineBlock
from zofw.directions.orthogonal import Orthogonal as Orthogonal
from zofw.directions.rademacher import Rademacher as Rademacher
from zofw.directions.sphere import Sphere as Sphere
from zofw.directions.unit_steps import UnitSteps as UnitSteps
