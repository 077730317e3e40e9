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
from typing import Any, NamedTuple, TypeAlias

from zofw.core import Problem
from zofw.extras import extra
from zofw.run.spec import size
from zofw.run.workers import tasks
from zofw.run.workers.workers import Executor, ExecutorLike, Scatters, Workers, as_engine

GATHER_SECONDS = 0.002  # that tasks for one call of a map may come apart
MapLike: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
WorkersLike: TypeAlias = int | ExecutorLike | MapLike


class Crew(NamedTuple):
    """The number of workers, the engine that has their work done, and a sentence about them for ``reasons``."""

    number: int
    engine: Workers
    reason: str


def crew(workers: WorkersLike, problem: Problem, timeout: float | None) -> Crew:
    """Return the workers that ``workers=`` means."""
    if isinstance(workers, (bool, float, str)) or hasattr(workers, "__index__"):
        number = size("workers", workers)
        make, reason = own_pool(number, problem)
        return Crew(number, as_engine(make, problem, timeout), reason)
    executor: Any = workers
    if not isinstance(workers, (Executor, Scatters)) and callable(workers) and _takes_arguments(workers):
        executor = MapExecutor(executor)
    elif not isinstance(workers, (Executor, Scatters)) and not callable(workers):
        advice = "write workers=pool.map" if hasattr(workers, "map") else "write workers=8"
        raise TypeError(
            "workers should be a number, a concurrent.futures.Executor, a dask.distributed.Client, or a function like map; "
            f"got {type(workers).__name__}; {advice}."
        )
    engine = as_engine(executor, problem, timeout)
    number = max(1, engine.pool.workers)
    name = type(workers).__name__ if executor is workers else getattr(workers, "__qualname__", "map")
    return Crew(number, engine, f"{number} of {name}")


def own_pool(number: int, problem: Problem) -> tuple[Callable[[], Any], str]:
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
        start: Any = multiprocessing.get_context("forkserver" if server else "spawn")
        if server:  # unless it is running already, it imports the library once for all
            start.set_forkserver_preload([tasks.__name__])
        super().__init__(number, mp_context=start)

    def _spawn_process(self) -> None:
        with _without_script():
            super()._spawn_process()  # type: ignore[misc]


@contextmanager
def _without_script() -> Iterator[None]:
    main = sys.modules["__main__"]
    hidden: dict[str, Any] = {
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
        pool = getattr(mapped, "__self__", None)
        counts = (getattr(pool, name, None) for name in ("_max_workers", "_processes"))
        self._max_workers = next(filter(None, counts), os.cpu_count() or 1)
        self._mapped = mapped
        self._waiting: queue.SimpleQueue[tuple[Future[object], tuple[Any, ...]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="zofw-map").start()

    def submit(self, fn: Callable[..., object], /, *arguments: object) -> Future[object]:
        future: Future[object] = Future()
        self._waiting.put((future, (fn, *arguments)))
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


def _apply(call: tuple[Any, ...]) -> object:
    return call[0](*call[1:])
