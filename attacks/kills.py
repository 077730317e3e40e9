"""SIGKILL before and after every system call that touches a file, for every method, until the run ends by itself."""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS, Sum, calls, differences, solve

CALLS = (
    "open",
    "write",
    "fsync",
    "replace",
    "rename",
    "unlink",
    "ftruncate",
    "posix_fallocate",
    "link",
    "close",
)


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    kept = Finding(
        "A killed process loses nothing: the same bits, and at most the evaluation in flight is paid again",
        f"SIGKILL before, after or in the midst of {', '.join(CALLS[:7])}, every method",
    )
    random = Finding(kept.promise, "SIGKILL at random instants, every method")
    whole = {method: solve(Sum().problem(), method) for method in METHODS}
    turns = itertools.cycle(METHODS)
    for number in until(seconds):
        method = next(turns)
        finding = kept if number % 4 else random
        with tempfile.TemporaryDirectory() as folder:
            checkpoint, paid = Path(folder) / "run.npz", Path(folder) / "paid"
            killed = 0
            while True:
                aim = (int(rng.integers(1, 60 + 40 * killed)), str(rng.choice(["before", "after", "half"])))
                code = _child(method, checkpoint, paid, aim if finding is kept else None, rng)
                if code != -signal.SIGKILL:
                    break
                killed += 1
                if killed == 12:  # it is let go on to its end
                    code = _child(method, checkpoint, paid, (10**9, "before"), rng)
                    break
            label = f"{method}, killed {killed} times"
            if code != 0:
                finding.check(False, f"{label}: exit {code}")
                continue
            result = zofw.Result.load(f"{checkpoint}.result")
            other, extra = differences(result, whole[method]), calls(paid) - whole[method].nfev
            finding.check(
                not other and 0 <= extra <= killed, f"{label}: {other or 'same'}, {extra} paid again"
            )
            finding.tried += killed - 1
    return [kept, random]


def _child(
    method: str, checkpoint: Path, paid: Path, aim: tuple[int, str] | None, rng: np.random.Generator
) -> int:
    """A fork that runs to its end or to the call it is killed at; its exit code."""
    pause = float(rng.uniform(0.0, 0.15))
    process = os.fork()
    if process == 0:
        code = 1
        try:
            if aim is not None:
                _arm(*aim, spared=str(paid))
            solve(Sum(paid, 2e-4).problem(), method, checkpoint).save(f"{checkpoint}.result")
            code = 0
        finally:
            os._exit(code)
    if aim is None:
        time.sleep(pause)
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _arm(aim: int, side: str, spared: str) -> None:
    """Kill this process at the ``aim``-th call of ``os`` that touches a file, those of the victim's own count spared."""
    count = itertools.count(1)
    own: set[int] = set()

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def fatal(*args: Any, **given: Any) -> Any:
            if (name == "open" and str(args[0]) == spared) or (
                args and args[0] in own and isinstance(args[0], int)
            ):
                out = call(*args, **given)
                own.add(out) if name == "open" else own.discard(args[0]) if name == "close" else None
                return out
            last = next(count) == aim
            if last and side == "half" and name == "write":
                call(args[0], bytes(args[1])[: len(args[1]) // 2])
            if last and side != "after":
                os.kill(os.getpid(), signal.SIGKILL)
            out = call(*args, **given)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
            return out

        return fatal

    for name in CALLS:
        if hasattr(os, name):
            setattr(os, name, wrapped(name, getattr(os, name)))
