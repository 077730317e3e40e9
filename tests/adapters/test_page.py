"""The examples on the page about adapters run as they stand, and missing extras are named."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import zofw
from zofw.extras import install_line

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
LIBRARIES = ("sklearn", "torch", "art", "optuna", "optimagic")
BLOCKS = re.findall(r"```\{code-block\} python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_page():
    for library in LIBRARIES:
        pytest.importorskip(library, reason=f"the page needs {library}, which is not installed")
    scope: dict = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), scope)
    assert len(BLOCKS) == 8
    assert scope["weighed"].fun < 0.09 and scope["vote"].weights is scope["weighed"].x
    assert scope["boxed"].x == pytest.approx([1.0] * 4) and scope["boxed"].nfev <= 300
    assert scope["attack"].fooling_rate > 0.7 and scope["attack"].queries <= 3_000
    queries = [queries for _, queries in scope["logged"]]
    assert len(queries) > 4 and queries == sorted(queries) and queries[-1] <= 300


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [
        ("UniversalPerturbation", "art", "art"),
        ("ZOSampler", "optuna", "optuna"),
        ("minimize_module", "torch", "torch"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(name, library, extra):
    code = f"import sys; sys.modules[{library!r}] = None\nimport zofw\nzofw.adapters.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"This needs {library}, which is not installed. Install it with: {install_line(extra)}"
    assert said in done.stderr


def test_the_adapters_are_at_hand_and_bring_nothing_along():
    assert {"UniversalPerturbation", "ZOSampler", "minimize_module", "scipy_method"} <= {*dir(zofw.adapters)}
    with pytest.raises(AttributeError, match="has no attribute 'keras'"):
        _ = zofw.adapters.keras
    code = (
        "import sys, zofw; zofw.scipy_method; zofw.adapters\n"
        "assert not {'torch', 'sklearn', 'art'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
