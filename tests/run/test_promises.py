"""What is promised of a run, attacked: the wall, the budget, one way to an answer, the point that is returned."""

from __future__ import annotations

import dataclasses
import signal
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import scipy.sparse

import zofw
from conftest import Still, ended_by_signal
from zofw.core import Ending, FirstOrderTask, Info, Query, Task
from zofw.problems import BlackBox, Logistic, Quadratic

SIMPLEX = zofw.Simplex()


class Calls:
    """f(x) = ‖x − c‖², with every call remembered; ``wrong(call)`` says which of them fail."""

    def __init__(self, wrong=lambda call: False) -> None:
        self.points: list[np.ndarray] = []
        self.wrong = wrong

    def __call__(self, x, i=0):
        self.points.append(np.array(x))
        if self.wrong(len(self.points)):
            raise ArithmeticError("out of order")
        return float(((x - 0.1 * (i % 3)) ** 2).sum())


# ---------------------------------------------------------------------- the wall


def reached(thing, seen=None):
    """Everything that attributes, slots, closures, defaults and containers lead to; not what modules and frames know."""
    seen = {} if seen is None else seen
    if id(thing) in seen or isinstance(thing, (type, types.ModuleType, np.ndarray, str, bytes, int, float)):
        return
    seen[id(thing)] = thing
    yield thing
    inner = [
        getattr(thing, name, None)
        for name in ("__self__", "__func__", "__wrapped__", "func", "args", "keywords")
    ]
    inner += [getattr(thing, "__defaults__", None), *getattr(thing, "__dict__", {}).values()]
    inner += [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    for kind in type(thing).__mro__:
        names = vars(kind).get("__slots__", ())
        inner += [getattr(thing, name, None) for name in names if name != "__weakref__"]
    if isinstance(thing, (list, tuple, set, frozenset)):
        inner += thing
    elif isinstance(thing, dict):
        inner += [*thing, *thing.values()]
    for one in inner:
        yield from reached(one, seen)


def test_the_search_for_the_objective_finds_it_where_it_is():
    f = Logistic(np.eye(3), np.ones(3))
    for hidden in (f.pattern, lambda batch: f.pattern(batch), partial(max, f), [{"a": (f,)}]):
        assert any(one is f for one in reached(hidden))


@dataclass(frozen=True)
class Cheat(Still):
    """Looks for the objective in everything it is given."""

    name = "cheat"

    def step(self, task, state, rng):
        assert type(task) is Task
        for field in dataclasses.fields(task):
            assert field.name not in ("gradient", "value", "objective", "problem")
            found = list(reached(getattr(task, field.name)))
            assert not any(isinstance(one, (Quadratic, Logistic, BlackBox, Calls)) for one in found)
        for name in ("gradient", "value", "objective"):
            with pytest.raises(AttributeError):
                getattr(task, name)
        yield Query(state.x, task.all)
        return self.State(state.t + 1, state.x), Info()


def test_a_method_finds_neither_objective_nor_gradient_in_what_it_is_given():
    Z = np.random.default_rng(0).standard_normal((5, 4))
    sparse, own = scipy.sparse.csr_array(Z * (Z > 0)), BlackBox(Calls(), dim=4, n=2, support=lambda i: [i])
    linear = Logistic(Z, np.ones(5)), Logistic(sparse, np.ones(5))
    for f in (Quadratic(np.eye(4), np.ones(4)), *linear, BlackBox(Calls(), dim=4), own):
        assert zofw.minimize(f, SIMPLEX, method=Cheat(), budget=100, max_iter=2).nit == 2
    assert "gradient" not in {field.name for field in dataclasses.fields(Task)}
    assert "gradient" in {field.name for field in dataclasses.fields(FirstOrderTask)}


@dataclass(frozen=True)
class Counts(Still):
    """Notes what it thinks is left, before and after a query."""

    name = "counts"

    def step(self, task, state, rng):
        before = task.remaining
        yield Query(state.x, task.all)
        assert task.remaining == before - task.n
        return self.State(state.t + 1, state.x), Info(numbers={"left": task.remaining})


def test_what_remains_is_kept_by_the_session_whatever_fails():
    f = Calls(lambda call: call % 5 == 3)
    result = zofw.minimize(
        BlackBox(f, dim=3), SIMPLEX, method=Counts(), budget=40, max_iter=9, on_error=zofw.Retry(2, backoff=0.0),
        diagnose=0,
    )  # fmt: skip
    assert result.ledger["failed"] > 0 and result.nfev == len(f.points)
    assert 0 <= result.trace["left"][-1] - (40 - result.nfev) <= result.ledger["failed"]


# ---------------------------------------------------------------------- the budget


@pytest.mark.parametrize("method", ["auto", "zo-fw", "zsfw-dvr", "zo-sfw"])
@pytest.mark.parametrize(("n", "budget"), [(1, 500), (1000, 2000), (7, 3000)])
def test_every_call_is_counted_and_within_the_budget(method, n, budget):
    f = Calls()
    method = (
        zofw.papers.ZOFW() if method == "zo-fw" and n < 1000 else "zo-sfw" if method == "zo-fw" else method
    )
    try:
        result = zofw.minimize(BlackBox(f, dim=4, n=n), SIMPLEX, method=method, budget=budget, rng=0)
    except zofw.BudgetError:
        return
    assert len(f.points) == result.nfev == sum(result.ledger.values()) <= budget and result.ndiagnosis == 0
    assert result.ledger["result"] <= max(2, budget // 100) or result.ledger["result"] == n <= budget / 20
    exact = np.mean([((result.x - 0.1 * (i % 3)) ** 2).sum() for i in range(n)])
    assert abs(result.fun - exact) <= max(1e-12, 8 * result.fun_error)
    sampled = n > max(2, budget // 20)
    assert (result.fun_error == 0) or sampled
    assert (f"{result.ledger['result']:,} of {n:,} components" in result.message) == (result.fun_error > 0)


def test_an_anchor_counts_where_every_point_around_it_is_outside():
    """Of a hundred values around x on a simplex, that at x is hardly among the lowest, and the only one in the set."""
    f = Calls()
    result = zofw.minimize(BlackBox(f, dim=4), SIMPLEX, method="zscg", budget=500, rng=12)
    members = [x for x in f.points if SIMPLEX.contains(x)]
    assert len(members) < len(f.points) and result.fun == min(float((x**2).sum()) for x in members)
    falling = BlackBox(lambda x, i: float(((x - 0.1 * i) ** 2).sum() - 3 * x.sum()), dim=12, n=3)
    session = zofw.Session(SIMPLEX, dim=12, n=3, method=zofw.papers.ZOFW(), budget=300, rng=0)
    query = session.ask()
    session.tell(query, zofw.problems.evaluate(falling, query))
    assert np.array_equal(session.run.best.x, np.full(12, 1 / 12))


def test_a_sample_of_equal_values_has_no_known_error():
    result = zofw.minimize(
        BlackBox(lambda x, i: 1.0, dim=4, n=200), SIMPLEX, method="zo-sfw", budget=60, rng=0
    )
    assert result.fun == 1.0 and np.isnan(result.fun_error) and 0 < result.ledger["result"] < 200


def test_a_sample_of_values_that_differ_by_rounding_states_no_error() -> None:
    value = float(np.log(2.0))
    result = zofw.minimize(
        lambda x, i: value, zofw.Simplex(), dim=3, n=2_500, budget=12_500, rng=0, method="explore-correct"
    )
    assert result.fun == pytest.approx(value) and np.isnan(result.fun_error)


@pytest.mark.parametrize("method", ["auto", "zo-sfw", "zsfw-dvr"])
@pytest.mark.parametrize("budget", [60, 2_000])
def test_a_model_behind_a_plain_function_sees_no_image_beyond_the_budget(method, budget):
    rng, images = np.random.default_rng(0), []
    W = rng.standard_normal((6, 3))

    def model(batch):
        images.extend(batch)
        return batch.reshape(len(batch), -1) @ W

    f = zofw.problems.UniversalAttack(model, rng.uniform(-0.5, 0.5, (12, 6)), rng.integers(0, 3, 12))
    try:
        result = zofw.minimize(f, zofw.LinfBall(0.1), method=method, budget=budget, rng=0)
    except zofw.BudgetError:
        assert not images
    else:
        assert len(images) == result.nfev <= budget and result.ndiagnosis == 0


def test_a_budget_too_small_is_refused_before_anything_is_evaluated_even_for_diagnosis():
    f = Calls()
    with pytest.raises(zofw.BudgetError):
        zofw.minimize(BlackBox(f, dim=4, n=300), SIMPLEX, method="zo-fw", budget=37, diagnose=3)
    assert not f.points


def test_f_at_the_end_is_asked_for_once_whatever_is_extended(tmp_path):
    path, f = tmp_path / "run.npz", Calls()
    box = BlackBox(f, dim=3, n=4)
    first = zofw.minimize(box, SIMPLEX, method="zo-fw", budget=400, rng=0, checkpoint=path)
    assert first.ledger["result"] == 4 and zofw.resume(path, box).nfev == first.nfev == len(f.points)
    longer = zofw.resume(path, box, budget=800)
    assert longer.nit > first.nit and longer.nfev == len(f.points) <= 800 and longer.ledger["result"] == 8


def test_only_a_number_given_for_diagnosis_is_evaluated_beyond_the_budget():
    f = Calls()
    result = zofw.minimize(BlackBox(f, dim=3), SIMPLEX, method="zo-fw", budget=100, rng=0, diagnose=5)
    assert len(f.points) == result.nfev + result.ndiagnosis and result.ndiagnosis > 0
    assert result.ledger["result"] == 0 and np.isfinite(result.trace.objective).all()


# ---------------------------------------------------------------------- one way to an answer


@pytest.mark.parametrize("workers", [0, 2])
def test_policy_covers_diagnosis_too(workers):
    f = Calls(lambda call: call % 7 == 0)
    with ThreadPoolExecutor(2) as pool:
        result = zofw.minimize(
            BlackBox(f, dim=3), SIMPLEX, method="zo-fw", budget=200, rng=0, diagnose=20,
            on_error=zofw.Retry(5, backoff=0.0), workers=pool if workers else None,
        )  # fmt: skip
    assert np.isfinite(result.trace.objective).all() and result.nfev <= 200
    broken = Calls(lambda call: call == 1)
    with pytest.raises(zofw.EvaluationError, match="out of order"):
        zofw.minimize(BlackBox(broken, dim=3), SIMPLEX, method="zo-fw", budget=200, rng=0, diagnose=20)


@pytest.mark.parametrize("way", ["plain", "checkpoint", "timeout", "executor", "on_error", "session", "desk"])
def test_a_radius_below_rounding_is_warned_of_on_every_way(way, tmp_path):
    one = BlackBox(lambda x: 1.0 + float(x @ x), dim=3)
    settings = {"method": zofw.ZSFWDVR(batch_size=1, directions=2, radius=1e-15), "budget": 60, "rng": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if way in ("session", "desk"):
            session = zofw.Session(SIMPLEX, dim=3, **settings)
            if way == "session":
                while (query := session.ask()) is not None:
                    session.tell(query, zofw.problems.evaluate(one, query))
            else:
                desk = zofw.Desk(session)
                while requests := desk.requests():
                    for request in requests:
                        desk.tell(request.id, [one.fun(x) for x, _ in request])
        else:
            with ThreadPoolExecutor(1) as pool:
                more = {
                    "plain": {},
                    "checkpoint": {"checkpoint": tmp_path / "run.npz"},
                    "timeout": {"options": {"timeout": 60.0}},
                    "executor": {"workers": pool},
                    "on_error": {"on_error": zofw.Retry(1)},
                }[way]
                zofw.minimize(one, SIMPLEX, **settings, **more)
    assert sum("is too small for values" in str(warning.message) for warning in caught) == 1


def test_an_error_in_a_callback_has_a_traceback_of_its_own():
    def callback(intermediate_result):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        zofw.minimize(
            Quadratic(np.eye(3), np.ones(3)), SIMPLEX, method="zo-fw", budget=100, callback=callback
        )
    assert caught.value.__context__ is None and caught.value.__cause__ is None


# ---------------------------------------------------------------------- the point that is returned


@pytest.mark.parametrize("method", zofw.methods())
def test_no_point_of_the_set_that_was_paid_for_is_lower(method):
    if method == "frank-wolfe":
        return
    f = Calls()

    def rugged(x):
        return f(x) + 0.3 * float(np.cos(40 * x.sum() + 25 * x[0]))

    result = zofw.minimize(
        BlackBox(rugged, dim=5), zofw.L2Ball(0.7), method=method, budget=700, rng=1, inside=True
    )
    lowest = min(rugged(x) for x in list(f.points))
    assert zofw.L2Ball(0.7).contains(result.x) and result.last.shape == (5,)
    if result.status is not zofw.Status.CONVERGED:
        assert result.fun == rugged(result.x) <= lowest + 1e-12


def test_breast_cancer_ends_no_higher_than_any_point_it_evaluated_whole():
    sklearn = pytest.importorskip("sklearn.datasets")
    data = sklearn.load_breast_cancer()
    Z = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    f = Logistic(Z, np.where(data.target == 1, 1.0, -1.0))
    whole = []

    class Watched(Logistic):
        def sums(self, query, tile):
            found = super().sums(query, tile)
            if query.batch.indices is None and query.stencil.has_base and tile.first:
                whole.extend(query.anchors.copy())
            return found

    watched = Watched(Z, np.where(data.target == 1, 1.0, -1.0))
    result = zofw.minimize(watched, zofw.L1Ball(10.0), budget=20_000, rng=0)
    assert result.fun == pytest.approx(f.value(result.x), rel=1e-9)
    if result.status is not zofw.Status.CONVERGED:
        assert result.fun <= min([f.value(x) for x in whole] + [f.value(result.last)]) + 1e-12


# ---------------------------------------------------------------------- stopping


@pytest.mark.parametrize("n", [1, 50])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_without_a_checkpoint_returns_what_is_known(n, number):
    f = Calls()

    def poked(x, i=0):
        if len(f.points) == 99:
            signal.raise_signal(number)
        return f(x, i)

    box = BlackBox(poked, dim=4, n=n)
    method = "zo-sfw" if n > 1 else "zo-fw"
    result = ended_by_signal(lambda: zofw.minimize(box, SIMPLEX, method=method, budget=10**5, rng=0))
    assert result.status is zofw.Status.INTERRUPTED and not result.success
    assert result.nfev == len(f.points) <= 150 and SIMPLEX.contains(result.x)
    assert signal.getsignal(number) is not None and threading.current_thread() is threading.main_thread()


def study(number, calls):
    """Three runs, of which a signal meets the first; the points of every run."""

    def f(x):
        calls.append(len(results))
        if len(calls) == 30:
            signal.raise_signal(number)
        return float(x @ x)

    results, settings = [], {"method": "zo-fw", "budget": 100}
    for seed in range(3):
        results += [zofw.minimize(BlackBox(f, dim=4), SIMPLEX, rng=seed, **settings)]
    return results


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_of_many_runs_ends_with_the_first_signal(number):
    calls = []
    result = ended_by_signal(lambda: study(number, calls))
    assert set(calls) == {0} and result.nfev == len(calls) == 30


def test_a_notebook_and_a_program_with_its_own_handler_get_the_result(monkeypatch):
    received = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    try:
        statuses = [result.status for result in study(signal.SIGTERM, [])]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]
    assert statuses == [zofw.Status.INTERRUPTED, zofw.Status.BUDGET, zofw.Status.BUDGET]
    monkeypatch.setattr("sys.ps1", ">>> ", raising=False)
    assert [result.status for result in study(signal.SIGINT, [])] == statuses


# ---------------------------------------------------------------------- the end


@dataclass(frozen=True)
class Strays(Still):
    """Leaves the set by a little, and ends as converged."""

    name = "strays"
    by: float = 2e-9

    def step(self, task, state, rng):
        yield Query(state.x, task.all)
        return self.State(1, state.x + self.by), Info(ending=Ending(True, "Nothing is left."))


@pytest.mark.parametrize("diagnose", [None, 20])
def test_x_is_a_member_where_a_run_ends(diagnose):
    region, settings = zofw.CappedSimplex(1.0, 0.5), {"dim": 6, "budget": 90, "diagnose": diagnose}

    def f(x):
        return float(((x - 0.1) ** 2).sum())

    taken = zofw.minimize(f, region, method=Strays(), **settings)
    assert taken.status is zofw.Status.CONVERGED and region.contains(taken.x) and taken.fun == f(taken.x)
    stray = zofw.minimize(f, region, method=Strays(by=-0.1), **settings)
    assert stray.status is zofw.Status.STALLED and "zofw check set" in stray.message
    assert region.contains(stray.x) and region.contains(stray.last) and stray.fun == f(stray.x)


class Forgetful(zofw.CappedSimplex):
    """Lists its caps, forgets its floors, and has no exact members."""

    @property
    def clip(self):
        raise AttributeError("clip")

    def facets(self, dim):
        A, b = super().facets(dim)
        return A[:dim], b[:dim]


def test_a_forgotten_facet_neither_converges_outside_nor_keeps_the_laws():
    def f(x):
        return float(((x - np.array([0.9, 0.6, -0.5, 0.0])) ** 2).sum())

    region = Forgetful(1.0, 0.8)
    result = zofw.minimize(f, region, dim=4, budget=300, rng=0)
    assert region.contains(result.x) and not result.success and result.fun == f(result.x)
    assert "whose methods contradict each other" in result.message
    broken = [finding.law for finding in zofw.check_set(region, 4).failures]
    assert broken == ["facets and the affine hull are the set: the least ⟨g, x⟩ over them is that of lmo(g)"]
