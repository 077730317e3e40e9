"""Steps of the methods that project: rivals on sets with a cheap projection."""

import numpy as np

from zofw.core import Array, Info, Task


def descent(task: Task, count: int) -> float:
    """Return 1/(1 + d/b): a step for L = 1 and E‖ĝ‖² ≈ (1 + d/b)‖∇f‖²."""
    return count / (count + task.dim)


def projected_step(task: Task, x: Array, g: Array, a: float) -> tuple[Array, Info]:
    """Return x⁺ = Π_X(x − a g), and the length ‖x − x⁺‖/a of the gradient mapping."""
    new = task.project(x - a * g)
    return new, Info(numbers={"mapping": float(np.linalg.norm(x - new)) / a, "gamma": a})
