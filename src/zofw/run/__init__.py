"""Running: sessions, the front door, results, checkpoints, workers."""

from zofw.run.answering import ExecutorError
from zofw.run.codec import FileError
from zofw.run.limits import BudgetError
from zofw.run.lock import LockedError
from zofw.run.logbook import Logbook, StorageError
from zofw.run.minimize import drive, minimize, resume
from zofw.run.policy import Retry
from zofw.run.reference import Reference, reference
from zofw.run.session import Session
from zofw.run.status import Status
from zofw.run.trace import Trace

__all__ = [
    "BudgetError",
    "ExecutorError",
    "FileError",
    "LockedError",
    "Logbook",
    "Reference",
    "Retry",
    "Session",
    "Status",
    "StorageError",
    "Trace",
    "drive",
    "minimize",
    "reference",
    "resume",
]
