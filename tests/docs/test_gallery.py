"""Every example of the gallery runs as it stands, quickly, spends queries, says so, and draws."""

from __future__ import annotations

import re
import runpy
import time

import pytest
from pages import ROOT

EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
SECONDS = 10.0  # of this process, whatever else the machine is doing


def test_there_are_enough():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pyplot, "show", lambda: None)
    begun = time.process_time()
    runpy.run_path(str(path), run_name="__main__")
    seconds = time.process_time() - begun
    drawn = pyplot.get_fignums()
    pyplot.close("all")
    assert drawn, "an example has a picture"
    assert re.search(r"\d", capsys.readouterr().out), "an example states what it spent"
    assert seconds < SECONDS
