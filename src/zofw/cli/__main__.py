"""``zofw`` or ``python -m zofw``; ``--version`` answers without loading the rest."""

from __future__ import annotations

import io
import signal
import sys

import zofw
from zofw.extras import extra


def main() -> None:
    """Run a command."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"zofw {zofw.__version__}\n")
        return
    try:
        extra("typer", "cli")
        extra("rich", "cli")
    except ImportError as error:
        sys.stderr.write(f"The command line has an extra of its own. {error}\n")
        raise SystemExit(2) from error
    from zofw.cli.app import main as command

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a pipe on Windows has no Σ and no −
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # worker processes are ended on the way out
    command()


if __name__ == "__main__":
    main()
