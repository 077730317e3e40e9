"""The first hour: each wrong usage is taken, with a note, or gets one sentence that says what to write."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from tempfile import gettempdir

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import zofw
from zofw.sets import as_set, without_dictionaries

ONES = np.ones(3)
POOL = type("Pool", (), {"map": None})()
UNIT = Bounds(0, 1)
SUM = {"type": "eq", "fun": lambda x: x.sum() - 1}
BALL = {"type": "ineq", "fun": lambda x: 1 - x @ x}
ABSOLUTE = {"type": "ineq", "fun": lambda x: 1 - np.abs(x).sum()}
BROKEN = {"type": "ineq", "fun": lambda x: 1 / 0}


def f(x):
    return float(np.sum((x - [0.5, 0.3, 0.2]) ** 2))


async def waits(x):
    return f(x)


class Waits:
    async def __call__(self, x):
        return f(x)


def of_three(a, b, c):
    return f(np.array([a, b, c]))


def run(fun=f, set="simplex", **more):
    return zofw.minimize(fun, set, **{"dim": 3, "budget": 90, "rng": 0} | more)


REFUSED = {
    "a misspelt set class": (lambda: zofw.Simplx, AttributeError, "did you mean zofw.Simplex?"),
    "British spelling": (lambda: zofw.minimise, AttributeError, "did you mean zofw.minimize?"),
    "maximise": (lambda: zofw.maximise, AttributeError, "write zofw.minimize(lambda x: -f(x), …)"),
    "an adapter": (lambda: zofw.ZOSampler, AttributeError, "write zofw.adapters.ZOSampler"),
    "a problem": (lambda: zofw.BlackBox, AttributeError, "write zofw.problems.BlackBox"),
    "half a name": (lambda: zofw.ZSFW, AttributeError, "did you mean zofw.ZSFWDVR?"),
    "another name": (lambda: zofw.xyzzy, AttributeError, "dir(zofw) lists its names"),
    "a set that needs settings": (lambda: run(set="box"), TypeError, '"box" has no size yet; write Box(lower=…, upper=…)'),
    "a misspelt set": (lambda: run(set="simplx"), KeyError, "did you mean 'simplex'"),
    "no set": (lambda: zofw.minimize(f, dim=3, budget=90), TypeError, "A set is needed, and none was given"),
    "the start in the set's place": (lambda: run(set=[0.3, 0.3, 0.4]), TypeError, "a point goes after the set, as x0=…"),
    "one pair for all": (lambda: run(set=(0, 1)), TypeError, "zofw.Box(low, high)"),
    "two arrays": (lambda: run(set=(0 * ONES[:2], ONES[:2])), TypeError, "zofw.Box(low, high)"),
    "bounds by name": (
        lambda: run(set={"x": (0, 1), "y": (-1, 2)}),
        TypeError,
        "a list, [(0, 1), (-1, 2)], and a function of one array: lambda x: f(x=x[0], y=x[1])",
    ),
    "open bounds": (lambda: run(set=[(0, None)] * 3), ValueError, "coordinate 0 is open"),
    "crossed bounds": (lambda: run(set=[(1, 0)] * 3), ValueError, "lower must not exceed upper"),
    "an empty set": (lambda: run(set=[UNIT, LinearConstraint(ONES, 5, 6)]), ValueError, "the set is empty"),
    "a ball as a dictionary": (lambda: run(set=[BALL, UNIT]), TypeError, "is not affine. Write linear"),
    "an ℓ1 ball as a dictionary": (lambda: run(set=[ABSOLUTE, UNIT]), TypeError, "is not affine. Write linear"),
    "a dictionary that fails": (lambda: run(set=[BROKEN, UNIT]), TypeError, "failed: division by zero. Write"),
    "a dictionary of no type": (lambda: run(set={"fun": lambda x: x.sum()}), TypeError, "is not affine"),
    "a dictionary, no dimension": (lambda: run(set=[SUM, UNIT], dim=None), ValueError, "give dim=… or x0=…"),
    "a dictionary without bounds": (lambda: run(set=SUM), ValueError, "unbounded; add bounds"),
    "a nonlinear constraint": (lambda: run(set=NonlinearConstraint(f, 0, 1)), TypeError, "zofw.L2Ball(radius)"),
    "a function of coordinates": (lambda: run(of_three), TypeError, "give lambda x: f(*x) if they are"),
    "a function of two": (lambda: run(lambda a, b: a + b), ValueError, "lambda x: f(*x) if its arguments are"),
    "an async function": (lambda: run(waits), TypeError, "lambda x: asyncio.run(f(x))"),
    "an async object": (lambda: run(Waits()), TypeError, "lambda x: asyncio.run(f(x))"),
    "a number for a start": (lambda: run(x0=0.3), ValueError, "x0 should be a list of coordinates; got 0.3"),
    "a start too short": (lambda: run(x0=[0.5, 0.5]), ValueError, "dim is 3, the length of the starting point is 2"),
    "a start that is not finite": (lambda: run(x0=[np.nan, 0, 1]), ValueError, "not finite"),
    "workers by text": (lambda: run(workers="4"), ValueError, "workers should be a whole number"),
    "no workers": (lambda: run(workers=0), ValueError, "workers should be a whole number"),
    "a pool without submit": (lambda: run(workers=POOL), TypeError, "write workers=pool.map"),
    "a method of SciPy": (lambda: run(method="SLSQP"), KeyError, "zofw.methods() lists the"),
    "the class of a method": (lambda: run(method=zofw.Interpolation), TypeError, "settings such as Interpolation()"),
    "scipy_method as a method": (
        lambda: scipy.optimize.minimize(f, ONES / 3, method=zofw.scipy_method),
        TypeError,
        "scipy_method makes a method and is called first: minimize(f, x0, method=zofw.scipy_method(), bounds=…)",
    ),
    "hardly a budget for settings": (
        lambda: run(budget=3, method=zofw.ZSFWDVR(directions=9)),
        zofw.BudgetError,
        "or choose a smaller batch or fewer directions",
    ),
    "a budget as text": (lambda: run(budget="90"), ValueError, "budget should be a positive whole number; got '90'"),
    "no limit": (lambda: run(budget=None), ValueError, "give a budget, or max_iter"),
    "a value and a gradient": (lambda: run(lambda x: (f(x), 2 * x)), zofw.EvaluationError, "Return the value only"),
    "a dictionary of values": (lambda: run(lambda x: {"loss": f(x)}), zofw.EvaluationError, "Return the value only"),
    "no return": (lambda: run(lambda x: None), zofw.EvaluationError, "Does it end with return?"),
    "a keyword of SciPy": (lambda: run(constraints=SUM), TypeError, "give them as the set"),
    "known points of another width": (
        lambda: run(known=(np.ones((4, 5)), ONES)), ValueError, "dim is 3, the length of a known point is 5"
    ),
    "an outer function that is none": (lambda: run(lambda x, i: f(x), n=4, outer=max), TypeError, "such as zofw.outer.CVaR(0.9)"),
    "an outer function as a class": (lambda: run(lambda x, i: f(x), n=4, outer=zofw.outer.Worst), TypeError, "zofw.outer.Worst()"),
    "an outer function of one number": (lambda: run(outer=zofw.outer.Worst()), ValueError, "write f(x, i) with n=…"),
    "a constraint as a function": (lambda: run(set=lambda x: x.sum() == 1), ValueError, "a constraint is written as"),
    "a callback of two": (lambda: run(callback=lambda a, b: None), TypeError, "callback takes a, b, and is called with x only"),
    "text as a value": (lambda: run(lambda x: "0.3"), zofw.EvaluationError, r"returned '0.3'. It was query 0 .* with seed \(0,\).$"),
    "SciPy's bounds": (lambda: zofw.Bounds, AttributeError, "write scipy.optimize.Bounds"),
    "SciPy's fmin": (lambda: zofw.fmin, AttributeError, "write zofw.minimize(f, set, budget=…)"),
    "an outer function by its name": (lambda: zofw.CVaR, AttributeError, "write zofw.outer.CVaR"),
    "options that are none": (lambda: run(options="max_time"), TypeError, "options should be a dictionary, such as {'max_time': 3600}"),
    "an argument as an option": (
        lambda: run(options={"budget": 3}), TypeError, "no option 'budget'; write budget=… as an argument of minimize."
    ),
    "a misspelt option": (lambda: run(options={"max_tme": 3}), TypeError, "no option 'max_tme'; did you mean max_time?"),
    "order by text": (lambda: run(options={"in_order": "no"}), TypeError, "in_order should be True or False; got 'no'."),
    "progress by text": (lambda: run(options={"progress": "yes"}), TypeError, "progress should be True or False; got 'yes'."),
    "structure by a number": (lambda: run(options={"structure": 3}), TypeError, "structure should be True or False; got 3."),
    "inside by text": (lambda: run(inside="yes"), TypeError, "inside should be True or False; got 'yes'."),
    "a tail by text": (lambda: zofw.outer.CVaR("a"), ValueError, "alpha of CVaR should lie in [0, 1); got 'a'."),
    "a tail in percent": (lambda: zofw.outer.CVaR(90), ValueError, "alpha of CVaR should lie in [0, 1); got 90."),
    "a share in percent": (lambda: zofw.outer.Quantile(90), ValueError, "q of Quantile should lie in (0, 1]; got 90."),
    "a folder for a file": (lambda: run(checkpoint=gettempdir()), OSError, r"^[^\[]+ is a folder. Give the name of a file, such as .+run.npz$"),
    "a path that is none": (lambda: run(checkpoint=True), TypeError, "the path of a file; got True"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_gets_the_line_to_write(case):
    call, error, sentence = REFUSED[case]
    pattern = sentence if sentence.endswith("$") else re.escape(sentence)
    with pytest.raises(error, match=pattern) as found:
        call()
    assert len(str(found.value)) < 420


TAKEN = {
    "a start rounded by people": (lambda: run(x0=[0.333, 0.333, 0.333]), "the run starts 0.00058 away"),
    "a start of single precision": (lambda: run(x0=np.float32([0.1, 0.2, 0.7])), None),
    "an equation as a dictionary": (lambda: run(set=[SUM, UNIT]), None),
    "the same by x0": (lambda: run(set=[SUM, UNIT], dim=None, x0=[0.2, 0.3, 0.5]), None),
    "bounds first": (lambda: run(set=[UNIT, LinearConstraint(ONES, 1, 1)], dim=None), None),
    "rows of a matrix": (lambda: run(set=[Bounds(0 * ONES, ONES), LinearConstraint(ONES[None], 1, 1)], dim=None), None),
    "an inequality as a dictionary": (lambda: run(set=[{"type": "ineq", "fun": lambda x, c: c - x.sum(), "args": (1,)}, UNIT]), None),
    "dictionaries in SciPy": (
        lambda: scipy.optimize.minimize(f, ONES / 3, method=zofw.scipy_method(budget=90), bounds=UNIT, constraints=SUM), None
    ),
    "the class of an executor": (lambda: run(workers=ThreadPoolExecutor), None),
    "a budget in floating point": (lambda: run(budget=9e1), None),
    "a function that returns an array of one": (lambda: run(lambda x: np.array([f(x)])), None),
    "a function that changes its argument": (lambda: run(lambda x: [f(x), x.fill(7)][0]), None),
    "coordinates as arguments": (lambda: run(lambda x: of_three(*x)), None),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKEN)
def test_a_habit_of_other_libraries_is_taken(case):
    call, note = TAKEN[case]
    result = call()
    np.testing.assert_allclose(result.x, [0.5, 0.3, 0.2], atol=1e-3)
    if note is not None:
        assert note in result.reasons["x0"]


def test_a_start_far_off_the_set_is_moved_and_warned_of():
    with pytest.warns(UserWarning, match=r"the run starts 0\.29 away, at \[0\.33"):
        result = run(x0=[0.5, 0.5, 0.5], max_iter=1)
    assert "the run starts 0.29 away" in result.reasons["x0"]


@pytest.mark.parametrize("budget", range(1, 9))
def test_a_few_evaluations_are_used_by_the_default(budget):
    result = run(budget=budget)
    assert result.method == "interpolation" and max(budget - 1, 1) <= result.nfev <= budget
    assert result.message.startswith(f"The run spent {result.nfev} of {budget} queries")
    assert budget < 4 or result.fun < f(ONES / 3)


def test_a_function_that_fails_on_a_part_of_the_set_hears_of_worse():
    result = run(lambda x: 1 / 0 if x[0] > 0.335 else f(x), method="zsfw-dvr", budget=200, on_error="skip")
    assert "return np.inf there and write options={'worse': np.inf}" in result.message


def test_one_method_may_be_compared_without_a_list():
    assert [
        row["method"] for row in zofw.compare(f, "simplex", "auto", dim=3, budget=60, seeds=1).rows()
    ] == ["auto"]


@pytest.mark.parametrize("kind", [bool, int, np.bool_, np.int64])
def test_whole_numbers_are_a_score_in_steps(kind):
    result = run(lambda x: kind(max(0, 7 * x[0] - 0.7)), budget=200)
    assert not result.success and "a score in steps" in result.message


def test_an_error_rate_is_a_score_in_steps():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    result = run(lambda x: float(np.mean((Z @ (x - 0.3) > 0) != (Z[:, 0] > Z[:, 1]))), budget=300)
    assert not result.success and "points, a score in steps" in result.message


@pytest.mark.parametrize("total", [0.3, 1.0, 7.7, 1e6])
def test_the_rows_of_a_dictionary_are_exact(total):
    made = without_dictionaries([{"type": "eq", "fun": lambda x: x.sum() - total}, UNIT], 50)
    region = as_set([made[0], Bounds(0, np.inf)])
    assert isinstance(region, zofw.Simplex) and region.total == total and region.fixed_dim == 50
