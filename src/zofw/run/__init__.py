"""Running: sessions, the front door, results, checkpoints."""

from zofw.run.codec import FileError
from zofw.run.minimize import drive, minimize
from zofw.run.reference import Reference, reference
from zofw.run.session import BudgetError, Session
from zofw.run.status import Status
from zofw.run.trace import Trace

__all__ = [
    "BudgetError",
    "FileError",
    "Reference",
    "Session",
    "Status",
    "Trace",
    "drive",
    "minimize",
    "reference",
]
