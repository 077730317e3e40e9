"""Where a run stands, for whoever looks: read, never written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from zofw.core import Array, Info, State
from zofw.run.record.run import Run
from zofw.run.record.status import Status
from zofw.run.record.trace import Trace


class RunView:
    """The parts of a run that observers read."""

    run: Run

    @property
    def x(self) -> Array:
        """The current iterate, read-only."""
        return self.run.x

    @property
    def state(self) -> State:
        """The method's state."""
        return self.run.state

    @property
    def algorithm(self) -> Any:
        """The method, with its settings resolved."""
        return self.run.method

    @property
    def nit(self) -> int:
        """Iterations."""
        return self.run.nit

    @property
    def nfev(self) -> int:
        """Evaluations of single components that were paid for."""
        return self.run.nfev

    @property
    def nlmo(self) -> int:
        """Calls of the linear minimisation oracle."""
        return self.run.nlmo

    @property
    def remaining(self) -> float:
        """Queries that may still be asked."""
        return self.run.remaining

    @property
    def status(self) -> Status:
        """Why the run stopped, or RUNNING."""
        return self.run.status

    @property
    def gap(self) -> float | None:
        """The method's estimate of the Frank-Wolfe gap at x itself; None where its last one is of the point before."""
        return self.run.gap

    @property
    def info(self) -> Info:
        """What the last step said about itself."""
        return self.run.info

    @property
    def ledger(self) -> Mapping[str, int]:
        """Evaluations by purpose."""
        return MappingProxyType(self.run.ledger)

    @property
    def trace(self) -> Trace:
        """What the run looked like along the way."""
        return self.run.trace
