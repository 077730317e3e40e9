"""condg: an inexact proximal step by conditional gradients, the inner loop of conditional
gradient sliding.

    u_1 = u
    for k = 1, 2, …:
        v_k = argmax over v in X of ⟨g + (u_k − u)/γ, u_k − v⟩
        if that maximum is at most η: return u_k
        α_k     = min{1, ⟨(u − u_k)/γ − g, v_k − u_k⟩ / (‖v_k − u_k‖²/γ)}
        u_{k+1} = (1 − α_k) u_k + α_k v_k

It minimises ⟨g, w⟩ + ‖w − u‖²/(2γ) over w in X to a Frank-Wolfe gap of η, in O(D²/(γη)) LMO
calls and no query.

References
----------
G. Lan, Y. Zhou, Conditional gradient sliding for convex optimization, SIAM Journal on Optimization 26, 2016.
"""

from __future__ import annotations

from zofw.core import Array, Task, gap


def condg(task: Task, g: Array, u: Array, gamma: float, eta: float, most: int) -> tuple[Array, float]:
    """The approximate proximal point after at most ``most`` LMO calls, and ⟨g, u − v_1⟩, the gap of g at u."""
    w, first = u, 0.0
    for k in range(most):
        slope = g + (w - u) / gamma
        v = task.lmo(slope)
        promised = gap(slope, w, v)
        first = promised if k == 0 else first
        if promised <= eta:
            break
        length = v.dense() - w
        w = v.move(w, min(1.0, gamma * promised / float(length @ length)))
    return w, first
