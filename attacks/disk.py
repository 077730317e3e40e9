"""A disk that is full: nothing is asked that could not be kept, and the run goes on once there is room."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from attacks import Finding, until
from attacks.victim import METHODS, Sum, calls, differences, solve


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    finding = Finding(
        "Where there is no room for an answer nothing is asked, and what was paid is kept",
        "a disk of 64 to 512 KiB, filled at random, six attempts to go on, then room",
    )
    for _ in until(seconds):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
            size = int(rng.integers(64, 512))
            mounted = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder],
                capture_output=True,
                text=True,
            )
            if mounted.returncode:
                finding.skipped = "a small disk cannot be mounted here"
                return [finding]
            try:
                _fill(finding, Path(folder), Path(elsewhere) / "paid", size, rng)
            finally:
                subprocess.run(["umount", folder], check=True)
    return [finding]


def _fill(finding: Finding, folder: Path, paid: Path, size: int, rng: np.random.Generator) -> None:
    method = METHODS[rng.integers(len(METHODS))]
    whole, checkpoint, ballast = solve(Sum().problem(), method), folder / "run.npz", folder / "ballast"
    for _ in range(6):
        with contextlib.suppress(OSError), ballast.open("ab") as file:
            file.write(bytes(int(rng.integers(0, 1024 * size))))
        try:
            solve(Sum(paid).problem(), method, checkpoint)
            break
        except OSError:
            finding.tried += 1
    ballast.unlink(missing_ok=True)
    try:
        result = solve(Sum(paid).problem(), method, checkpoint)
    except OSError as error:  # even alone the run does not fit
        finding.check("could not be saved" in str(error), f"{method}: «{error}»")
        return
    other, twice = differences(result, whole), calls(paid) - whole.nfev
    finding.check(not other and twice == 0, f"{method}: {other or 'same'}, {twice} paid again")
