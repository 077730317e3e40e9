"""Compiled kernels behind the implicit directions and the linear models, and the NumPy code they must agree with.

``plain`` is the reference: NumPy alone, every sum in a stated order. ``compiled`` does the same operations in the same
order with numba and gives the same bits, so the choice between them is one of speed only. The environment variable
``ZOFW_KERNELS`` makes it:

========= ==============================================================================================
auto      (default) ``plain`` until a few million entries have been drawn, then ``compiled`` where numba is
          installed: a short run never waits for numba to be imported
numba     ``compiled`` from the first call; an error where numba is missing
numpy     ``plain`` always
========= ==============================================================================================

``ZOFW_THREADS`` sets the number of threads (:mod:`zofw.kernels.threads`); no result depends on it.
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
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from zofw.core import Indices
from zofw.kernels import plain

__all__ = ["CHOICES", "integers", "load", "numbers", "plain", "prepare"]

CHOICES = ("auto", "numba", "numpy")
PATIENCE = 1 << 22  # entries drawn by plain code before numba is worth its half second of import

logger = logging.getLogger(__name__)
_drawn = 0


@cache
def choice() -> str:
    """The value of ZOFW_KERNELS when it was first needed."""
    asked = os.environ.get("ZOFW_KERNELS", "auto")
    if asked not in CHOICES:
        raise ValueError(f"ZOFW_KERNELS is {asked!r}; it must be one of {', '.join(CHOICES)}.")
    return asked


def load(name: str) -> ModuleType:
    """The compiled module ``zofw.kernels.<name>``; the first call on a machine compiles it and says so."""
    path = f"zofw.kernels.{name}"
    if path in sys.modules:
        return sys.modules[path]
    if importlib.util.find_spec("numba") is None:
        raise ImportError(
            "ZOFW_KERNELS=numba needs numba, which is not installed. Install it, or set ZOFW_KERNELS=numpy."
        )
    if compiled_before():
        logger.info("Loading compiled kernels (%s).", name)
    else:
        logger.warning("Compiling zofw's kernels, once on this machine: this takes about a minute.")
    begin = time.perf_counter()
    module = importlib.import_module(path)
    logger.info("Kernels %s ready after %.1f s.", name, time.perf_counter() - begin)
    return module


def prepare() -> None:
    """Load every compiled module now, where numba is installed and wanted, so that no timed run waits for it."""
    if choice() != "numpy" and importlib.util.find_spec("numba") is not None:
        for name in ("compiled", "compiled_losses", "compiled_stencils", "fused", "indices"):
            load(name)


def compiled_before() -> bool:
    """Whether an earlier process left kernels compiled from these sources where numba keeps them."""
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    if elsewhere:
        return any(Path(elsewhere).rglob("*.nbi"))
    stamp, digest = _stamp()
    return stamp.is_file() and stamp.read_text() == digest and any(stamp.parent.glob("*.nbi"))


def _stamp() -> tuple[Path, str]:
    """The file that names the sources behind numba's cache, and the name of those that are here."""
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
    """Whether compiled code should do the next piece of work, of that many entries."""
    global _drawn
    asked = choice()
    if asked != "auto" or "zofw.kernels.compiled" in sys.modules:
        return asked != "numpy"
    _drawn += entries
    return _drawn > PATIENCE and importlib.util.find_spec("numba") is not None


def numbers(name: str, entries: int) -> plain.Numbers:
    """Who draws the next ``entries`` entries of the law called ``name``: plain or compiled code, with the same bits."""
    sources: dict[str, plain.Numbers] = (load("compiled") if wanted(entries) else plain).SOURCES
    return sources[name]


def integers(rng: np.random.Generator, n: int, size: int) -> Indices:
    """``size`` numbers below n from a generator: by itself or by compiled code, with the same bits."""
    if 1 < n < 1 << 32 and wanted(size):
        drawn: Indices = load("indices").integers(rng, n, size)
        return drawn
    return rng.integers(n, size=size, dtype=np.int64)
