"""Import time, zofw's own time per query, and whole small runs, measured by asv."""

from __future__ import annotations

import numpy as np

import zofw

QUERIES = 2_000


class Import:
    """Import in a new interpreter."""

    def timeraw_import_zofw(self):
        return "import zofw"

    def timeraw_command_line(self):
        return "import sys; sys.argv = ['zofw', '--version']; import zofw.cli.__main__ as m; m.main()"


class OwnTime:
    """A run on a function that costs nothing: all of the time is zofw's own, divide by QUERIES."""

    params = ("spsa", "zo-sfw", "saga-fw", "zsfw-dvr")
    param_names = ("method",)

    def time_run(self, method):
        f = zofw.problems.BlackBox(lambda x, i: 0.0, dim=50, n=50)
        zofw.minimize(f, zofw.L1Ball(1.0), method=method, budget=QUERIES, rng=0, diagnose=0)


class Default:
    """The default method on one smooth function."""

    def time_interpolation(self):
        zofw.minimize(lambda x: float(np.sum((x - 0.1) ** 2)), "simplex", dim=10, budget=300, rng=0)


class BreastCancer:
    """Sparse logistic regression, 569 samples and 30 features; the number of queries shows changes of a method."""

    params = ("auto", "zsfw-dvr", "zo-sfw", "acc-szofw")
    param_names = ("method",)
    timeout = 300

    def setup(self, method):
        self.problem = zofw.problems.Logistic(*zofw.data.load("breast-cancer"))

    def run(self, method):
        return zofw.minimize(self.problem, zofw.L1Ball(2.0), method=method, budget=100_000, rng=0)

    def time_run(self, method):
        self.run(method)

    def track_objective(self, method):
        return self.run(method).fun

    track_objective.unit = "mean loss"
