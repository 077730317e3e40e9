"""Finite sums: values for everyone, gradients only for diagnosis."""

from zofw.problems.attack import UniversalAttack
from zofw.problems.black_box import BlackBox
from zofw.problems.correntropy import Correntropy
from zofw.problems.evaluate import evaluate, mean_value
from zofw.problems.least_squares import LeastSquares
from zofw.problems.linear import LinearModel
from zofw.problems.logistic import Logistic
from zofw.problems.matrix_completion import MatrixCompletion
from zofw.problems.quadratic import Quadratic
from zofw.problems.registry import problems
from zofw.problems.sharded import Sharded

__all__ = [
    "BlackBox",
    "Correntropy",
    "LeastSquares",
    "LinearModel",
    "Logistic",
    "MatrixCompletion",
    "Quadratic",
    "Sharded",
    "UniversalAttack",
    "evaluate",
    "mean_value",
    "problems",
]
