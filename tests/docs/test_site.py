"""The site builds without a warning."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pages import DOCS

PAGES = "index start sets laws mathematics budgets methods/index gallery/index"


@pytest.mark.slow
def test_builds_without_a_warning(tmp_path):
    """The examples of the gallery are not executed here; their own tests do that."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-D", "plot_gallery=0"]
    done = subprocess.run([*command, DOCS, tmp_path / "html"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for page in PAGES.split():
        assert (tmp_path / "html" / f"{page}.html").exists()
