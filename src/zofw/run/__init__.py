"""Running: the front door, and behind it records, files, the session, answering and workers."""

from zofw import directions as directions
from zofw import papers as papers  # runs and files name their classes
from zofw.run.answering.drive import Answering, drive
from zofw.run.answering.engine import ExecutorError
from zofw.run.answering.policy import Retry
from zofw.run.files.documents import FileError, StorageError
from zofw.run.files.lock import LockedError
from zofw.run.files.store import RunFiles
from zofw.run.minimize import minimize, resume
from zofw.run.record.run import BudgetError, Run
from zofw.run.record.status import Status
from zofw.run.record.trace import Trace
from zofw.run.session.session import Session

__all__ = [
    "Answering",
    "BudgetError",
    "ExecutorError",
    "FileError",
    "LockedError",
    "Retry",
    "Run",
    "RunFiles",
    "Session",
    "Status",
    "StorageError",
    "Trace",
    "drive",
    "minimize",
    "resume",
]
