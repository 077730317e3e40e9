"""Queries answered by the workers of a dask cluster (extra ``cluster``)."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from zofw.core import Array, Problem
from zofw.extras import extra
from zofw.problems.sharded import Sharded
from zofw.run.answering.engine import ExecutorError
from zofw.run.answering.signals import Interrupted, look
from zofw.run.workers.places import Copies, Place, Replicated
from zofw.run.workers.tasks import Found, WorkerTask, work_on
from zofw.run.workers.workers import Ticket, WorkerLost

logger = logging.getLogger("zofw")

SCATTERED_BYTES = 1 << 18  # anchors larger than this go once to each worker, smaller ones with each task
COUNT_SECONDS = 1.0  # between two counts of the workers
PATIENCE_SECONDS = 5.0  # without a scheduler
SENDING_SECONDS = 300.0  # of attempts to reach all workers
WORKERS_SECONDS = 60.0  # without a worker
NAP_SECONDS = 0.1
SILENCE_SECONDS = 30.0  # between two complaints about having no workers


def begun(topic: str, job: str, problem: Problem, task: WorkerTask, anchors: Array) -> Found:
    """Return a task on a dask worker, which says first that it has begun."""
    worker = extra("distributed", "cluster").get_worker()
    worker.log_event(topic, job)
    return dataclasses.replace(work_on(problem, task, anchors), by=worker.address)


class ClientPool:
    """A :class:`dask.distributed.Client`: the problem is scattered to all workers, tasks of dead workers go to others.

    Of a problem in parts, each part is sent to, or built on, one worker or a few, and its tasks go there.
    """

    def __init__(self, client: Any, problem: Problem, token: str) -> None:
        distributed = extra("distributed", "cluster")
        if client.asynchronous:
            raise ExecutorError(
                "An asynchronous dask client cannot be waited for; make one without asynchronous=True."
            )
        self._lost = (distributed.scheduler.KilledWorker, CancelledError)
        self._client, self._topic = client, f"zofw-{token}"
        self._begun: Counter[str] = Counter()
        self._job: dict[Ticket, tuple[str, Place]] = {}
        self._counted, self._workers, self._last_seen = -COUNT_SECONDS, 0, time.monotonic()
        self._alone: float | None = None
        self._warned = 0.0
        self._point = np.empty(0)
        self._anchors: Any = None
        self._stale = False  # whether the anchors may have been lost with a worker
        self._problem = problem
        client.subscribe_topic(self._topic, self._hear)

    @functools.cached_property
    def _places(self) -> Copies | Replicated:
        """Where the problem is: sent to the workers when it is first needed."""
        if isinstance(self._problem, Sharded):
            return Copies(self._client, self._problem, self._scatter)
        return Replicated(self._problem, self._scatter)

    def _await_workers(self) -> None:
        """Until a worker is connected; an error where none comes."""
        end = time.monotonic() + WORKERS_SECONDS
        while self._client.status == "running" and not self._client.nthreads():
            look()
            if time.monotonic() > end:
                raise ExecutorError(
                    f"No dask worker has connected to the scheduler for {WORKERS_SECONDS:g} seconds. Start one, and continue."
                )
            time.sleep(NAP_SECONDS)

    def _hear(self, event: tuple[float, str]) -> None:
        self._begun[event[1]] += 1

    def _scatter(self, thing: Any, workers: list[str] | None = None) -> Any:
        """Return a copy for every worker, or for the given ones, of whom one may die while it is sent."""
        end, everywhere = time.monotonic() + SENDING_SECONDS, workers is None
        while True:
            look()
            try:
                self._await_workers()
                return self._client.scatter(thing, workers=workers, broadcast=everywhere, hash=False)
            except (ExecutorError, Interrupted):
                raise
            except Exception as error:
                self._await_scheduler()
                workers = None
                if time.monotonic() < end:
                    time.sleep(NAP_SECONDS)
                    continue
                raise ExecutorError(
                    f"Nothing could be sent to the dask workers: {type(error).__name__}: {error}. Is a worker connected to the "
                    "scheduler?"
                ) from error

    def _count(self) -> None:
        """How many threads the workers have; and parts on those that are gone would be waited for for ever."""
        now = time.monotonic()
        if now - self._counted >= COUNT_SECONDS and self._client.status == "running":
            self._counted = now
            with contextlib.suppress(OSError):  # the scheduler may be gone, which check() says
                threads = self._client.nthreads()
                self._workers = sum(threads.values())
                self._places.look(threads)
        if self._workers:
            self._last_seen = now
            return
        if now - self._warned >= SILENCE_SECONDS:
            self._warned = now
            logger.warning("No dask worker is connected; the run waits for one.")
        if now - self._last_seen > WORKERS_SECONDS:
            raise ExecutorError(
                f"No dask worker has been connected for {WORKERS_SECONDS:g} seconds. Start one, and continue the run."
            )

    @property
    def workers(self) -> int:
        self._count()
        return max(1, self._workers)

    def begin(self, anchors: Array) -> None:
        self._point, self._stale = anchors, False
        self._anchors = self._scatter(anchors) if anchors.nbytes > SCATTERED_BYTES else anchors

    def submit(self, task: WorkerTask, with_problem: bool, done: Callable[[Ticket], None]) -> Ticket:
        if self._stale:
            self.begin(self._point)
        place = self._places.find(task.part)
        job = f"{self._topic}-{uuid.uuid4().hex}"
        try:
            future: Ticket = self._client.submit(
                begun,
                self._topic,
                job,
                place.future,
                task,
                self._anchors,
                key=job,
                pure=False,
                workers=place.workers,
            )
        except Exception as error:
            raise self._gone() from error
        place.tasks.add(future)
        self._job[future] = job, place
        future.add_done_callback(functools.partial(_hand_over, done, future))
        return future

    def result(self, future: Ticket) -> tuple[Found, int]:
        job, place = self._job.pop(future)
        place.tasks.discard(future)
        try:
            found: Found = future.result()
        except Exception as error:
            if self._client.status != "running" or isinstance(error, self._lost):
                self._await_scheduler()
                self._places.lose(place)  # its only copies may have been on the worker
                self._stale = True
                raise WorkerLost from error
            raise ExecutorError(
                f"A dask worker could not do its task: {type(error).__name__}: {error}. Workers need the same zofw, and the "
                "modules that the problem uses."
            ) from error
        return found, max(0, self._begun.pop(job, 1) - 1)

    def cancel(self, future: Ticket) -> None:
        """Nothing: a task that a worker has begun could not be distinguished from one that it has not."""

    def check(self) -> None:
        if self._client.status == "running":
            self._alone = None
            self._count()
            return
        self._alone = time.monotonic() if self._alone is None else self._alone
        if self._client.status == "closed" or time.monotonic() - self._alone >= PATIENCE_SECONDS:
            raise self._gone()

    def _await_scheduler(self) -> None:
        while self._client.status != "running":
            look()
            self.check()
            time.sleep(NAP_SECONDS)

    def _gone(self) -> ExecutorError:
        return ExecutorError("The scheduler of the dask cluster is gone. Continue the run with a new client.")

    def revive(self) -> None:
        raise self._gone()

    def close(self) -> None:
        self._job.clear()
        vars(self).pop("_places", None)
        del self._anchors
        if self._client.status == "running":
            self._client.unsubscribe_topic(self._topic)


def _hand_over(done: Callable[[Ticket], None], future: Ticket, _: object) -> None:
    done(future)
