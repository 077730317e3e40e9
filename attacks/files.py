"""Mutated files: refused by name, or read to the same bits. No foreign exception, no code, no other result."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from pathlib import Path

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS, Sum, calls, differences, killed, solve


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    mutated = Finding(
        "A damaged file is refused with a sentence, or continued to the same bits",
        "bytes of checkpoint, journal and result flipped, cut, doubled, swapped",
    )
    linked = Finding("No writer follows a link", "links to a precious file at every name a run writes")
    _links(linked, rng)
    for _ in until(seconds):
        method = METHODS[rng.integers(len(METHODS))]
        whole = solve(Sum().problem(), method)
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = Path(folder) / "run.npz"
            _die(method, checkpoint, int(rng.integers(1, max(2, whole.nfev))))
            files = sorted(path for path in Path(folder).iterdir() if path.is_file() and path.stat().st_size)
            victim = files[rng.integers(len(files))]
            victim.write_bytes(mutation(victim.read_bytes(), rng))
            label = f"{method}, {victim.name.replace('run.npz', 'checkpoint')}"
            try:
                paid = Path(folder) / "paid"
                result = solve(Sum(paid).problem(), method, checkpoint)
            except (ValueError, OSError) as error:
                mutated.check(len(str(error)) > 20, f"{label}: {type(error).__name__} «{error}»")
            except Exception as error:
                mutated.check(False, f"{label}: {type(error).__name__} {error}")
            else:
                other = differences(result, whole)
                mutated.check(not other and calls(paid) <= whole.nfev, f"{label}: {other}")
    return [mutated, linked]


def mutation(content: bytes, rng: np.random.Generator) -> bytes:
    """Other bytes."""
    at, to = sorted(rng.integers(0, len(content), 2))
    match rng.integers(5):
        case 0:
            return content[:at] + bytes([content[at] ^ int(rng.integers(1, 256))]) + content[at + 1 :]
        case 1:
            return content[:at]
        case 2:
            return content[:to] + content[at:]
        case 3:
            return content[:at] + rng.bytes(int(to - at)) + content[to:]
        case _:
            return content + rng.bytes(64)


def _die(method: str, checkpoint: Path, after: int) -> None:
    """A run that ends without a word at one of its evaluations."""
    count, component = itertools.count(1), Sum()

    def fun(x: np.ndarray, i: int) -> float:
        if next(count) == after:
            die()
        return component(x, i)

    with killed(checkpoint) as die:
        solve(zofw.problems.BlackBox(fun, dim=component.dim, n=component.n), method, checkpoint)


def _links(finding: Finding, rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as folder:
        solve(Sum().problem(), "zo-fw", Path(folder) / "run.npz")
        names = {"run.npz.lock", "run.npz.journal", *(path.name for path in Path(folder).iterdir())} - {
            "run.npz"
        }
    for name in sorted(names):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
            precious = Path(elsewhere) / "precious"
            precious.write_text("precious")
            os.symlink(precious, Path(folder) / name)
            with contextlib.suppress(ValueError, OSError):
                solve(Sum().problem(), "zo-fw", Path(folder) / "run.npz")
            finding.check(precious.read_text() == "precious", f"a link at {name} was followed")
