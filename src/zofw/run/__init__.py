"""Running: the front door, and behind it records, files, the session, answering and workers."""

from zofw import directions as directions
from zofw import papers as papers  # runs and files name their classes
from zofw.run.answering.pipeline import ExecutorError, Pipeline
from zofw.run.answering.policy import Retry
from zofw.run.files.documents import FileError, StorageError
from zofw.run.files.lock import LockedError
from zofw.run.files.run_files import RunFiles
from zofw.run.minimize import drive, minimize, resume
from zofw.run.record.run import BudgetError, Run
from zofw.run.record.status import Status
from zofw.run.record.trace import Trace
from zofw.run.session.session import Session

__all__ = [
    "BudgetError",
    "ExecutorError",
    "FileError",
    "LockedError",
    "Pipeline",
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
