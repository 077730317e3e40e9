"""Bytes chosen by what they reach: ``python tests/fuzz/run.py [--seconds 60] [TARGET …]``, with atheris where it installs.

A finding is written to tests/fuzz/findings/ and ends the run of its target.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
READERS = [
    "zofw_paper.data.libsvm",
    "zofw_paper.data.packing",
    "zofw_paper.spec",
    "zofw_paper.records",
    "zofw.run.session.answer_checks",
    "zofw.run.session.resume",
    "zofw.run.files.documents",
    "zofw.run.files.journal",
    "zofw.run.files.store",
]


def fuzz(target: str, seconds: int, corpus: Path) -> None:
    """One target in this process, which libFuzzer ends."""
    import atheris

    os.fsync = lambda _: None  # power failures are not tried here, and waiting for the disk is slow
    with atheris.instrument_imports(include=READERS):
        from fuzz_targets import TARGETS, seeds

    for number, seed in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(seed)
    findings = HERE / "findings"
    findings.mkdir(exist_ok=True)
    options = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=3000", "-max_len=16384"]
    atheris.Setup(
        [sys.argv[0], *options, f"-artifact_prefix={findings}/{target}-", str(corpus)], TARGETS[target]
    )
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.corpus:
        fuzz(given.targets[0], given.seconds, Path(given.corpus))
        return 0
    try:
        import atheris  # noqa: F401
    except ImportError:
        sys.stderr.write(
            "atheris is not installed here (pip install '.[fuzz]'); hypothesis has done its part.\n"
        )
        return 0
    failed = []
    for target in given.targets or ["libsvm", "spec", "checkpoint", "journal", "tell"]:
        with tempfile.TemporaryDirectory() as corpus:
            command = [sys.executable, __file__, target, "--seconds", str(given.seconds), "--corpus", corpus]
            if subprocess.run(command, check=False).returncode:
                failed.append(target)
    sys.stderr.write(f"findings in: {', '.join(failed)}\n" if failed else "nothing was found\n")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
