"""Somebody who never answers: every wait looks at signals and time limits at least once a second."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np

from attacks import Finding

HEAD = """
import concurrent.futures, signal, sys, time, zofw
from attacks.victim import Sum, solve
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background ignores
"""
SLACK = 18.0  # seconds; a busy machine takes its time to begin and to end a process
SCRIPTS = {
    "an executor that never answers, SIGINT": """
class Deaf(concurrent.futures.Executor):
    def submit(self, fn, /, *args, **given):
        return concurrent.futures.Future()
print("ready", flush=True)
solve(Sum().problem(), "zo-fw", workers=Deaf())
""",
    "a Dask cluster without workers, SIGINT": """
from dask.distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, cluster.get_client() as client:
        print("ready", flush=True)
        solve(Sum().problem(), "zo-fw", workers=client)
""",
    "an evaluation that never ends, timeout=1": """
print("ready", flush=True)
try:
    solve(zofw.problems.BlackBox(lambda x, i: time.sleep(600) or 0.0, dim=6, n=3), "zo-fw", options={"timeout": 1.0})
except zofw.EvaluationError as error:
    sys.exit(4)
""",
    "an executor that never answers, timeout=1": """
class Deaf(concurrent.futures.Executor):
    def submit(self, fn, /, *args, **given):
        return concurrent.futures.Future()
print("ready", flush=True)
try:
    solve(Sum().problem(), "zo-fw", workers=Deaf(), options={"timeout": 1.0})
except (zofw.EvaluationError, RuntimeError) as error:
    sys.exit(4)
""",
}


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    finding = Finding(
        "No wait outlasts a signal or a time limit by more than seconds",
        "executors, clusters and objectives that never answer",
    )
    for name, script in SCRIPTS.items():
        code = HEAD + script
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1.0)
        begun = time.monotonic()
        if "SIGINT" in name:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(SLACK + 2.0)
            finding.check(True, name)
        except subprocess.TimeoutExpired:
            finding.check(False, f"{name}: still waiting after {time.monotonic() - begun:.0f} s")
            process.kill()
            process.wait()
        process.stdout.close()
    return [finding]
