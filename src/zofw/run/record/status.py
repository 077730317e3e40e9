"""Every way of stopping, with a sentence."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Why a run stopped. Success is convergence that values certify, or a target that a value reached."""

    CONVERGED = 0
    BUDGET = 1
    MAX_ITER = 2
    MAX_LMO = 3
    MAX_TIME = 4
    CALLBACK = 5
    INTERRUPTED = 6
    RUNNING = 7
    STALLED = 8
    ESTIMATED = 9
    TARGET = 10

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    @property
    def success(self) -> bool:
        return self in (Status.CONVERGED, Status.TARGET)


_SENTENCES = {
    Status.CONVERGED: "An upper bound of the Frank-Wolfe gap at x fell below the tolerance.",
    Status.BUDGET: "The next iteration would exceed the budget of queries.",
    Status.MAX_ITER: "The limit on iterations was reached.",
    Status.MAX_LMO: "The limit on calls of the linear minimisation oracle was reached.",
    Status.MAX_TIME: "The limit on wall time was reached.",
    Status.CALLBACK: "A callback raised StopIteration.",
    Status.INTERRUPTED: "The run was interrupted from outside.",
    Status.RUNNING: "The run is not finished.",
    Status.STALLED: "No further decrease was found, and it is not certified that none is left.",
    Status.ESTIMATED: "The method's own estimate of the Frank-Wolfe gap fell below gap_tol; it is not certified.",
    Status.TARGET: "A value fell to the target.",
}
