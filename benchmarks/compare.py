"""``python -m benchmarks.compare TREE [--only NAME] [--rounds N]``: rows of ``make bench`` here and in another checkout, in turns.

Each side is a process of its own with its own sources; one waits while the other runs, so that both meet the same weather. The
figure is the median of the ratios of neighbours, the other side's time over this side's, with quartiles: above 1, this side is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import quartiles

HERE = Path(__file__).resolve().parent.parent


def serve():
    """Answer lines ``case`` (make it ready) and ``go`` (time it) until there are no more."""
    from benchmarks.cases import CASES
    from benchmarks.measure import seconds

    ready, repeat = None, 1
    for line in map(str.strip, sys.stdin):
        if line == "go":
            print(json.dumps(seconds(ready, repeat)), flush=True)
            continue
        case = next(case for case in CASES if case.name == line)
        ready, repeat = case.ours(), case.repeats[1]
        ready()
        print(json.dumps("ready"), flush=True)


@dataclass
class Side:
    """A checkout that runs cases when it is told to."""

    process: subprocess.Popen

    @classmethod
    def of(cls, tree):
        """Start it; the benchmarks are those of this checkout, zofw is that of the tree."""
        path = os.pathsep.join([str(Path(tree).resolve() / "src"), str(HERE)])
        command = [sys.executable, "-c", "from benchmarks.compare import serve; serve()"]
        environment = os.environ | {"PYTHONPATH": path, "ZOFW_KERNELS": "numba"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return cls(subprocess.Popen(command, cwd=HERE, env=environment, text=True, **pipes))

    def ask(self, line):
        """Send a line and wait for what comes back."""
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"The side in {self.process.args} ended before it answered {line!r}.")
        return json.loads(answer)


def main(arguments=None):
    """Print a line for each case."""
    from benchmarks.cases import CASES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", help="the other checkout")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    theirs, ours = Side.of(options.tree), Side.of(HERE)
    for case in CASES:
        if options.only not in case.name:
            continue
        for side in (theirs, ours):
            side.ask(case.name)
        taken = [(theirs.ask("go"), ours.ask("go")) for _ in range(options.rounds)]
        wall, cpu = ([a[part] / b[part] for a, b in taken] for part in (0, 1))
        (low, ratio, high), busy = quartiles(wall), quartiles(cpu)[1]
        other, here = (quartiles([pair[side][0] * 1e3 for pair in taken])[1] for side in (0, 1))
        print(
            f"{case.name:<32} {other:9.3f} ms {here:9.3f} ms  {ratio:.3f} [{low:.3f}, {high:.3f}]  cpu {busy:.3f}",
            flush=True,
        )
    for side in (theirs, ours):
        side.process.stdin.close()
        side.process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
