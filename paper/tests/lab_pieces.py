"""A problem that runs in milliseconds, its specification, and a page in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from zofw_paper.cases import Code

MODULE = """
import numpy as np
from zofw.problems import BlackBox


def quadratic_sum(n=5, dim=4, slow=0.0):
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n, dim))

    def values(X, batch):
        if slow:
            import time

            time.sleep(slow)
        return 0.5 * ((X[:, None, :] - centres[batch][None]) ** 2).sum(axis=2)

    return BlackBox(values, dim=dim, n=n, vectorized=True)


def nothing():
    return 3


def broken():
    return BlackBox(lambda x: float("nan"), dim=3)


class Disc:
    def lmo(self, g):
        size = np.linalg.norm(g)
        return -g / size if size else np.zeros_like(g)


class Wrong:
    def lmo(self, g):
        return g
"""

SPEC = """
name = "mine"
title = "A <script>alert(1)</script> title & more"
seeds = [1, 2, 3]
diagnose = 10

[tune]
seeds = [11]
grid = [0.5, 1.0]
share = 0.5

[[case]]
name = "quadratic"
title = "five <b>quadratics</b>"
problem = "quadratic_sum"
set = { name = "l1-ball", radius = 1.0 }
budget = 900
parameters = { batch = 2, directions = 3 }

[[method]]
name = "zo-sfw"
label = "averaged"
settings = { batch_size = "=batch", directions = "=directions" }

[[method]]
name = "zo-fw"
label = "all coordinates"

[[method]]
name = "spsa"
group = "others"
derived = true

[[claim]]
id = "best"
says = "all coordinates end lowest"
test = "best"
method = "all coordinates"
"""


def toy(folder: Path, text: str = SPEC) -> Path:
    """The specification in a folder, and beside it the code that goes with it."""
    (folder / "toy_problem.py").write_text(MODULE)
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def code(folder: Path) -> Code:
    """The code that :func:`toy` wrote into a folder."""
    return Code(str(folder / "toy_problem.py"))


def browser() -> str:
    """A Chromium to open pages with, or a skip that says there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium is installed, so no page can be opened")


def opened(page: Path, script: str, *, width: int, folder: Path, dark: bool = False) -> str:
    """What ``script`` returns inside a page shown in a frame ``width`` pixels wide, without a network."""
    probe = f"""<script>window.addEventListener("load", async () => {{
        const probe = async () => {{ {script} }};
        window.parent.postMessage(await probe().catch(String), "*");
    }});</script>"""
    inner, outer = folder / "inner.html", folder / "outer.html"
    html = page.read_text(encoding="utf-8").replace("</body>", f"{probe}</body>")
    inner.write_text(html, encoding="utf-8")
    outer.write_text(
        f"""<!DOCTYPE html><pre id="verdict"></pre><iframe src="inner.html" width="{width}" height="1400"></iframe>
        <script>window.addEventListener("message", event => document.getElementById("verdict").textContent = event.data);</script>"""
    )
    command = [
        browser(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--window-size=1400,1500",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=15000",
        "--dump-dom",
        outer.as_uri(),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="verdict">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None, dom[-500:]
    return unescape(found[1])
