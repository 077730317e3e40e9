"""Compiled kernels behind the implicit directions and the linear models, and the NumPy code
they must agree with.

``plain`` is the reference: NumPy alone, every sum in a stated order. ``compiled`` does the same
operations in the same order with numba and gives the same bits, so the choice between them is
one of speed only. The environment variable ``ZOFW_KERNELS`` makes it: ``auto`` (default) is
``plain`` until a few million entries have been drawn, then ``compiled`` where numba is
installed, so that a short run never waits for numba to be imported; ``numba`` is ``compiled``
from the first call, and an error where numba is missing; ``numpy`` is ``plain`` always.
:mod:`zofw.kernels.table` says which kernel answers what.

``ZOFW_THREADS`` sets the number of threads (:mod:`zofw.kernels.threads`); no result depends on
it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from zofw.core import Array, Indices
from zofw.kernels import plain as plain
from zofw.kernels.rows import Rows, Shift, Source, StencilSteps

COMPILED = "zofw.kernels.compiled"
CHOICES = ("auto", "numba", "numpy")
PATIENCE = 1 << 22  # entries drawn by plain code before numba is worth its half second of import
logger = logging.getLogger(__name__)
_drawn = 0
settled: Routines | None = None  # who does all work from now on; None while ``auto`` waits for enough of it


@cache
def choice() -> str:
    """Return the value of ZOFW_KERNELS when it was first needed."""
    asked = os.environ.get("ZOFW_KERNELS", "auto")
    if asked not in CHOICES:
        raise ValueError(f"ZOFW_KERNELS is {asked!r}; it must be one of {', '.join(CHOICES)}.")
    return asked


class Routines(Protocol):
    """What plain and compiled code both offer; :mod:`zofw.kernels.plain` says what each does."""

    SOURCES: dict[str, plain.Entries]

    def integers(self, rng: np.random.Generator, n: int, size: int) -> Indices: ...
    def values(self, loss: str, t: Array) -> Array: ...
    def total(self, loss: str, t: Array) -> float: ...
    def margins(self, rows: Rows, points: Array) -> Array: ...
    def stencil_sums(self, loss: str, t: Array, along: Array, steps: StencilSteps) -> Array: ...
    def answer(
        self, kernel: str, loss: str, rows: Rows, shift: Shift, points: Array, U: Source, steps: StencilSteps
    ) -> Array: ...
    def coordinate_sums(
        self, loss: str, rows: Rows, place: Indices | None, width: int, t: Array, steps: StencilSteps
    ) -> Array: ...


def routines(entries: int) -> Routines:
    """Who does the next piece of work, of that many entries: plain or compiled code, with the same bits."""
    if settled is not None:
        return settled
    found = load() if wanted(entries) else plain
    if found is not plain or choice() == "numpy" or _drawn > PATIENCE:
        settle(found)
    return found


def settle(found: Routines) -> None:
    """Nothing will change the choice any more."""
    global settled
    settled = found


def load() -> Routines:
    """Compiled code; the first call on a machine compiles it and says so."""
    if COMPILED in sys.modules:
        return cast(Routines, sys.modules[COMPILED])
    if importlib.util.find_spec("numba") is None:
        raise ImportError("ZOFW_KERNELS=numba needs numba. Install it, or set ZOFW_KERNELS=numpy.")
    if not compiled_before():
        logger.warning("Compiling zofw's kernels, once on this machine: this takes about a minute.")
    begin = time.perf_counter()
    with _one_compiles():
        compiled = importlib.import_module(COMPILED)
    logger.info("Kernels ready after %.1f s.", time.perf_counter() - begin)
    return cast(Routines, compiled)


@contextlib.contextmanager
def _one_compiles() -> Iterator[None]:
    """One of several processes compiles, the others wait for its files; a process that only reads never waits."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(
            ImportError, OSError
        ):  # without such locks, or a folder to write to, each does it alone
            import fcntl

            place = _stamp()[0].with_name("kernels.lock")
            place.parent.mkdir(exist_ok=True)
            file = held.enter_context(place.open("w"))
            fcntl.flock(file, fcntl.LOCK_SH if compiled_before() else fcntl.LOCK_EX)
        yield


def prepare() -> None:
    """Load compiled code now, where numba is installed and wanted, so that no timed run waits for it."""
    if choice() != "numpy" and importlib.util.find_spec("numba") is not None:
        load()


def compiled_before() -> bool:
    """Return True if an earlier process left kernels compiled from these sources where numba keeps them."""
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    if elsewhere:
        return any(Path(elsewhere).rglob("*.nbi"))
    stamp, digest = _stamp()
    return stamp.is_file() and stamp.read_text() == digest and any(stamp.parent.glob("*.nbi"))


def _stamp() -> tuple[Path, str]:
    """Return the file that names the sources behind numba's cache, and the name of those that are here."""
    here = Path(__file__).parent
    digest = hashlib.blake2b(b"".join(file.read_bytes() for file in sorted(here.glob("*.py")))).hexdigest()
    return here / "__pycache__" / "kernels.digest", digest


def forget_stale() -> None:
    """Empty numba's cache after a change of any kernel: numba looks at a kernel's own file, and its pieces lie in others."""
    stamp, digest = _stamp()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    with contextlib.suppress(OSError):  # a folder that cannot be written to holds no cache either
        for file in stamp.parent.glob("*.nb[ic]"):
            file.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)


def wanted(entries: int) -> bool:
    """Return True if compiled code should do the next piece of work, of that many entries."""
    global _drawn
    asked = choice()
    if asked != "auto" or COMPILED in sys.modules:
        return asked != "numpy"
    _drawn += entries
    return _drawn > PATIENCE and importlib.util.find_spec("numba") is not None


def integers(rng: np.random.Generator, n: int, size: int) -> Indices:
    """Return ``size`` numbers below n from a generator: by itself or by compiled code, with the same bits."""
    return routines(size).integers(rng, n, size)


def drawing() -> Callable[[np.random.Generator, int, int], Indices]:
    """Return :func:`integers`, or the faster function that replaces it once one is chosen."""
    found = routines(0)
    return integers if settled is None else found.integers
