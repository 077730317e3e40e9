"""Golden runs: every registered method on one small problem, as it was when its file was last reviewed.

After a change that is meant to change a trajectory: ``make golden NAME=its-name`` (or ``make golden``), and read the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import zofw

FILE = Path(__file__).parent / "methods.json"


def run(name: str) -> dict:
    rng = np.random.default_rng(20)
    Z, y = rng.standard_normal((15, 9)), np.where(rng.random(15) < 0.5, -1.0, 1.0)
    problem = zofw.problems.Logistic(Z, y)
    result = zofw.minimize(problem, zofw.L1Ball(2.0), method=name, budget=20_000, max_iter=40, rng=7)
    return {
        "nfev": result.nfev,
        "nlmo": result.nlmo,
        "nit": result.nit,
        "fun": float(result.trace.objective[-1]),
        "x": result.last.tolist(),
    }


@pytest.mark.parametrize("name", list(zofw.methods()))
def test_golden(name):
    found = run(name)
    stored = json.loads(FILE.read_text()) if FILE.exists() else {}
    if os.environ.get("ZOFW_GOLDEN") == "write":
        FILE.write_text(json.dumps(dict(sorted((stored | {name: found}).items())), indent=1) + "\n")
        return
    assert name in stored, f"{name} has no golden run yet; record it: make golden NAME={name}"
    expected = stored[name]
    mend = f"if {name} is meant to run otherwise now: make golden NAME={name}, and read the diff"
    assert {k: found[k] for k in ("nfev", "nit")} == {k: expected[k] for k in ("nfev", "nit")}, mend
    calls = pytest.approx(
        expected["nlmo"], rel=0.01
    )  # inner loops end by rounding, which other BLAS do otherwise
    assert found["nlmo"] == calls, mend
    assert found["fun"] == pytest.approx(expected["fun"], rel=1e-7), mend
    np.testing.assert_allclose(found["x"], expected["x"], atol=1e-6, err_msg=mend)
