"""The log of a run as a table, and in words."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zofw
from zofw.problems import BlackBox

CENTRES = np.linspace(-0.4, 0.6, 15).reshape(3, 5)


@pytest.fixture
def saved(tmp_path):
    """A run of which three calls failed, and every call that it made."""
    made, calls = [], itertools.count(1)

    def f(x, i):
        if next(calls) in (5, 90, 91):
            made.append((x.copy(), i, np.nan))
            raise ValueError("the pump broke")
        made.append((x.copy(), i, float(((x - CENTRES[i]) ** 2).sum())))
        return made[-1][2]

    path = tmp_path / "run.npz"
    result = zofw.minimize(
        BlackBox(f, dim=5, n=3), zofw.L2Ball(0.5), method="zo-fw", budget=100, rng=0, checkpoint=path,
        on_error=zofw.Retry(3, backoff=0.0),
    )  # fmt: skip
    return path, result, made


def test_every_evaluation_that_was_paid_for_is_in_the_table(saved, monkeypatch):
    path, result, made = saved
    table = zofw.evaluations(path)
    assert table.evaluations.sum() == result.nfev == len(made)
    spent = table.groupby("purpose").evaluations.sum().to_dict()
    assert spent == {line: cost for line, cost in result.ledger.items() if cost}
    failed = table[table.purpose == "failed"]
    assert len(failed) == 3 and failed.value.isna().all() and failed.reason.str.contains("the pump").all()
    values = {(x.tobytes(), i): value for x, i, value in made}
    for row in failed.itertuples():
        assert (row.x.tobytes(), row.component) in values
    for row in table[table.purpose != "failed"].itertuples():
        assert row.evaluations == 1 and values[row.x.tobytes(), row.component] == row.value
    assert (np.diff(table.time) >= 0).all() and table.iteration.max() == result.nit


def test_values_of_one_function_are_exact(tmp_path):
    path = tmp_path / "run.npz"
    result = zofw.minimize(
        lambda x: float(((x - CENTRES[0]) ** 2).sum()),
        zofw.L2Ball(0.5),
        dim=5,
        budget=60,
        rng=0,
        checkpoint=path,
    )
    table = zofw.evaluations(path)
    assert len(table) == result.nfev and (table.component == 0).all()
    for row in table.itertuples():
        assert row.value == float(((row.x - CENTRES[0]) ** 2).sum())
    assert table.value.min() == result.fun


def test_a_run_is_shown_in_words(saved):
    path, result, _ = saved
    shown = subprocess.run(
        [sys.executable, "-m", "zofw", "show", path], capture_output=True, text=True, check=True
    )
    for words in (
        "ZOFW(",
        "L2Ball(radius=0.5)",
        "budget=100",
        "BUDGET",
        f"{result.nfev} evaluations",
        "the pump broke",
    ):
        assert words in shown.stdout
    missing = subprocess.run(
        [sys.executable, "-m", "zofw", "show", "x.npz"], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2 and "There is no run in x.npz" in missing.stderr


def test_the_table_says_who_evaluated(tmp_path):
    region, given = zofw.Box(-1.0, 1.0), {"dim": 2, "method": "zo-fw", "budget": 40, "rng": 0}
    f = lambda x: float(x @ x)  # noqa: E731
    with ThreadPoolExecutor(2, thread_name_prefix="lab") as pool:
        zofw.minimize(f, region, workers=pool, checkpoint=tmp_path / "run.npz", **given)
    assert all(one.startswith("lab") for one in zofw.evaluations(tmp_path / "run.npz").by)
    with zofw.Desk.open(tmp_path / "desk", region, **given) as desk:
        (first, second, *_) = desk.requests()
        desk.take({"id": first.id, "values": [1.0], "by": "Ada"})
        desk.take({"id": second.id, "failed": "no power", "by": "Bob"})
    table = zofw.evaluations(tmp_path / "desk" / "run.npz")
    assert table.by.tolist() == ["Ada", "Bob"] and table.reason.tolist() == ["", "no power"]


def test_values_that_came_late_are_in_the_table(tmp_path):
    """As values come, a query is answered before all of its rows are there."""

    def slow(x):
        time.sleep(0.002 + 0.004 * (x[0] > 0.1))
        if x[1] > 0.8:
            raise ValueError("too hot")
        return float(((x - 0.3) ** 2).sum())

    with ThreadPoolExecutor(4) as pool:
        result = zofw.minimize(
            slow, zofw.Box(-1.0, 1.0), dim=3, method="interpolation", budget=60, rng=0, workers=pool,
            on_error="skip", checkpoint=tmp_path / "run.npz",
        )  # fmt: skip
    table = zofw.evaluations(tmp_path / "run.npz")
    assert table.evaluations.sum() == result.nfev
    assert table.groupby("purpose").evaluations.sum().to_dict() == {
        k: v for k, v in result.ledger.items() if v
    }
    assert (np.diff(table["query"]) < 0).any(), "some came after those of later queries"
    for row in table[table.purpose != "failed"].itertuples():
        assert row.value == float(((row.x - 0.3) ** 2).sum())
