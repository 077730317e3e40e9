"""Runs: one at a time in its directory, many at a time in worker processes with one core each."""

from __future__ import annotations

import dataclasses
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.queues import Queue
from pathlib import Path
from typing import TypedDict

from zofw import kernels
from zofw.core import Array, ConvexSet, EvaluationError, MethodLike, Problem, Task
from zofw.problems import mean_value
from zofw.registry import UnknownName
from zofw.run import BudgetError, LockedError, Session, Status, Trace
from zofw.run.answering.signals import Signals
from zofw.run.minimize import solve
from zofw.run.record.result import Result
from zofw_paper.cases import NO_CODE, Built, Code, Optimum, build_case, optimum
from zofw_paper.methods import build
from zofw_paper.provenance import environment
from zofw_paper.records import Plain, plain
from zofw_paper.spec import Case, Measure, Method, fingerprint
from zofw_paper.store import Folder, StoreError, read_json, read_record, write_json, write_trace

REPAYS_COMPILING = 30_000_000  # queries of all runs; below, plain code is done sooner than the compiler
SECONDS_BETWEEN_REPORTS = 0.25  # seconds between two messages of a worker
SECONDS_TO_SAVE = 10.0  # for a worker whose parent is gone
MISTAKES = (
    ValueError,
    TypeError,
    ImportError,
    LockedError,
    EvaluationError,
    UnknownName,
)  # of whoever wrote the specification


class AskedOfMinimize(TypedDict):
    """Arguments of :func:`zofw.minimize` that a specification decides."""

    fun: Problem
    set: ConvexSet
    method: MethodLike
    structure: bool
    budget: int
    max_time: float | None
    rng: int
    diagnose: int
    progress: bool


@dataclass(frozen=True)
class Unit:
    """One run: a method with a learning rate on a case with a seed, in a directory."""

    path: str
    case: Case
    method: Method
    lr: float | None
    seed: int
    measure: Measure
    diagnose: int
    max_time: float | None = None
    code: Code = NO_CODE

    @property
    def name(self) -> str:
        rate = "" if self.lr is None else f", lr {self.lr:g}"
        return f"{self.case.name}, {self.method.label}{rate}, seed {self.seed}"

    def asked(self, ready: Built) -> AskedOfMinimize:
        """What minimize is asked for this run, but for where it is kept and who watches."""
        task = Task(ready.set, ready.problem.dim, ready.problem.n, budget=self.case.budget)
        return {
            "fun": ready.problem,
            "set": ready.set,
            "method": build(self.method, ready.names(self.case, self.lr), task, self.lr),
            "structure": self.method.structure,
            "budget": self.case.budget,
            "max_time": self.max_time,
            "rng": self.seed,
            "diagnose": self.diagnose,
            "progress": False,
        }

    def document(self) -> dict[str, Plain]:
        """What spec.json says; the fingerprint is of what decides the numbers. A folder of runs names no code."""
        bare = dataclasses.replace(self, path="", code=NO_CODE)
        case = dataclasses.replace(self.case, title="", optional=False)
        method = dataclasses.replace(self.method, group="paper", grid=())
        decides = [dataclasses.replace(bare, case=case, method=method), self.code.digest]
        content = plain(bare)
        assert isinstance(content, dict)
        del content["path"], content["code"]
        return {**content, "fingerprint": fingerprint(decides)}

    @classmethod
    def read(cls, path: Path, code: Code = NO_CODE) -> Unit:
        """Return the run that a directory was made for."""
        file = path / "spec.json"
        content = {**read_json(file), "path": str(path)}
        content.pop("fingerprint", None)
        return dataclasses.replace(read_record(cls, file, "the specification of a run", content), code=code)


@dataclass(frozen=True)
class UnitProgress:
    """How far a run is."""

    path: str
    name: str
    spent: int
    budget: int
    iterations: int
    objective: float
    seconds: float


@dataclass(frozen=True)
class Ended:
    """The end of a run in a few numbers: what result.json says."""

    objective: float
    queries: int
    lmos: int
    iterations: int
    seconds: float
    status: str
    message: str
    settings: str
    reasons: Mapping[str, str]
    seed: tuple[int, ...]
    ledger: Mapping[str, int]
    n: int
    dim: int
    set: str
    success_rate: float | None = None
    distortion: float | None = None

    @classmethod
    def read(cls, folder: Folder) -> Ended:
        return read_record(cls, folder.summary, "the end of a run")


@dataclass(frozen=True)
class UnitOutcome:
    """How a run ended, or a sentence about what went wrong."""

    unit: Unit
    result: Ended | None
    error: str = ""


@dataclass(frozen=True)
class Watcher:
    """Who is told what happens."""

    stage: Callable[[str, int], None] = lambda words, runs: None
    progress: Callable[[UnitProgress], None] = lambda progress: None
    outcome: Callable[[UnitOutcome], None] = lambda outcome: None


_listener = Watcher()  # in a worker: whoever started it
_kept: dict[str, Built] = {}  # the last problem that was built, for the next run on it


def built(case: Case, code: Code) -> Built:
    """Return the problem of a case; that of the run before where it is the same."""
    key = fingerprint([case.problem, case.data, dict(case.arguments), dict(case.set), code.digest])
    if key not in _kept:
        _kept.clear()
        _kept[key] = build_case(case, code)
    return _kept[key]


def execute(unit: Unit, tell: Callable[[UnitProgress], None] | None = None) -> UnitOutcome:
    """Do one run in its directory, from where it was left; its mistakes are sentences."""
    folder = Folder(unit.path)
    try:
        _claim(folder, unit)
        if folder.finished:
            return UnitOutcome(unit, Ended.read(folder))
        ready = built(unit.case, unit.code)
        watch = _Watch(unit, ready, tell or _listener.progress)
        asked = unit.asked(ready)
        with Signals():
            result = solve(**asked, observers=[watch], checkpoint=folder.checkpoint, resume="auto")
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
        watch.annotate(result.trace, result.x)
        _finished(ready, folder, result)
    except BudgetError as error:
        _not_begun(watch, folder, str(error))
    except MISTAKES as error:
        return UnitOutcome(unit, None, f"{unit.name}: {_sentence(error)}")
    return UnitOutcome(unit, Ended.read(folder))


def _sentence(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _claim(folder: Folder, unit: Unit) -> None:
    """Make the directory this run's own, or refuse one that another specification has filled."""
    document = unit.document()
    if folder.spec.is_file():
        found = read_json(folder.spec).get("fingerprint")
        if found != document["fingerprint"]:
            raise StoreError(
                f"{folder.path} holds a run of another specification ({found}, now {document['fingerprint']}). "
                "Choose another --out, name the --code it was made with, or remove it."
            )
        return
    write_json(folder.environment, environment(unit.method.name))
    write_json(folder.spec, document)


class _Watch:
    """What goes on the trace beside the objective, and messages about progress."""

    def __init__(self, unit: Unit, ready: Built, tell: Callable[[UnitProgress], None]) -> None:
        self.unit, self.ready, self.tell = unit, ready, tell
        self.last_report = 0.0

    def annotate(self, trace: Trace, x: Array) -> None:
        """Put the success rate on the first row and the last, where they have none yet; diagnosis."""
        if self.unit.measure == "success-rate":
            start = self.ready.set.initial_point(self.ready.problem.dim)
            for info, point in ((trace.infos[0], start), (trace.infos[-1], x)):
                if "success-rate" not in info:
                    info["success-rate"] = self.ready.problem.success_rate(point)

    def __call__(self, session: Session) -> None:
        if session.trace.rows[-1][0] == session.nit:
            with session.clock:
                self.annotate(session.trace, session.x)
        now = time.monotonic()
        if now - self.last_report > SECONDS_BETWEEN_REPORTS:
            self.last_report = now
            unit, objective = self.unit, session.trace.rows[-1][3]
            spent = session.nfev, unit.case.budget, session.nit
            self.tell(UnitProgress(unit.path, unit.name, *spent, objective, session.seconds))


def _finished(ready: Built, folder: Folder, result: Result) -> None:
    result.save(folder.result)
    write_trace(folder.trace, result.trace)
    rate = result.trace.infos[-1].get("success-rate")
    moved = None if rate is None else ready.problem.distortion(result.last)
    ended = Ended(
        float(result.trace.objective[-1]), result.nfev, result.nlmo, result.nit, result.time, result.status.name.lower(),
        result.message, result.settings, result.reasons, tuple(result.seed), result.ledger, *ready.sizes, rate, moved,
    )  # fmt: skip
    write_json(folder.summary, ended)
    for path in folder.path.glob(f"{folder.checkpoint.name}*"):
        path.unlink()  # a journal of 10¹⁰ queries has a hundred megabytes


def _not_begun(watch: _Watch, folder: Folder, why: str) -> None:
    """The budget does not pay for one iteration: the run is x_0, and the reason is kept."""
    unit, ready, trace = watch.unit, watch.ready, Trace()
    x0 = ready.set.initial_point(ready.problem.dim)
    value = mean_value(ready.problem, x0)
    trace.append(0, 0, 0, value, 0.0, {})
    watch.annotate(trace, x0)
    write_trace(folder.trace, trace)
    end = Ended(value, 0, 0, 0, 0.0, "not begun", why, unit.method.name, {}, (unit.seed,), {}, *ready.sizes)
    write_json(folder.summary, dataclasses.replace(end, success_rate=trace.infos[0].get("success-rate")))


def find_optimum(case: Case, code: Code, path: Path, starts: int) -> Optimum | str:
    """Return the reference value of a case, or a sentence."""
    try:
        return optimum(case, built(case, code), path, starts)
    except MISTAKES as error:
        return f"{case.name}: {error}"


# ---------------------------------------------------------------------- many runs


def _begin(messages: Queue[UnitProgress]) -> None:
    global _listener
    _listener = Watcher(progress=messages.put)
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


def run_all(units: Sequence[Unit], *, workers: int = 2, watcher: Watcher = Watcher()) -> list[UnitOutcome]:
    """Do many runs; those that are finished already are read, not repeated.

    Parameters
    ----------
    units
        The runs.
    workers
        Processes, each with one core; 0 runs everything in this process.
    watcher
        Told in this process of progress and of every outcome.
    """
    outcomes: dict[str, UnitOutcome] = {}

    def end(outcome: UnitOutcome) -> None:
        outcomes[outcome.unit.path] = outcome
        watcher.outcome(outcome)

    waiting = []
    for unit in units:
        if Folder(unit.path).finished or workers == 0:
            end(execute(unit, watcher.progress))
        else:
            waiting.append(unit)
    if waiting:
        plain_code = {}
        if kernels.compiled_before() or sum(unit.case.budget for unit in waiting) > REPAYS_COMPILING:
            kernels.prepare()  # compiled here once, read from the disk by the workers
        elif "ZOFW_KERNELS" not in os.environ:
            plain_code["ZOFW_KERNELS"] = "numpy"  # the same bits, sooner
        context = get_context("spawn")
        with one_thread(**plain_code):
            messages: Queue[UnitProgress] = context.Queue()
            pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(messages,))
            try:
                running = {pool.submit(execute, unit): unit for unit in waiting}
                _collect(running, messages, watcher.progress, end)
            except BaseException:
                for process in [*(pool._processes or {}).values()]:
                    process.terminate()  # each saves its run
                pool.shutdown(cancel_futures=True)
                raise
            finally:
                messages.close()
            pool.shutdown()
    return [outcomes[unit.path] for unit in units]


def _collect(
    running: dict[Future[UnitOutcome], Unit],
    messages: Queue[UnitProgress],
    tell: Callable[[UnitProgress], None],
    end: Callable[[UnitOutcome], None],
) -> None:
    while running:
        done, _ = wait(running, timeout=SECONDS_BETWEEN_REPORTS, return_when=FIRST_COMPLETED)
        while True:
            try:
                tell(messages.get_nowait())
            except queue.Empty:
                break
        for future in done:
            unit, error = running.pop(future), future.exception()
            words = f"{unit.name}: {type(error).__name__}: {_sentence(error)}" if error else ""
            end(UnitOutcome(unit, None, words) if error else future.result())
