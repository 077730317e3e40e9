"""One run, one owner, one place: locks under several spellings, objectives that change the folder, other tiles."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import zofw
from attacks import Finding, until
from attacks.victim import METHODS, Sum, differences, solve


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    locked = Finding("One owner works on a checkpoint at a time", "four threads, three spellings of one path")
    placed = Finding(
        "A run stays in the files it began with",
        "an objective that changes the working folder, relative paths",
    )
    for number in until(seconds):
        _crowd(locked, rng)
        _wanderer(placed, METHODS[number % len(METHODS)])
    return [locked, placed]


def _crowd(finding: Finding, rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "d"
        home.mkdir()
        (Path(folder) / "link").symlink_to(home)
        spellings = [home / "r.npz", home / ".." / "d" / "r.npz", Path(folder) / "link" / "r.npz"]
        inside, most, gate, count = 0, 0, threading.Barrier(4), threading.Lock()
        component = Sum()

        def fun(x: np.ndarray, i: int) -> float:
            return component(x, i)

        def one(path: Path) -> None:
            nonlocal inside, most

            def enter(intermediate_result: object) -> None:
                nonlocal inside, most
                with count:
                    inside += 1
                    most = max(most, inside)
                time.sleep(1e-3)
                with count:
                    inside -= 1

            gate.wait()
            try:
                zofw.minimize(
                    zofw.problems.BlackBox(fun, dim=component.dim, n=component.n), zofw.L2Ball(1.0), method="zo-fw",
                    budget=100, rng=0, checkpoint=path, callback=enter,
                )  # fmt: skip
                done.append(path)
            except (OSError, ValueError, RuntimeError):  # the lock is held, or the run is there already
                pass

        done: list[Path] = []
        threads = [
            threading.Thread(target=one, args=(spellings[k],)) for k in rng.integers(len(spellings), size=4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        finding.check(len(done) == 1 and most <= 1, f"{len(done)} runs ended, {most} at once")


def _wanderer(finding: Finding, method: str) -> None:
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
        component = Sum()

        def fun(x: np.ndarray, i: int) -> float:
            os.chdir(elsewhere)
            return component(x, i)

        os.chdir(folder)
        try:
            found = solve(
                zofw.problems.BlackBox(fun, dim=component.dim, n=component.n), method, Path("run.npz")
            )
            left = os.listdir(elsewhere)
        finally:
            os.chdir(here)
        other = differences(found, solve(component.problem(), method))
        finding.check(not left and not other, f"{method}: {left} elsewhere, {other or 'same'}")
