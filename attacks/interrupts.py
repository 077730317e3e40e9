"""Ctrl-C to a run and its whole process group, whatever the pool: what is in hand is kept, and the total stays exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from attacks import Finding, until
from attacks.victim import BUDGET, Sum, calls, differences, solve

METHODS = ("zsfw-dvr", "zo-fw", "explore-correct", "interpolation")
POOLS = {
    "no pool": "contextlib.nullcontext()",
    "a warm pool": "warm(concurrent.futures.ProcessPoolExecutor(2))",
    "a spawned pool": "concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('spawn'))",
    "a pool of threads": "concurrent.futures.ThreadPoolExecutor(2)",
    "loky": "loky.ProcessPoolExecutor(2)",
}
PATIENCE = 60.0  # seconds
SCRIPT = """
import concurrent.futures, contextlib, multiprocessing, signal
from pathlib import Path
import loky
from attacks.victim import Sum, solve
def warm(pool):
    list(pool.map(abs, range(8)))
    return pool
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background ignores
    with {pool} as pool:
        try:
            result = solve(Sum(Path("paid"), 0.01).problem(), {method!r}, Path("run.npz"), workers=pool)
        except KeyboardInterrupt as stop:
            result = stop.result
        Path("ended").write_text(result.status.name)
"""


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    finding = Finding(
        "After Ctrl-C, answers in hand are kept and charged; the resumed run has the same bits, its calls are within the budget",
        f"SIGINT to the process group, with {', '.join(POOLS)}",
    )
    whole = {method: solve(Sum().problem(), method) for method in METHODS}
    for number in until(seconds):
        pool, method = list(POOLS)[number % len(POOLS)], METHODS[rng.integers(len(METHODS))]
        with tempfile.TemporaryDirectory() as folder:
            paid, checkpoint, ended = (Path(folder) / name for name in ("paid", "run.npz", "ended"))
            hung = _interrupt(SCRIPT.format(pool=POOLS[pool], method=method), paid, rng.uniform(0.0, 0.6))
            over = ended.exists() or calls(paid) == whole[method].nfev  # Ctrl-C may come just behind the end
            result = solve(Sum(paid).problem(), method, checkpoint)
            other = differences(result, whole[method], charged="failed")
            finding.check(
                not other
                and not hung
                and over
                and calls(paid) <= min(result.nfev + result.nrecomputed, BUDGET),
                f"{pool}, {method}: {other or 'same'}, {calls(paid)} calls, nfev {result.nfev}, nrecomputed {result.nrecomputed}, "
                f"{'it hung' if hung else ended.read_text() if ended.exists() else 'no result'}",
            )
    return [finding]


def _interrupt(script: str, paid: Path, delay: float) -> bool:
    """Ctrl-C to a process of its own group some time after its first evaluation; whether it hangs."""
    path = os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=paid.parent, env=os.environ | {"PYTHONPATH": path}, start_new_session=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    begun = time.monotonic()
    while not paid.exists() and time.monotonic() - begun < PATIENCE:
        time.sleep(0.02)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(PATIENCE)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
