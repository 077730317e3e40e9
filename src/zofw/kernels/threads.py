"""Plain threads over kernels that release the interpreter's lock.

numba's own threading layers end a process that forks (GNU OpenMP) or calls from two threads at
once (workqueue); these threads do neither. Work is cut into pieces whose number and shape never
depend on the threads, so neither do results.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

THREADS_REPAY = 500_000
SHARES = 4  # ranges for each thread

_pool: tuple[int, ThreadPoolExecutor] | None = None


def count() -> int:
    """Return threads to use: ZOFW_THREADS, else OMP_NUM_THREADS, else the processors this process may run on."""
    for name in ("ZOFW_THREADS", "OMP_NUM_THREADS"):
        asked = os.environ.get(name, "")
        if asked.isdigit() and int(asked) > 0:
            return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _pool
    _pool = None


if os.name == "posix":
    os.register_at_fork(after_in_child=_forget)


def spread(task: Callable[[int, int], object], total: int, size: int, work: int) -> bool:
    """Call ``task(start, stop)`` on ranges covering 0, …, total − 1: one range, then True, or
    several on several threads.

    Threads are used where ``work``, in about nanoseconds, repays them; each then takes a few
    ranges of whole pieces of ``size``, long ones, for between two of them it waits for the
    interpreter. Nothing a task computes may depend on its range.
    """
    global _pool
    if work < THREADS_REPAY or total <= size or (helpers := min(count(), -(-total // size)) - 1) < 1:
        task(0, total)
        return True
    if _pool is None or _pool[0] != helpers:
        _pool = helpers, ThreadPoolExecutor(helpers, thread_name_prefix="zofw")
    size *= max(1, total // (size * SHARES * (helpers + 1)))
    starts = itertools.count(0, size)

    def share() -> None:
        while (start := next(starts)) < total:
            task(start, min(total, start + size))

    others = [_pool[1].submit(share) for _ in range(helpers)]
    share()
    for other in others:
        if not other.cancel():  # a helper that has not begun by now finds nothing left to do
            other.result()
    return False
