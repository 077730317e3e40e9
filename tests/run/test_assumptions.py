"""A run whose method's assumptions do not hold says so once, at no cost; a sound run says nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import zofw

DIM = 12
METHODS = [name for name, cls in zofw.methods().items() if not getattr(cls, "first_order", False)]
Z = np.random.default_rng(0).standard_normal((60, DIM))
TRUTH = np.random.default_rng(1).standard_normal(DIM)
Y = np.sign(Z @ TRUTH + np.random.default_rng(2).standard_normal(60))
GOOD = 1.9 * TRUTH / np.abs(TRUTH).sum()


def error_rate(x):
    return float(np.mean(np.sign(Z @ x) != Y))


def smooth(x):
    return float(np.mean(np.logaddexp(0.0, -Y * (Z @ x))))


def warned(f, method, x0=None, budget=3_000, rng=0):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = zofw.minimize(f, zofw.L1Ball(2.0), x0=x0, dim=DIM, method=method, budget=budget, rng=rng)
    return [str(warning.message) for warning in seen], result


def test_a_method_that_climbs_says_so_once():
    said, result = warned(lambda x: error_rate(x) + 0.01 * abs(x[0]), "zo-fw", GOOD)
    assert (
        len(said) == 1
        and said[0].startswith("zo-fw has climbed: it began at ")
        and "method='auto'" in said[0]
    )
    assert error_rate(result.last) > error_rate(GOOD) and result.nfev <= 3_000


def test_a_function_flat_in_steps_is_named_once():
    said, _ = warned(error_rate, zofw.papers.ZOSFW(directions=6, radius=1e-3), GOOD)
    assert sum("f is flat in steps" in one for one in said) == 1 and "differences of zo-sfw" in said[0]


@pytest.mark.parametrize("method", ["zo-sfw", "zsfw-dvr", "fw-black", "zscg", "zo-fw", "acc-szofw"])
def test_an_auc_that_rises_is_named(method):
    """1 − AUC of real data, from a good start: every one of these ends above it."""
    Z, y = zofw.data.load("breast-cancer")
    fit = np.linalg.lstsq(Z, y, rcond=None)[0]

    def lost(x):
        score = Z @ x
        return float((score[y > 0][:, None] <= score[y < 0][None]).mean())

    start = 2.0 * fit / np.abs(fit).sum()
    with pytest.warns(UserWarning, match=r"has climbed|flat in steps"):
        result = zofw.minimize(
            lost, zofw.L1Ball(2.0), x0=start, dim=Z.shape[1], method=method, budget=3_000, rng=0
        )
    assert lost(result.last) > lost(start) >= lost(result.x)


def test_nothing_is_asked_for_it(monkeypatch):
    quiet = "zofw.run.session.session.AssumptionWatch"
    _, watched = warned(error_rate, "zo-fw", GOOD)
    monkeypatch.setattr(
        quiet, lambda fresh: type("Blind", (), {"__call__": lambda *_: None, "at_the_end": lambda *_: None})()
    )
    said, alone = warned(error_rate, "zo-fw", GOOD)
    assert not said and np.array_equal(alone.last, watched.last) and alone.ledger == watched.ledger


@pytest.mark.parametrize("method", METHODS)
def test_sound_runs_say_nothing(method):
    """Beside the golden runs, which are run with warnings as errors: one function, from the centre and from a vertex."""
    for x0 in (None, 2.0 * np.eye(DIM)[3]):
        assert warned(smooth, method, x0, budget=1_200)[0] == []


@pytest.mark.parametrize("method", ["auto", "explore-correct"])
def test_the_default_methods_do_not_climb(method):
    said, result = warned(error_rate, method, GOOD)
    assert not said and result.fun <= error_rate(GOOD)


def test_a_function_of_few_coordinates_is_not_flat():
    assert warned(lambda x: float((x[0] - 1) ** 2), "zo-fw")[0] == []
    assert warned(lambda x: float((x[0] - 1) ** 2), "zo-sfw")[0] == []
