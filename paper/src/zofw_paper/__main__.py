"""``python -m zofw_paper``: the command line of zofw with the commands of this package."""

from zofw_paper.cli import main

if __name__ == "__main__":
    main()
