"""Runs in processes of their own, for the tests to kill.

    python killable.py run METHOD CHECKPOINT PAID DELAY      one run; its result goes to CHECKPOINT.result
    python killable.py kill FOLDER KILLS SEED METHOD …       runs killed at random instants until they end; a JSON report

Every evaluation of a component appends one byte to the file PAID before it answers.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import zofw
from zofw.problems import BlackBox
from zofw.run.files import store

sys.path.append(str(Path(__file__).parents[2]))
from attacks.victim import BUDGET, DIM, N, calls, differences, killed, solve  # noqa: F401
from attacks.victim import Sum as Counted


class Slow(BlackBox):
    """The same with a gradient, for the first-order method."""

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return np.mean([A.T @ (A @ x - y) for A, y in zip(self.fun.A, self.fun.y, strict=True)], axis=0)


def problem(paid: Path | None = None, delay: float = 0.0) -> BlackBox:
    return Slow(Counted(paid, delay), dim=DIM, n=N)


def run(method: str, checkpoint: Path | None, f: BlackBox, **settings: object) -> zofw.Result:
    return solve(f, method, checkpoint, **({"diagnose": 0} | settings))


def child(method: str, checkpoint: Path, paid: Path, delay: float) -> int:
    """The process id of a fork that runs to its end, or as far as it gets."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            result = run(method, checkpoint, problem(paid, delay))
            result.save(f"{checkpoint}.result")
            code = 0
        finally:
            os._exit(code)
    return process


def kill_until_done(method: str, checkpoint: Path, most: int, rng: np.random.Generator) -> dict[str, object]:
    """Start one run again and again, SIGKILL it at random instants, ``most`` times at most, until it ends."""
    whole, paid = run(method, None, problem()), checkpoint.with_suffix(".paid")
    delay, hit, code = 5e-4, 0, -signal.SIGKILL
    duration = 0.05 + delay * whole.nfev / 3
    while code == -signal.SIGKILL:
        store.CHECKPOINT_SECONDS = float(rng.choice([0.0, 0.02, 10.0]))
        process = child(method, checkpoint, paid, delay)
        if hit < most:
            time.sleep(rng.uniform(0.0, duration))
            os.kill(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        hit += code == -signal.SIGKILL
    result = zofw.Result.load(f"{checkpoint}.result")
    return {
        "method": method,
        "exit": code,
        "hit": int(hit),
        "differs": differences(result, whole),
        "nfev": whole.nfev,
        "paid": calls(paid),
        "left": sorted(path.name for path in checkpoint.parent.iterdir() if path.name.startswith(".")),
    }


def kill_often(method: str, folder: Path, kills: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """As many runs as it takes to kill ``kills`` times."""
    reports: list[dict[str, object]] = []
    while (left := kills - sum(int(str(report["hit"])) for report in reports)) > 0:
        reports.append(kill_until_done(method, folder / f"{method}-{len(reports)}.npz", left, rng))
    return reports


if __name__ == "__main__":
    if sys.argv[1] == "run":
        logging.basicConfig()
        method, checkpoint, paid = sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
        try:
            result = run(method, checkpoint, problem(paid, float(sys.argv[5])))
        except (KeyboardInterrupt, SystemExit) as stop:
            stop.result.save(f"{checkpoint}.result")
            raise
        result.save(f"{checkpoint}.result")
        sys.exit()
    folder, kills = Path(sys.argv[2]), int(sys.argv[3])
    generator = np.random.default_rng(int(sys.argv[4]))
    reports = [report for method in sys.argv[5:] for report in kill_often(method, folder, kills, generator)]
    sys.stdout.write(json.dumps(reports))
