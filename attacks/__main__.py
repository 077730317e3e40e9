"""``python -m attacks [--seconds S] [--only NAME …] [--write]``: every attack for S seconds each, then the table."""

from __future__ import annotations

import argparse
import platform
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import zofw
from attacks import (
    Attack,
    Finding,
    answers,
    budgets,
    configurations,
    disk,
    ends,
    exceptions,
    files,
    interrupts,
    kills,
    mended,
    places,
    scripts,
    specs,
    stranger,
    waits,
    workers,
)

ATTACKS: dict[str, Attack] = {
    "mended": mended.attack,
    "stranger": stranger.attack,
    "scripts": scripts.attack,
    "configurations": configurations.attack,
    "budgets": budgets.attack,
    "ends": ends.attack,
    "kills": kills.attack,
    "workers": workers.attack,
    "interrupts": interrupts.attack,
    "exceptions": exceptions.attack,
    "files": files.attack,
    "disk": disk.attack,
    "answers": answers.attack,
    "places": places.attack,
    "specs": specs.attack,
    "waits": waits.attack,
}
PAGE = Path(__file__).parent.parent / "docs" / "details" / "reliability.md"
MARK = "<!-- the table is written by make attack -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m attacks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=110.0, help="for each attack")
    parser.add_argument("--only", nargs="*", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    chosen = parser.parse_args()
    found: list[Finding] = []
    for name in chosen.only:
        begun = time.monotonic()
        try:
            found += ATTACKS[name](chosen.seconds, np.random.default_rng(chosen.seed))
        except Exception as error:  # of the library, which the attack did not expect
            found.append(Finding("Every run ends with a result", name))
            found[-1].check(False, "".join(traceback.format_exception(error)))
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    lines = table(found)
    print("\n".join(lines))
    for finding in found:
        for failure in finding.failures[:8]:
            print(f"FAILED {finding.attack}: {failure}")
    if chosen.write:
        head = PAGE.read_text().partition(MARK)[0]
        run = f"zofw {zofw.__version__}, Python {platform.python_version()}, seed {chosen.seed}, {chosen.seconds:.0f} seconds each."
        PAGE.write_text("\n".join([head + MARK, "", run, "", *lines, ""]))
    return int(any(finding.failures for finding in found))


def table(found: list[Finding]) -> list[str]:
    """The findings in Markdown."""
    rows = ["| promise | attack | times | failed |", "|---|---|---:|---|"]
    for one in found:
        failed = one.skipped or (f"**{len(one.failures)}**" if one.failures else "nothing")
        rows.append(f"| {one.promise} | {one.attack} | {one.tried:,} | {failed} |")
    return rows


if __name__ == "__main__":
    sys.exit(main())
