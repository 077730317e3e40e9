"""What people give at the door, taken or answered with the line to write."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from scipy.optimize import Bounds

import zofw
from zofw.run.given import ELSEWHERE, starting_point


def f(x):
    return float(np.sum((x - 0.3) ** 2))


@pytest.mark.parametrize(
    ("region", "where"),
    [
        (zofw.Simplex(), {"x0": np.full(4, 0.25)}),
        (zofw.Simplex(), {"dim": 4}),
        ("simplex", {"dim": 4}),
        (zofw.Box(np.zeros(4), np.ones(4)), {}),
        ([(0, 1)] * 4, {}),
        (Bounds(0, 1), {"dim": 4}),
    ],
    ids=repr,
)
def test_a_bare_function_is_enough(region, where):
    bare = zofw.minimize(f, region, budget=300, rng=0, **where)
    boxed = zofw.minimize(zofw.problems.BlackBox(f, dim=4), region, budget=300, rng=0)
    np.testing.assert_array_equal(bare.x, boxed.x)
    assert bare.fun == boxed.fun and bare.nfev == boxed.nfev


def test_a_sum_says_how_many_components_it_has():
    centres = np.random.default_rng(0).random((7, 3))
    result = zofw.minimize(
        lambda x, i: float(np.sum((x - centres[i]) ** 2)), zofw.Simplex(), dim=3, n=7, budget=3_000, rng=0
    )
    centre = zofw.Simplex().project(centres.mean(axis=0))
    np.testing.assert_allclose(result.x, centre, atol=1e-3)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_names_of_other_libraries_get_ours(name):
    with pytest.raises(TypeError, match=f"no argument {name!r}; "):
        zofw.minimize(f, zofw.Simplex(), dim=4, budget=100, **{name: 1})


def test_other_names_get_the_list():
    with pytest.raises(TypeError, match=r"no argument 'colour'; it has fun, set, method, budget"):
        zofw.minimize(f, zofw.Simplex(), dim=4, colour="red")


def test_misspelt_names_get_the_nearest():
    with pytest.raises(TypeError, match=r"no argument 'buget'; did you mean budget\?"):
        zofw.minimize(f, zofw.Simplex(), dim=4, buget=100)


X0 = np.full(4, 0.25)
A_PAIR = r"known should be a pair \(X, values\)"
NOT_NUMBERS = "should be a list or an array of real numbers"


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        ({"x0": X0 + 1j}, TypeError, NOT_NUMBERS),
        ({"x0": (t for t in X0)}, TypeError, NOT_NUMBERS),
        ({"x0": [[1], [1, 2]]}, TypeError, NOT_NUMBERS),
        ({"x0": {"a": 1}}, TypeError, NOT_NUMBERS),
        ({"x0": "0.25, 0.25"}, TypeError, NOT_NUMBERS),
        ({"x0": np.ma.array(X0, mask=[1, 0, 0, 0])}, TypeError, NOT_NUMBERS),
        ({"x0": []}, ValueError, "x0 is empty"),
        ({"dim": [4]}, ValueError, "dim should be a whole number"),
        ({"dim": 4.5}, ValueError, "dim should be a whole number"),
        ({"dim": 4, "n": True}, ValueError, "n should be a whole number"),
        ({"dim": 4, "known": 3}, TypeError, A_PAIR),
        ({"dim": 4, "known": [(X0, 1.0)]}, TypeError, A_PAIR),
        ({"dim": 4, "known": [(X0, 1.0), (X0, 2.0)]}, TypeError, NOT_NUMBERS),
        ({"dim": 4, "resume": "maybe", "checkpoint": "run.npz"}, ValueError, "resume should be True, False or 'auto'"),
        ({"dim": 4, "callback": 3}, TypeError, "callback should be a function"),
        ({"dim": 4, "checkpoint": 3}, TypeError, "checkpoint should be the path of a file"),
        ({"dim": 4, "options": {"worse": "inf"}}, ValueError, "worse should be a number"),
        ({"dim": 4, "batch_size": 3}, TypeError, "a setting of a method"),
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_named(given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        zofw.minimize(f, zofw.Simplex(), budget=100, **given)


def test_whole_floats_and_exact_numbers_are_numbers():
    from fractions import Fraction

    result = zofw.minimize(lambda x: Fraction(1, 3), zofw.Simplex(), dim=4.0, budget=40.0, rng=0)
    assert result.fun == 1 / 3


@pytest.mark.parametrize(
    "rng", [-1, "abc", np.random.RandomState(0), 0.5], ids=["negative", "text", "RandomState", "fraction"]
)
def test_other_kinds_of_generators(rng):
    with pytest.raises(TypeError, match="rng should be a whole number of at least 0"):
        zofw.minimize(f, zofw.Simplex(), dim=4, budget=100, rng=rng)


@pytest.mark.parametrize(
    ("fun", "where", "error", "sentence"),
    [
        (f, {}, ValueError, r"The dimension is not known.*give dim=… or x0=…"),
        ("simplex", {"dim": 3}, TypeError, r"str is neither: zofw\.minimize\(f, set"),
        (lambda x, i: 0.0, {"dim": 3}, ValueError, "number of components is not known: give n=…"),
        (
            lambda x: 0.0,
            {"dim": 3, "n": 5},
            ValueError,
            "n=5 was given, and the function takes the point alone",
        ),
        (
            f,
            {"dim": 3, "x0": np.full(4, 0.25)},
            ValueError,
            "dim is 3, the length of the starting point is 4",
        ),
        (3, {"dim": 3}, TypeError, "int is neither"),
        (zofw.problems.BlackBox, {"dim": 3}, TypeError, "BlackBox is a class"),
        (zofw.problems.BlackBox(f, dim=4), {"dim": 3}, ValueError, "the problem has dim=4"),
    ],
)
def test_what_cannot_be_a_problem(fun, where, error, sentence):
    with pytest.raises(error, match=sentence):
        zofw.minimize(fun, zofw.Simplex(), budget=100, **where)


@pytest.mark.parametrize("region", [zofw.Simplex(), zofw.L2Ball(1.0), zofw.Box(0, 1)], ids=repr)
def test_a_start_in_single_precision_is_put_back(region):
    s = region.lmo(-np.arange(1.0, 8.0))
    x = (0.3 * s + 0.7 * region.lmo(np.arange(7.0) - 2)) * (1 + 1e-8)
    x = x.astype(np.float32)
    start, note = starting_point(region, 7, x)
    assert region.contains(start, 1e-15) and np.abs(start - x).max() < 1e-6
    assert note is None or "put back" in note
    vertex = region.lmo(-np.ones(7))
    near, note = starting_point(region, 7, vertex * (1 + 1e-7))
    assert note is not None and region.contains(near, 1e-15)


def test_the_note_is_in_the_result():
    x = np.full(7, 1 / 7, dtype=np.float32)
    result = zofw.minimize(f, zofw.Simplex(), x0=x, budget=200, rng=0)
    assert "put back" in result.reasons["x0"]


@pytest.mark.parametrize(
    ("region", "x0", "distance"),
    [(zofw.L2Ball(1.0), [1.5, 0.0], "0.5"), (zofw.ConvexHull(np.eye(3)), [1.0, 1.0, 1.0], "1.2")],
)
def test_a_start_elsewhere_is_put_to_the_set_and_warned_of(region, x0, distance):
    with pytest.warns(UserWarning, match=f"the run starts {distance} away"):
        result = zofw.minimize(f, region, x0=x0, budget=100, rng=0)
    assert f"starts {distance} away" in result.reasons["x0"]


def test_known_points_choose_the_start_which_is_evaluated_once():
    X = np.array([[2.0, 0, 0], [0.2, 0.3, 0.5], [1.0, 0, 0], [np.nan, 0, 1], [0, 0, 1.0]])
    values = [-5.0, f(X[1]), 0.7, 0.0, np.inf]
    settings = {"method": "zo-fw", "rng": 0}
    known = zofw.minimize(f, zofw.Simplex(), known=(X, values), budget=201, **settings)
    given = zofw.minimize(f, zofw.Simplex(), x0=X[1], budget=200, **settings)
    np.testing.assert_array_equal(known.last, given.last)
    assert known.nfev == given.nfev + 1 and known.ledger["noise"] == 1
    for wrong, sentence in [
        ((X, values[:2]), r"shapes \(5, 3\) and \(2,\)"),
        ((X[:1], [1.0]), "None of the 1 known points"),
        ((X[:0], []), "known has no points"),
        ((X[:2], [0.1, -1e300]), "at most 1e\\+100 in modulus; one is 1e\\+300"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            zofw.minimize(f, zofw.Simplex(), known=wrong, budget=200)
    with pytest.raises(ValueError, match="give one of them"):
        zofw.minimize(f, zofw.Simplex(), known=(X, values), x0=X[1], budget=200)


def bowl(x):
    return float(np.sum((x - 0.3) ** 2) + x[0] * x[1])


@pytest.mark.parametrize(
    ("wrong", "method"), [(-3.0, "zo-fw"), (-3.0, "interpolation"), (9.0, "interpolation")]
)
def test_a_wrong_known_value_is_found_and_said(wrong, method):
    X = np.array([[0.2, 0.3, 0.5], [1.0, 0, 0]])
    settings = {"method": method, "budget": 150, "rng": 0}
    with pytest.warns(UserWarning, match=r"known= states f = .* and f is 0\.05 there"):
        result = zofw.minimize(f, zofw.Simplex(), known=(X, [wrong, 10.0]), **settings)
    assert result.fun < 0.03 and "takes none of its values" in result.reasons["known"]
    noisy = np.random.default_rng(0)
    values = [f(x) + 0.01 * noisy.standard_normal() for x in X]
    quiet = zofw.minimize(
        lambda x: f(x) + 0.01 * noisy.standard_normal(), zofw.Simplex(), known=(X, values), **settings
    )
    assert "known" not in quiet.reasons


def test_a_session_reads_known_points_as_minimize_does():
    given = {"dim": 3, "budget": 60, "method": "interpolation"}
    session = zofw.Session(zofw.Simplex(), known=([[0.2, 0.3, 0.5]], [0.05]), **given)
    assert session.ask().anchors.tolist() == [[0.2, 0.3, 0.5]]
    with pytest.raises(TypeError, match="known should be a pair"):
        zofw.Session(zofw.Simplex(), known=[1.0], **given)
    with pytest.raises(TypeError, match="values of known"):
        zofw.Session(zofw.Simplex(), known=([[0.2, 0.3, 0.5]], ["low"]), **given)


def test_known_points_are_points_of_the_model():
    """Fifteen values determine a quadratic of four variables: the first new one is at its minimiser."""
    X = 0.6 + 0.05 * np.random.default_rng(0).standard_normal((40, 4))
    settings = {"method": "interpolation", "budget": 12, "rng": 0, "diagnose": 0}
    asked = []

    def watched(x):
        asked.append(x.copy())
        return bowl(x)

    zofw.minimize(watched, zofw.Box(0.0, 1.0), known=(X, [bowl(x) for x in X]), **settings)
    with_known = min(bowl(x) for x in asked)
    assert sum(np.array_equal(x, y) for x in asked for y in X) == 1  # the best of them, to check its value
    asked.clear()
    best = X[np.argmin([bowl(x) for x in X])]
    zofw.minimize(watched, zofw.Box(0.0, 1.0), x0=best, **settings)
    least = bowl(np.array([0.2, 0.2, 0.3, 0.3]))
    assert with_known - least < 0.1 * (min(bowl(x) for x in asked) - least)


def test_a_run_with_known_points_resumes_bit_for_bit(tmp_path):
    X = np.random.default_rng(0).random((9, 4))
    known, box = (X, [bowl(x) for x in X]), zofw.Box(0.0, 1.0)
    whole = zofw.minimize(bowl, box, known=known, budget=40, rng=0, diagnose=0)
    path = tmp_path / "run.npz"
    zofw.minimize(bowl, box, known=known, budget=40, rng=0, diagnose=0, max_iter=6, checkpoint=path)
    again = zofw.minimize(
        bowl, box, dim=4, budget=40, max_iter=10**6, diagnose=0, checkpoint=path, resume=True
    )
    np.testing.assert_array_equal(whole.x, again.x)
    assert whole.nfev == again.nfev


@pytest.mark.parametrize("wall", [np.inf, 1e120, 50.0])
def test_values_behind_a_wall_are_worse_than_anything(wall):
    def walled(x):
        return bowl(x) if x[2] <= 0.5 else wall

    result = zofw.minimize(
        walled, zofw.Box(0.0, 1.0), x0=np.full(4, 0.45), options={"worse": 50.0}, budget=150, rng=0
    )
    assert result.fun - bowl(np.array([0.2, 0.2, 0.3, 0.3])) < 1e-6


def test_a_wall_is_told_to_a_function_and_nan_stays_an_error():
    with pytest.raises(ValueError, match=r"give it there: BlackBox\(…, worse=inf\)"):
        zofw.minimize(
            zofw.problems.BlackBox(bowl, dim=4), zofw.Box(0.0, 1.0), options={"worse": np.inf}, budget=50
        )
    with pytest.raises(zofw.EvaluationError):
        zofw.minimize(
            lambda x: np.nan, zofw.Box(0.0, 1.0), dim=4, options={"worse": np.inf}, budget=50, rng=0
        )


def test_a_run_tells_the_log_how_it_goes(caplog, monkeypatch):
    monkeypatch.setattr("zofw.run.session.observers.Progress.SAID", 0.0)
    with caplog.at_level("INFO", logger="zofw"):
        result = zofw.minimize(f, zofw.Simplex(), dim=4, method="zo-fw", budget=100, rng=0)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "zo-fw on Simplex(total=1.0) begins: 0 queries of 100, 0 iterations."
    assert sum("is on its way" in line for line in lines) == result.nit
    assert lines[-1].startswith("zo-fw stopped after ")


def test_the_log_has_actions_checkpoints_and_retries(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr("zofw.run.session.observers.Progress.SAID", 0.0)
    monkeypatch.setattr("zofw.run.files.store.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("zofw.run.files.store.SHARE", 0.0)
    calls = iter(range(10**6))

    def sometimes(x, i):
        return float("nan") if next(calls) == 30 else float((x[0] - i / 5) ** 2)

    with caplog.at_level("INFO", logger="zofw"):
        zofw.minimize(
            sometimes,
            zofw.Simplex(),
            dim=4,
            n=5,
            method="explore-correct",
            budget=400,
            rng=0,
            checkpoint=tmp_path / "run.npz",
            on_error=zofw.run.Retry(3),
        )
    said = caplog.text
    assert (
        "Checkpoint after " in said
        and ", attempt 1: " in said
        and re.search(r"iterations.*\(.*correct \d+", said)
    )


def test_one_known_point_is_enough():
    known = zofw.minimize(f, zofw.Simplex(), known=([0.2, 0.3, 0.5], 0.05), method="zo-fw", budget=61, rng=0)
    given = zofw.minimize(f, zofw.Simplex(), x0=[0.2, 0.3, 0.5], method="zo-fw", budget=60, rng=0)
    np.testing.assert_array_equal(known.last, given.last)


def test_both_forms_of_a_callback():
    seen, told = [], []
    settings = {"dim": 3, "method": "zo-fw", "budget": 60, "rng": 0}
    zofw.minimize(f, zofw.Simplex(), callback=lambda x: seen.append(x), **settings)
    zofw.minimize(
        f, zofw.Simplex(), callback=lambda intermediate_result: told.append(intermediate_result.x), **settings
    )
    np.testing.assert_array_equal(seen, told)


def test_a_set_that_is_left_out_and_a_field_that_is_not_there():
    with pytest.raises(TypeError, match="give them as the set"):
        zofw.minimize(f, bounds=[(0, 1)] * 3, budget=60)
    with pytest.raises(TypeError, match="A set is needed"):
        zofw.minimize(f, dim=3, budget=60)
    result = zofw.minimize(f, zofw.Simplex(), dim=3, method="zo-fw", budget=60, rng=0)
    with pytest.raises(AttributeError, match=r"There is no 'best' here; there are x, fun, "):
        _ = result.best


def test_worse_is_refused_for_a_sum():
    with pytest.raises(ValueError, match=r"worse=inf works for one function, and this is a sum of n=3"):
        zofw.minimize(lambda x, i: f(x), zofw.Box(0.0, 1.0), dim=3, n=3, options={"worse": np.inf}, budget=50)


@pytest.mark.parametrize("bad", [np.inf, np.nan, None])
def test_the_message_of_a_failure_says_how_to_go_on(bad):
    count = itertools.count()

    def fails(x):
        if next(count) < 8:
            return f(x)
        return bad if bad is not None else 1 / 0

    with pytest.raises(zofw.EvaluationError) as error:
        zofw.minimize(fails, zofw.Box(0.0, 1.0), dim=3, budget=50, rng=0)
    assert "on_error='skip'" in str(error.value) and "zofw.Retry(" in str(error.value)
    assert ("worse=np.inf" in str(error.value)) == (bad == np.inf)
    with pytest.raises(zofw.EvaluationError) as error:
        zofw.minimize(fails, zofw.Box(0.0, 1.0), dim=3, budget=50, rng=0, on_error=zofw.Retry(1, backoff=0.0))
    assert "on_error" not in str(error.value)
