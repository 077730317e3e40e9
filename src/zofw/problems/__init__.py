"""Finite sums: values for everyone, gradients only for diagnosis."""

from zofw.problems.black_box import BlackBox
from zofw.problems.evaluate import evaluate, mean_value

__all__ = ["BlackBox", "evaluate", "mean_value"]
