"""Measuring on a machine that others use too: both sides take turns, and what is told is a ratio with its spread."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass

import numpy as np

PAUSE = 0.05


@dataclass
class Timing:
    """Quartiles of the seconds of two sides that took turns; ``ratio`` is that of the pairs.

    ``cpu`` is the same ratio of processor seconds over all threads, which other users of the machine disturb less.
    """

    theirs: list[float]
    ours: list[float]
    ratio: list[float]
    cpu: list[float]

    def row(self):
        """As a dictionary."""
        return asdict(self)


def quartiles(samples):
    """Lower quartile, median, upper quartile."""
    return [float(q) for q in np.percentile(samples, [25, 50, 75])]


def seconds(step, repeat):
    """Wall and processor time of one step, averaged over ``repeat`` of them."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeat):
        step()
    return (time.perf_counter() - wall) / repeat, (time.process_time() - cpu) / repeat


def take_turns(theirs, ours, *, rounds, repeat_theirs=1, repeat_ours=1):
    """Alternate the two sides, after one unmeasured step of each; a pause lets the BLAS's spinning threads fall asleep."""
    theirs()
    ours()
    gc.collect()
    samples = []
    for _ in range(rounds):
        samples.append([seconds(theirs, repeat_theirs)])
        time.sleep(PAUSE)
        samples[-1].append(seconds(ours, repeat_ours))
    (a, a_cpu), (b, b_cpu) = np.array(samples).transpose(1, 2, 0)
    return Timing(quartiles(a), quartiles(b), quartiles(a / b), quartiles(a_cpu / b_cpu))


def resident():
    """Resident memory now and at its peak, in bytes, where the system tells."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return tuple(int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


def peak_memory(step):
    """Bytes that one step needs above what stood before it: resident, or allocated where that is more.

    Pages that an earlier step left to the allocator are resident already, so that the first alone can be too little.
    """
    gc.collect()
    tracemalloc.start()
    step()
    allocated = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gc.collect()
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before, _ = resident()
        step()
        return max(allocated, resident()[1] - before)
    except OSError:
        return allocated


def peak_in_child(case, side):
    """The peak of one side of a case in a process of its own."""
    out = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", "--peak", case, side],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"ZOFW_KERNELS": "numba"},
    ).stdout
    return int(json.loads(out)["peak"])
