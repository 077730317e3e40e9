"""An exception of any kind at any call: what was paid is charged, the run resumes, and the budget holds."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS

KINDS: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("out of order"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": lambda: SystemExit(2),
    "CancelledError": asyncio.CancelledError,
    "GeneratorExit": GeneratorExit,
    "BaseExceptionGroup": lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("one")]),
}
CENTRES = np.linspace(-0.4, 0.6, 18).reshape(3, 6)


class Failing:
    """Squared distances that count their calls; the call of one number raises."""

    def __init__(self, at: int, kind: Callable[[], BaseException]) -> None:
        self.at, self.kind, self.made = at, kind, 0
        self._lock = threading.Lock()

    def __call__(self, x: np.ndarray, i: int = 0) -> float:
        with self._lock:
            self.made += 1
            call = self.made
        if call == self.at:
            raise self.kind()
        return float(((x - CENTRES[i]) ** 2).sum())


def broken(method: str, n: int, budget: int, at: int, kind: str, threads: int) -> str:
    """What is wrong with a run that an exception ends at one call and that is then resumed; or nothing."""
    f = Failing(at, KINDS[kind])
    given = {"n": n} if n > 1 else {}
    problem = zofw.problems.BlackBox(f, dim=6, **given)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = Path(folder) / "run.npz"
        workers = stack.enter_context(ThreadPoolExecutor(threads)) if threads else 1
        try:
            result = zofw.minimize(
                problem,
                zofw.L2Ball(1.0),
                method=method,
                budget=budget,
                rng=0,
                checkpoint=path,
                workers=workers,
            )
            failed = result.ledger["failed"] > 0  # and the budget does not pay for it again
            interrupted = result.status is zofw.Status.INTERRUPTED or failed
        except zofw.BudgetError:
            return ""
        except BaseException as error:
            wanted = type(f.kind())
            if not isinstance(error, (wanted, zofw.EvaluationError)):
                return f"raised {type(error).__name__}: {error}"
            interrupted = True
        if at <= f.made and not interrupted:
            return f"ended {result.status.name} although call {at} raised"
        if interrupted:
            for _ in range(2):
                result = zofw.resume(path, problem, workers=workers)
    if result.nfev != f.made:
        return f"{f.made} calls, nfev {result.nfev}"
    if f.made > budget:
        return f"{f.made} calls with a budget of {budget}"
    if sum(result.ledger.values()) != result.nfev:
        return f"the ledger has {sum(result.ledger.values())}, nfev is {result.nfev}"
    return ""


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    finding = Finding(
        "After an exception at any call the run resumes; nfev is the number of calls, at most the budget",
        f"{', '.join(KINDS)} at a call drawn at random, in process and in two threads",
    )
    cells = list(itertools.product(METHODS, KINDS, (0, 2)))
    for number in until(seconds):
        method, kind, threads = cells[rng.permutation(len(cells))[number % len(cells)]]
        n, budget = (1, 7) if rng.random() < 0.3 else (3, 120) if rng.random() < 0.7 else (3, 400)
        at = int(rng.integers(1, budget + 1))
        what = broken(method, n, budget, at, kind, threads)
        finding.check(
            not what, f"{method}, n={n}, budget {budget}, {kind} at {at}, {threads} threads: {what}"
        )
    return [finding]
