"""``zofw`` or ``python -m zofw.lab``: the command line, whose version is told without loading it."""

import sys

import zofw


def main() -> None:
    """Run a command."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"zofw {zofw.__version__}\n")
        return
    from zofw.lab.cli import main as command

    command()


if __name__ == "__main__":
    main()
