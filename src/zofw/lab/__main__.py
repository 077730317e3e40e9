"""``python -m zofw.lab``: the command line."""

from zofw.lab.cli import main

if __name__ == "__main__":
    main()
