"""Hostile specifications and folders of runs: refused with a sentence, and nothing in them is executed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from attacks import Finding

CALLABLES = (
    "subprocess:getoutput",
    "os:system",
    "builtins:exec",
    "shutil:rmtree",
    "zofw_paper.cli:main",
    "attacks.specs:attack",
)
SPEC = """
name = "hostile"
title = "hostile"
budget = 100
[cases.one]
problem = {problem}
set = {{ kind = "l1-ball", radius = 1.0 }}
[methods.zo-fw]
"""


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    refused = Finding(
        "A specification names no code",
        "callables of the system as problems, in `zofw run` and `zofw resume`",
    )
    for name in CALLABLES:
        for problem in (
            f'"{name}"',
            f'{{ kind = "{name}", command = "touch executed" }}',
            f'{{ function = "{name}", dim = 3 }}',
        ):
            with tempfile.TemporaryDirectory() as folder:
                spec = Path(folder) / "spec.toml"
                spec.write_text(SPEC.format(problem=problem))
                run = subprocess.run(
                    [sys.executable, "-m", "zofw_paper", "run", str(spec), "--out", str(Path(folder) / "out")],
                    cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"},
                )  # fmt: skip
                said = run.stdout + run.stderr
                refused.check(
                    run.returncode != 0
                    and "Traceback" not in said
                    and not (Path(folder) / "executed").exists(),
                    f"{problem}: exit {run.returncode}, {said[-200:]!r}",
                )
    return [refused]
