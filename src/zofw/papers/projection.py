"""What the methods that project share: they are rivals with the same oracle, on sets where a projection is cheap."""

from __future__ import annotations

from typing import Any

import numpy as np

from zofw.algorithms import settings
from zofw.core import Array, Info, Stencil, Task
from zofw.schedules import as_schedule


def check_projected(method: Any, task: Task) -> None:
    """Refuse a set without a Euclidean projection, and the bad settings that such methods have in common."""
    if not task.can_project:
        raise ValueError(
            f"{method.name} projects every iterate, and {task.set!r} has no project(x). ℓ1, ℓ2 and ℓ∞ balls, "
            "boxes, simplices and their products can; on any other set take a Frank-Wolfe method, which needs only the LMO."
        )
    settings.whole("batch_size", method.batch_size)
    settings.whole("directions", method.directions)
    method.law.check(task.dim, method.directions)
    for t in (0, 1, 10**6):
        settings.positive(f"step_size at t = {t}", as_schedule(method.step_size)(t))
    settings.radii(as_schedule(method.radius))
    settings.choice("stencil", method.stencil, (Stencil.CENTRAL, Stencil.FORWARD))


def descent(task: Task, count: int) -> float:
    """1/(1 + d/b): a step size for L = 1 and estimates whose second moment is about 1 + d/b times ‖∇f‖²."""
    return count / (count + task.dim)


def projected_step(task: Task, x: Array, g: Array, a: float) -> tuple[Array, Info]:
    """x⁺ = Π_X(x − a g), and the length ‖x − x⁺‖/a of the gradient mapping."""
    new = task.project(x - a * g)
    return new, Info(numbers={"mapping": float(np.linalg.norm(x - new)) / a, "gamma": a})
