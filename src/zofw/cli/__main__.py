"""``zofw`` or ``python -m zofw``: the command line; ``--version`` answers without loading it."""

from __future__ import annotations

import sys

import zofw


def main() -> None:
    """Run a command."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"zofw {zofw.__version__}\n")
        return
    from zofw.cli.app import main as command

    command()


if __name__ == "__main__":
    main()
