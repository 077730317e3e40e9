"""What ``workers=`` may be: a number, for which a pool is made here, an executor, a Dask client, or a function like ``map``."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from zofw.core import Problem
from zofw.extras import extra
from zofw.problems.abilities import abilities
from zofw.run.answering.engine import Engine, Here
from zofw.run.spec import size
from zofw.run.workers import tasks
from zofw.run.workers.workers import Executor, ExecutorLike, OwnExecutor, Scatters, as_engine

GATHER_SECONDS = 0.002  # that tasks for one call of a map may come apart
MapLike: TypeAlias = Callable[..., Iterable[object]]
Call: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]
WorkersLike: TypeAlias = int | ExecutorLike | MapLike


class Crew(NamedTuple):
    """The number of workers, the engine that has their work done, and a sentence about them for ``reasons``."""

    number: int
    engine: Engine
    reason: str


def crew(workers: WorkersLike, problem: Problem, timeout: float | None) -> Crew:
    """Return the workers that ``workers=`` means."""
    if isinstance(workers, (int, float, str, np.integer)):
        number = size("workers", workers)
        if problem.n == 1 and abilities(problem).cells is None:
            return Crew(number, Here(problem, timeout), f"{number} points in one call of the function")
        make, reason = own_pool(number, problem)
        return Crew(number, as_engine(make, problem, timeout), reason)
    if isinstance(workers, (Executor, Scatters)):
        executor: ExecutorLike = workers
    elif not callable(workers):
        advice = "write workers=pool.map" if "map" in dir(workers) else "write workers=8"
        raise TypeError(
            "workers should be a number, a concurrent.futures.Executor, a dask.distributed.Client, or a function like map; "
            f"got {type(workers).__name__}; {advice}."
        )
    elif _takes_arguments(workers):
        executor = MapExecutor(cast(MapLike, workers))
    else:
        executor = cast(Callable[[], OwnExecutor], workers)
    engine = as_engine(executor, problem, timeout)
    number = max(1, engine.pool.workers)
    name = executor.name if isinstance(executor, MapExecutor) else type(executor).__name__
    return Crew(number, engine, f"{number} of {name}")


def own_pool(number: int, problem: Problem) -> tuple[Callable[[], OwnExecutor], str]:
    """Return a function that makes a pool, and why of processes or of threads."""
    try:
        extra("cloudpickle", "cluster").dumps(problem)
    except ImportError as error:
        reason = str(error)
    except Exception as error:  # whatever a class of the caller raises when it is pickled
        reason = f"the function cannot be sent to another process ({type(error).__name__}: {error})"
    else:
        return lambda: OwnPool(number), f"{number} processes"
    return lambda: ThreadPoolExecutor(number), f"{number} threads: {reason}"


def _takes_arguments(function: Callable[..., object]) -> bool:
    """Return True for a function like map, False for one that makes an executor."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # a built-in without a signature
        return True
    return False


class OwnPool(ProcessPoolExecutor):
    """Processes that do not run the script again when they start: what it defines is sent to them."""

    def __init__(self, number: int) -> None:
        server = "forkserver" in multiprocessing.get_all_start_methods()
        start = multiprocessing.get_context("forkserver" if server else "spawn")
        if server:  # unless it is running already, it imports the library once for all
            start.set_forkserver_preload([tasks.__name__])
        super().__init__(number, mp_context=start)

    def _spawn_process(self) -> None:
        with _without_script():
            super()._spawn_process()  # type: ignore[misc]


@contextmanager
def _without_script() -> Iterator[None]:
    main = sys.modules["__main__"]
    hidden: dict[str, object] = {
        name: vars(main).pop(name) for name in ("__file__", "__spec__") if name in vars(main)
    }
    vars(main)["__spec__"] = None
    try:
        yield
    finally:
        vars(main).update(hidden)


class MapExecutor:
    """An executor behind a function like ``map``: what is submitted together is mapped together, by a thread."""

    def __init__(self, mapped: MapLike) -> None:
        pool = vars(mapped.__self__) if isinstance(mapped, MethodType) else {}
        count = pool.get("_max_workers") or pool.get("_processes") or os.cpu_count() or 1
        self._max_workers, self._mapped = int(count), mapped
        self.name = mapped.__qualname__ if isinstance(mapped, (MethodType, FunctionType)) else "map"
        self._waiting: queue.SimpleQueue[tuple[Future[object], Call]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="zofw-map").start()

    def submit(self, fn: Callable[..., object], /, *arguments: object) -> Future[object]:
        future: Future[object] = Future()
        self._waiting.put((future, (fn, arguments)))
        return future

    def _serve(self) -> None:
        while True:
            calls = [self._waiting.get()]
            try:
                while len(calls) < self._max_workers:
                    calls.append(self._waiting.get(timeout=GATHER_SECONDS))
            except queue.Empty:
                pass
            calls = [call for call in calls if call[0].set_running_or_notify_cancel()]
            try:
                found = list(self._mapped(_apply, [call for _, call in calls]))
                for (future, _), result in zip(calls, found, strict=True):
                    future.set_result(result)
            except BaseException as error:
                for future, _ in calls:
                    if not future.done():
                        future.set_exception(error)


def _apply(call: Call) -> object:
    function, arguments = call
    return function(*arguments)
