"""Every example of the gallery runs as it stands, quickly, spends queries, says so, and draws."""

from __future__ import annotations

import re
import runpy
import time

import numpy as np
import pytest
from pages import ROOT

import zofw

EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
LONGER = {"plot_16_data_mixture": 60.0}  # thousands of values of a surrogate of 512 runs
SECONDS = 10.0  # of this process, whatever else the machine is doing


@pytest.fixture(scope="module")
def compiled():
    """Kernels are compiled once on a machine; that is not an example's time."""
    Z, y = zofw.data.load("breast-cancer")
    for problem in (zofw.problems.Logistic(Z, y), zofw.problems.Correntropy(Z, y)):
        for method in (
            zofw.ZSFWDVR(),
            zofw.papers.ZOSFW(batch_size=20, directions=10),
            zofw.papers.JAGUAR(directions=3),
        ):
            zofw.minimize(problem, zofw.L1Ball(), method=method, budget=50_000, rng=0)


def test_there_are_enough():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, compiled, tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for module in re.findall(r"^ *(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.M):
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pyplot, "show", lambda: None)
    begun = time.process_time()
    runpy.run_path(str(path), run_name="__main__")
    seconds = time.process_time() - begun
    drawn = [pyplot.figure(number) for number in pyplot.get_fignums()]
    lines = [line for figure in drawn for axis in figure.axes for line in axis.lines]
    empty = [line for line in lines if not np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any()]
    pyplot.close("all")
    assert drawn, "an example has a picture"
    assert not empty, "every curve has a point"
    assert re.search(r"\d", capsys.readouterr().out), "an example states what it spent"
    assert seconds < LONGER.get(path.stem, SECONDS)
