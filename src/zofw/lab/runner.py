"""Runs: one at a time in its directory, many at a time in worker processes with one core each."""

from __future__ import annotations

import dataclasses
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from zofw import kernels
from zofw.core import Array, EvaluationError, Task
from zofw.data import DataError
from zofw.lab.cases import Built, build_case, optimum
from zofw.lab.methods import build
from zofw.lab.spec import Case, Method, SpecError, fingerprint
from zofw.lab.store import Folder, StoreError, read_json, write_json, write_trace
from zofw.registry import UnknownName
from zofw.run import BudgetError, FileError, LockedError, Session, Status, Trace, minimize
from zofw.run.result import Result

__all__ = ["Outcome", "Progress", "Unit", "execute", "run_all"]

REPAYS_COMPILING = 30_000_000  # queries of all runs; below, plain code is done sooner than the compiler
TOLD_EVERY = 0.25  # seconds between two messages of a worker
SECONDS_TO_SAVE = 10.0  # for a worker whose parent is gone
MISTAKES = (
    SpecError,
    DataError,
    StoreError,
    FileError,
    LockedError,
    EvaluationError,
    UnknownName,
    ValueError,
    TypeError,
    ImportError,
)


@dataclass(frozen=True)
class Unit:
    """One run: a method with a learning rate on a case with a seed, in a directory."""

    path: str
    case: Case
    method: Method
    lr: float | None
    seed: int
    measure: str
    diagnose: int
    max_time: float | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        rate = "" if self.lr is None else f", lr {self.lr:g}"
        return f"{self.case.name}, {self.method.label}{rate}, seed {self.seed}"

    def document(self) -> dict[str, Any]:
        """What spec.json says; the fingerprint is of what decides the numbers."""
        content = dataclasses.asdict(self)
        del content["path"], content["folder"]
        decides = {
            **content,
            "case": {
                k: v for k, v in content["case"].items() if k not in ("title", "optional", "tune_share")
            },
        }
        return {**content, "fingerprint": fingerprint(decides), "folder": self.folder}

    @classmethod
    def read(cls, path: Path) -> Unit:
        """The run that a directory was made for."""
        content = read_json(path / "spec.json")
        try:
            method = {**content["method"], "grid": tuple(content["method"]["grid"])}
            rest = {
                name: content[name] for name in ("lr", "seed", "measure", "diagnose", "max_time", "folder")
            }
            return cls(str(path), Case(**content["case"]), Method(**method), **rest)
        except (KeyError, TypeError) as error:
            raise StoreError(f"{path / 'spec.json'} is not the specification of a run: {error!r}.") from error


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    path: str
    name: str
    spent: int
    budget: int
    iterations: int
    objective: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the numbers of result.json, or a sentence about what went wrong."""

    unit: Unit
    result: dict[str, Any] | None
    error: str = ""


Tell = Callable[[Progress], None]


@lru_cache(maxsize=1)
def _built(key: str, hold: _Hold) -> Built:
    return build_case(hold.case, hold.folder)


@dataclass(frozen=True, eq=False)
class _Hold:
    """A case as an argument of a cached function: equal to every other, so that the key alone decides."""

    case: Case
    folder: str

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hold)


def built(case: Case, folder: str) -> Built:
    """The problem of a case, kept for the next run on it."""
    data = {
        name: value
        for name, value in dataclasses.asdict(case).items()
        if name not in ("budget", "parameters", "title", "tune_share")
    }
    return _built(fingerprint([data, folder]), _Hold(case, folder))


def execute(unit: Unit, tell: Tell | None = None) -> dict[str, Any]:
    """Do one run in its directory, from where it was left; returns what result.json says."""
    folder = Folder(unit.path)
    folder.claim(unit.document())
    if folder.finished:
        return dict(read_json(folder.summary))
    ready = built(unit.case, unit.folder)
    task = Task(ready.set, ready.problem.dim, ready.problem.n, budget=unit.case.budget)
    watch = _Watch(unit, ready, tell)
    try:
        result = minimize(
            ready.problem,
            ready.set,
            method=build(unit.method, ready.names(unit.case, unit.lr), task, unit.lr),
            budget=unit.case.budget,
            max_time=unit.max_time,
            rng=unit.seed,
            diagnose=unit.diagnose,
            observers=[watch],
            progress=False,
            checkpoint=folder.checkpoint,
            resume="auto",
        )
    except BudgetError as error:
        return _not_begun(unit, ready, folder, str(error))
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    watch.annotate(result.trace, result.x)
    return _finished(unit, ready, folder, result)


class _Watch:
    """What goes on the trace beside the objective, and messages about progress."""

    def __init__(self, unit: Unit, ready: Built, tell: Tell | None) -> None:
        self.unit, self.ready, self.tell = unit, ready, tell
        self.told = 0.0

    def annotate(self, trace: Trace, x: Array) -> None:
        """Put the success rate on the first row and the last, where they have none yet; diagnosis."""
        if self.unit.measure == "success-rate":
            start = self.ready.set.initial_point(self.ready.problem.dim)
            for info, point in ((trace.infos[0], start), (trace.infos[-1], x)):
                if "success-rate" not in info:
                    info["success-rate"] = self.ready.problem.success_rate(point)

    def __call__(self, session: Session) -> None:
        if session.trace.rows[-1][0] == session.nit:
            with session.clock.paused():
                self.annotate(session.trace, session.x)
        now = time.monotonic()
        if self.tell is not None and now - self.told > TOLD_EVERY:
            self.told = now
            self.tell(_progress(self.unit, session))


def _progress(unit: Unit, session: Session) -> Progress:
    return Progress(
        unit.path,
        unit.name,
        session.nfev,
        unit.case.budget,
        session.nit,
        session.trace.rows[-1][3],
        session.seconds,
    )


def _finished(unit: Unit, ready: Built, folder: Folder, result: Result) -> dict[str, Any]:
    result.save(folder.result)
    write_trace(folder.trace, result.trace)
    summary = {
        "objective": result.fun,
        "queries": result.nfev,
        "lmos": result.nlmo,
        "iterations": result.nit,
        "seconds": result.time,
        "status": result.status.name.lower(),
        "message": result.message,
        "settings": result.settings,
        "reasons": result.reasons,
        "seed": list(result.seed),
        "ledger": result.ledger,
        "n": ready.problem.n,
        "dim": ready.problem.dim,
        "set": repr(ready.set),
    }
    if unit.measure == "success-rate":
        summary["success-rate"] = result.trace.infos[-1]["success-rate"]
        summary["distortion"] = ready.problem.distortion(result.x)
    write_json(folder.summary, summary)
    return dict(read_json(folder.summary))


def _not_begun(unit: Unit, ready: Built, folder: Folder, why: str) -> dict[str, Any]:
    """The budget does not pay for one iteration: the run is x_0, and the reason is kept."""
    x0 = ready.set.initial_point(ready.problem.dim)
    trace, info = Trace(), {}
    if unit.measure == "success-rate":
        info["success-rate"] = ready.problem.success_rate(x0)
    value = float(ready.value(x0))
    trace.append(0, 0, 0, value, 0.0, info)
    write_trace(folder.trace, trace)
    summary = {
        "objective": value,
        **info,
        **dict.fromkeys(("queries", "lmos", "iterations"), 0),
        "seconds": 0.0,
        "status": "not begun",
        "message": why,
        "settings": unit.method.name,
        "reasons": {},
        "seed": [unit.seed],
        "ledger": {},
        "n": ready.problem.n,
        "dim": ready.problem.dim,
        "set": repr(ready.set),
    }
    write_json(folder.summary, summary)
    return dict(read_json(folder.summary))


# ---------------------------------------------------------------------- many runs

_messages: Any = None


def _begin(messages: Any) -> None:
    global _messages
    _messages = messages
    threading.Thread(target=_end_with_parent, daemon=True).start()
    kernels.prepare()


def _end_with_parent() -> None:
    """A worker whose parent was killed saves its run, as at SIGTERM, and ends too."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SECONDS_TO_SAVE)
        os._exit(1)


def _send(progress: Progress) -> None:
    _messages.put(progress)


def attempt(unit: Unit, tell: Tell | None = None) -> Outcome:
    """A run whose mistakes are sentences."""
    try:
        return Outcome(unit, execute(unit, tell))
    except MISTAKES as error:
        return Outcome(unit, None, f"{unit.name}: {_sentence(error)}")


def _sentence(error: BaseException) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _attempt_in_worker(unit: Unit) -> Outcome:
    return attempt(unit, _send)


def attempt_optimum(case: Case, folder: str, path: str, starts: int) -> dict[str, Any] | str:
    """The reference value of a case, or a sentence."""
    try:
        return optimum(case, built(case, folder), Path(path), starts)
    except MISTAKES as error:
        return f"{case.name}: {error}"


@contextmanager
def one_thread(**more: str) -> Iterator[None]:
    """One core, and more of the environment, for each process that is started meanwhile."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ZOFW_THREADS")
    given = dict.fromkeys(names, "1") | more
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_all(
    units: Sequence[Unit],
    *,
    workers: int = 2,
    tell: Tell | None = None,
    ended: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Do many runs; those that are finished already are read, not repeated.

    Parameters
    ----------
    units
        The runs.
    workers
        Processes, each with one core; 0 runs everything in this process.
    tell, ended
        Called in this process with progress and with every outcome.
    """
    outcomes: dict[str, Outcome] = {}

    def end(outcome: Outcome) -> None:
        outcomes[outcome.unit.path] = outcome
        if ended is not None:
            ended(outcome)

    waiting = []
    for unit in units:
        if Folder(unit.path).finished or workers == 0:
            end(attempt(unit, tell))
        else:
            waiting.append(unit)
    if waiting:
        plain = {}
        if kernels.compiled_before() or sum(unit.case.budget for unit in waiting) > REPAYS_COMPILING:
            kernels.prepare()  # compiled here once, read from the disk by the workers
        elif "ZOFW_KERNELS" not in os.environ:
            plain["ZOFW_KERNELS"] = "numpy"  # the same bits, sooner
        context = get_context("spawn")
        with one_thread(**plain):
            messages = context.Queue()
            pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(messages,))
            try:
                _collect(
                    {pool.submit(_attempt_in_worker, unit): unit for unit in waiting}, messages, tell, end
                )
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            pool.shutdown()
    return [outcomes[unit.path] for unit in units]


def _collect(
    running: dict[Future[Outcome], Unit], messages: Any, tell: Tell | None, end: Callable[[Outcome], None]
) -> None:
    while running:
        done, _ = wait(running, timeout=TOLD_EVERY, return_when=FIRST_COMPLETED)
        while True:
            try:
                message = messages.get_nowait()
            except queue.Empty:
                break
            if tell is not None:
                tell(message)
        for future in done:
            unit = running.pop(future)
            error = future.exception()
            end(
                Outcome(unit, None, f"{unit.name}: {type(error).__name__}: {_sentence(error)}")
                if error
                else future.result()
            )
