"""``python -m zofw``: the command line."""

from zofw.cli.__main__ import main

if __name__ == "__main__":
    main()
