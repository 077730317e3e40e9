"""``python -m benchmarks.way``: how many files of zofw, and changes of file, lie on the way of a run's usual events.

Counted are the calls of functions in ``src/zofw`` by one thread, in their order: the files they are in, and how often the
next call is in another file than the last. Compiled kernels make no such calls.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import zofw
from zofw.problems import Logistic, evaluate
from zofw.run.answering.drive import Answering
from zofw.run.answering.engine import Here
from zofw.run.answering.policy import Retry
from zofw.run.answering.signals import Signals
from zofw.run.workers.workers import as_engine

SOURCE = str(Path(zofw.__file__).parent)


class Way:
    """The files through which calls pass."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def __call__(self, frame, event, argument) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            self.files.append(frame.f_code.co_filename.removeprefix(SOURCE))

    def __str__(self) -> str:
        changes = sum(a != b for a, b in zip(self.files, self.files[1:], strict=False))
        return f"{len(set(self.files)):>3} files {changes:>4} changes"

    @contextmanager
    def watched(self):
        """Count what is called meanwhile."""
        sys.setprofile(self)
        try:
            yield self
        finally:
            sys.setprofile(None)


def problem() -> Logistic:
    rng = np.random.default_rng(0)
    return Logistic(rng.standard_normal((200, 20)), np.where(rng.random(200) < 0.5, -1.0, 1.0))


def ahead(iterations: int) -> zofw.Session:
    """A session of zsfw-dvr with an open query."""
    f = problem()
    session = zofw.Session(
        zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zsfw-dvr", budget=10**6, rng=0, diagnose=0
    )
    while session.nit < iterations:
        query = session.ask()
        session.tell(query, evaluate(f, query))
    session.ask()
    return session


def iteration() -> Way:
    """One iteration of zsfw-dvr on a linear model, as minimize runs it."""
    f, session = problem(), ahead(4)
    answering = Answering(f, Here(f), Retry(0), Signals())
    with Way().watched() as way:
        while session.run.nit == 4:  # from its query to that of the next
            answering.answer(session)
    return way


def worker_query() -> Way:
    """One query answered by a worker, from the query to its answer."""
    f, session = problem(), ahead(3)
    with ThreadPoolExecutor(1) as pool:
        answering = Answering(f, as_engine(pool, f, None), Retry(0), Signals())
        answering.answer(session)
        with Way().watched() as way:
            answering.answer(session)
    return way


def checkpoint() -> Way:
    """One checkpoint."""
    session = ahead(3)
    with tempfile.TemporaryDirectory() as folder, Way().watched() as way:
        session.checkpoint(f"{folder}/run.npz")
    return way


def resume() -> Way:
    """One resumption of that checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        ahead(3).checkpoint(f"{folder}/run.npz")
        with Way().watched() as way:
            zofw.Session.resume(f"{folder}/run.npz")
    return way


EVENTS: dict[str, Callable[[], Way]] = {
    "iteration": iteration,
    "worker query": worker_query,
    "checkpoint": checkpoint,
    "resume": resume,
}


def main() -> None:
    for name, event in EVENTS.items():
        way = event()
        sys.stdout.write(f"{name:<14}{way}\n")
        if "--files" in sys.argv:
            sys.stdout.writelines(f"    {file}\n" for file in dict.fromkeys(way.files))


if __name__ == "__main__":
    main()
