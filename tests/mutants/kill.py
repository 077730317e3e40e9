"""Run the fast suite against every mutant: ``make mutants``, or ``python tests/mutants/kill.py 3 17`` for some of them.

First the tests that are likely to notice, then, only if they do not, all the rest. Ends with the share that was killed and the
names of the survivors; exit code 1 below 95 %.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from mutants import MUTANTS  # noqa: E402

FAST = next(
    line
    for line in (ROOT / "Makefile").read_text().replace("\\\n", " ").splitlines()
    if line.startswith("FAST :=")
).split()[2:]
LEAST = 0.95


def likely(file: str) -> list[str]:
    """Tests that are about the file, quickest first."""
    room, _, rest = file.partition("/")
    own = ROOT / "tests" / "algorithms" / f"test_{Path(rest).name}"
    if room == "algorithms":
        tests = [str(own.relative_to(ROOT))] if own.exists() else []
        names = re.findall(r'methods\.register\("([^"]+)"\)', (ROOT / "src" / "zofw" / file).read_text())
        golden = [f"tests/golden/test_golden.py::test_golden[{name}]" for name in names] or ["tests/golden"]
        return ["tests/theory/test_schedules.py", *tests, *golden] if "dvr" in file else [*golden, *tests]
    return {
        "sets": ["tests/sets/test_sets_laws.py", "tests/sets/test_sets_oracles.py"],
        "directions": ["tests/directions/test_laws.py", "tests/theory/test_moments.py"],
        "schedules.py": ["tests/theory/test_schedules.py", "tests/theory/test_lemmas.py", "tests/algorithms"],
        "run": ["tests/run/test_session.py", "tests/golden"],
        "atoms.py": ["tests/test_atoms.py"],
    }.get(room, ["tests/algorithms/test_zsfw_dvr.py", "tests/golden", "tests/run/test_session.py"])


def killer(number: int, tests: list[str]) -> str | None:
    """The first test that fails, or None."""
    environment = os.environ | {"ZOFW_MUTANT": str(number)}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(HERE), str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "plugin",
        "-x",
        "-q",
        "--no-header",
        "-m",
        "not slow",
        *tests,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (lines or [done.stdout[-300:] + done.stderr[-300:]])[0].split(" - ")[0]


def main(numbers: list[int]) -> int:
    survivors = []
    for number in numbers:
        file, old, new = MUTANTS[number]
        begun = time.monotonic()
        found = killer(number, likely(file)) or killer(number, FAST)
        if found is None:
            survivors.append(number)
        verdict = f"killed by {found}" if found else "SURVIVED"
        sys.stdout.write(
            f"{number:3d}  {file}: {old} -> {new}\n     {verdict}, {time.monotonic() - begun:.0f} s\n"
        )
        sys.stdout.flush()
    killed = 1.0 - len(survivors) / len(numbers)
    names = "; ".join(f"{number} {MUTANTS[number][0]}" for number in survivors) or "none"
    sys.stdout.write(
        f"{len(numbers) - len(survivors)} of {len(numbers)} killed, {killed:.0%}; survivors: {names}\n"
    )
    return int(killed < LEAST)


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]] or list(range(len(MUTANTS)))))
