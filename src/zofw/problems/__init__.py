"""Finite sums: values for everyone, gradients only for diagnosis."""

from zofw.problems.abilities import problems as problems
from zofw.problems.attack import UniversalAttack as UniversalAttack
from zofw.problems.black_box import BlackBox as BlackBox
from zofw.problems.correntropy import Correntropy as Correntropy
from zofw.problems.evaluate import evaluate as evaluate
from zofw.problems.evaluate import mean_value as mean_value
from zofw.problems.least_squares import LeastSquares as LeastSquares
from zofw.problems.linear import LinearModel as LinearModel
from zofw.problems.logistic import Logistic as Logistic
from zofw.problems.matrix_completion import MatrixCompletion as MatrixCompletion
from zofw.problems.quadratic import Quadratic as Quadratic
from zofw.problems.sharded import Sharded as Sharded
