"""SIGTERM and Ctrl-C to scripts of many runs, at a prompt and with a handler of their own; homes that are empty or read-only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from attacks import Finding, until
from attacks.victim import METHODS, Sum, calls, solve

HEAD = """
import signal, sys
from pathlib import Path
from attacks.victim import Sum, solve
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background ignores
paid = Path("paid")
"""
LOOP = """
for seed in range(20):
    result = solve(Sum(paid, 0.002).problem(), {method!r}, Path(f"run{{seed}}.npz"), rng=seed)
    with open("statuses", "a") as file:
        file.write(result.status.name + "\\n")
"""
KINDS = {
    "a script": "",
    "a prompt": "sys.ps1 = '>>> '\n",
    "a handler of its own": "signal.signal({number}, lambda *given: None)\n",
}
ENDS = {signal.SIGTERM: (143, -signal.SIGTERM), signal.SIGINT: (130, -signal.SIGINT, 1)}
PATIENCE = 120.0  # seconds, on a busy machine
HOME = """
import numpy as np, zofw, zofw.storage
Z = np.random.default_rng(0).standard_normal((300, 20))
f = zofw.problems.Logistic(Z, np.sign(Z[:, 0] + 0.1))
for method in ("auto", "zsfw-dvr"):
    zofw.minimize(f, zofw.L1Ball(3.0), method=method, budget=20_000, rng=0, checkpoint=f"{method}.npz")
"""


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    ended = Finding(
        "A signal ends a script and not only one of its runs; a prompt and a program with its own handler get the result",
        f"SIGTERM and SIGINT to twenty runs in {', '.join(KINDS)}",
    )
    homes = Finding("The library needs no home", "an empty HOME, and one that cannot be written")
    _homes(homes)
    for number in until(seconds):
        _signal(ended, list(KINDS)[number % len(KINDS)], METHODS[rng.integers(len(METHODS))], rng)
    return [ended, homes]


def _environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)])
    return os.environ | {"PYTHONPATH": path} | more


def _signal(finding: Finding, kind: str, method: str, rng: np.random.Generator) -> None:
    number = signal.Signals(int(rng.choice([signal.SIGTERM, signal.SIGINT])))
    label = f"{kind}, {method}, {number.name}"
    with tempfile.TemporaryDirectory() as folder:
        paid, statuses = Path(folder) / "paid", Path(folder) / "statuses"
        code = HEAD + KINDS[kind].format(number=int(number)) + LOOP.format(method=method)
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=folder, env=_environment(), stderr=subprocess.DEVNULL
        )
        begun = time.monotonic()
        while (
            calls(paid) < rng.integers(1, 60)
            and process.poll() is None
            and time.monotonic() < begun + PATIENCE
        ):
            time.sleep(0.01)
        process.send_signal(number)
        try:
            code_of_exit = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            finding.check(False, f"{label}: it hung")
            return
        names = statuses.read_text().split() if statuses.exists() else []
        if kind == "a script":
            run = len(names)
            kept = solve(Sum(paid).problem(), method, Path(folder) / f"run{run}.npz", rng=run)
            late = len(list(Path(folder).glob("run*.npz"))) - run - 1
            finding.check(
                code_of_exit in ENDS[number] and late == 0 and calls(paid) >= kept.nfev,
                f"{label}: exit {code_of_exit}, {late} runs after the signal",
            )
        else:
            finding.check(
                code_of_exit == 0 and len(names) == 20 and names.count("INTERRUPTED") <= 1,
                f"{label}: exit {code_of_exit}, {names}",
            )


def _homes(finding: Finding) -> None:
    for home in ("empty", "/proc/no/home"):
        with tempfile.TemporaryDirectory() as folder:
            if home == "empty":
                (Path(folder) / home).mkdir()
            given = _environment(HOME=str(Path(folder) / home))
            run = subprocess.run(
                [sys.executable, "-c", HOME], cwd=folder, env=given, capture_output=True, text=True
            )
            finding.check(run.returncode == 0, f"HOME={home}: {run.stderr[-300:]}")
