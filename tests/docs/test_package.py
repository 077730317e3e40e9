"""The wheel that is built from the sdist installs into a clean environment and works there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from pages import ROOT

SMOKE = """
import numpy as np, zofw
f = zofw.problems.BlackBox(lambda x: float(np.sum((x - 0.2) ** 2)), dim=5)
for name in zofw.methods():
    if name != "frank-wolfe":
        result = zofw.minimize(f, zofw.Simplex(), method=name, budget=2_000, rng=0)
        assert result.nfev <= 2_000 and zofw.Simplex().contains(result.x), name
assert zofw.check_set(zofw.L1Ball(), 4).ok
assert "site-packages" in zofw.__file__
try:
    result.plot()
except ImportError as error:
    assert "pip install 'matplotlib" in str(error)
else:
    raise AssertionError("matplotlib should not be here")
"""
SERVANTS = "cli,plot,frame,report,data,lp,cluster"


def run(*command: str | Path, cwd: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_built_installed_and_run(tmp_path):
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT, cwd=tmp_path)
    (wheel,), (sdist,) = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")

    shipped = zipfile.ZipFile(wheel).namelist()
    assert "zofw/py.typed" in shipped
    assert all(name.startswith(("zofw/", "zofw-")) for name in shipped)
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "pyproject.toml"} <= source
    assert not any(name.startswith((".venv", "docs/_build", "docs/gallery")) for name in source)

    run(sys.executable, "-m", "venv", tmp_path / "clean", cwd=tmp_path)
    python = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    run(*pip, wheel, cwd=tmp_path)
    run(python, "-c", SMOKE, cwd=tmp_path)
    run(*pip, "--dry-run", f"{wheel}[{SERVANTS}]", cwd=tmp_path)
