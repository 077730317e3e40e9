"""The run that is attacked: a small finite sum that writes down every call, with any method."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import zofw

DIM, N, BUDGET, ITERATIONS = 6, 3, 500, 5
METHODS = [name for name in zofw.methods() if name != "frank-wolfe"]  # which asks for gradients, not values


class Sum:
    """(1/n) Σ ½‖A_i x − y_i‖², one component at a time; each call appends a byte to the file ``paid``, if there is one."""

    def __init__(self, paid: Path | None = None, delay: float = 0.0, n: int = N, dim: int = DIM) -> None:
        rng = np.random.default_rng(0)
        self.A, self.y = rng.standard_normal((n, 3, dim)), rng.standard_normal((n, 3))
        self.paid, self.delay, self.n, self.dim = paid, delay, n, dim

    def __call__(self, x: np.ndarray, i: int) -> float:
        if self.paid is not None:
            handle = os.open(self.paid, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(handle, b".")
            os.close(handle)
        if self.delay:
            time.sleep(self.delay)
        return 0.5 * float(((self.A[i] @ x - self.y[i]) ** 2).sum())

    def problem(self) -> zofw.problems.BlackBox:
        return zofw.problems.BlackBox(self, dim=self.dim, n=self.n)


def solve(fun: Any, method: str, checkpoint: Path | None = None, **settings: Any) -> zofw.Result:
    """One run; a checkpoint that is there is continued."""
    given = {"budget": BUDGET, "max_iter": ITERATIONS, "rng": 3} | settings
    if checkpoint is not None:
        given |= {"checkpoint": checkpoint, "resume": "auto"}
    return zofw.minimize(fun, zofw.L2Ball(1.0), method=method, **given)


class Death(BaseException):
    """The end of a process."""


@contextmanager
def killed(checkpoint: Path) -> Iterator[Callable[[], NoReturn]]:
    """Give a function that ends the block and leaves the files of a run as SIGKILL at that call would leave them."""
    with tempfile.TemporaryDirectory() as elsewhere:
        kept = Path(elsewhere)

        def die() -> NoReturn:
            for path in checkpoint.parent.glob(f"{checkpoint.name}*"):
                shutil.copy(path, kept)
            raise Death

        with suppress(Death):
            yield die
        if not any(kept.iterdir()):
            return
        for path in checkpoint.parent.glob(f"{checkpoint.name}*"):
            path.unlink()
        for path in kept.iterdir():
            shutil.copy(path, checkpoint.parent)


def calls(paid: Path) -> int:
    """Real calls so far."""
    return paid.stat().st_size if paid.exists() else 0


def differences(found: zofw.Result, whole: zofw.Result, charged: str = "") -> str:
    """What a run has that the undisturbed one has not, in words; nothing where they agree bit for bit.

    One line of the ledger may be more than it was.
    """
    extra = found.ledger.get(charged, 0)
    pairs = {
        "nit": (found.nit, whole.nit),
        "nfev": (found.nfev - extra, whole.nfev),
        "nlmo": (found.nlmo, whole.nlmo),
        "status": (found.status, whole.status),
        "seed": (found.seed, whole.seed),
        "settings": (found.settings, whole.settings),
        "ledger": (found.ledger | {charged: 0}, whole.ledger | {charged: 0}),
    }
    names = [name for name, (one, other) in pairs.items() if one != other]
    return ", ".join(names + ([] if np.array_equal(found.x, whole.x) else ["x"]))
