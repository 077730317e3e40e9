"""The session: counting, budget, stopping, seeding, and what it refuses."""

from __future__ import annotations

import itertools
import logging
import math
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import killable
import numpy as np
import pytest

import zofw
from conftest import Still, quadratic_sum
from zofw.core import Answer, Ending, Info, Query, Stencil, Tile
from zofw.problems import evaluate, mean_value
from zofw.run.session.events import Failed, Part
from zofw.run.session.stopping import cost_of_value, learn, student


def solve(session: zofw.Session, problem: object) -> zofw.Result:
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem, query))
    return session.result()


def test_the_budget_is_spent_to_the_last_affordable_iteration_and_never_exceeded():
    f = quadratic_sum()
    price, kept = f.n * (f.dim + 1), 2
    for budget in (price + 2, price + 3, 5 * price + 1, 5 * price + 2):
        result = zofw.minimize(f, zofw.L1Ball(1.0), method="zo-fw", budget=budget, rng=0)
        assert result.ledger["result"] == (f.n if f.n <= budget // 20 else max(kept, budget // 100))
        assert result.nit == (budget - result.ledger["result"]) // price
        assert result.nfev == result.nit * price + result.ledger["result"] <= budget
        assert result.status is zofw.Status.BUDGET and not result.success
        assert sum(result.ledger.values()) == result.nfev


def test_a_budget_too_small_for_one_iteration_states_the_least():
    f = quadratic_sum()
    with pytest.raises(
        zofw.BudgetError, match=r"takes 49, and 2 are kept back to evaluate f at the end\. Give at least 51"
    ) as error:
        zofw.minimize(f, zofw.L1Ball(1.0), method="zo-fw", budget=50)
    assert error.value.least == 51


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ({"max_iter": 3}, "MAX_ITER"),
        ({"options": {"max_lmo": 4}}, "MAX_LMO"),
        ({"options": {"max_time": 1e-9}}, "MAX_TIME"),
    ],
)
def test_limits_stop_with_their_own_status(limit, status):
    result = zofw.minimize(quadratic_sum(), zofw.Simplex(), method="zo-fw", budget=10**6, rng=0, **limit)
    assert result.status.name == status and result.message == result.status.sentence and not result.success
    assert {"MAX_ITER": result.nit == 3, "MAX_LMO": result.nlmo == 4}.get(status, True)


def test_a_target_ends_a_run_at_the_first_value_that_reaches_it(tmp_path):
    given = {
        "dim": 4,
        "rng": 0,
        "method": "zo-fw",
        "checkpoint": tmp_path / "run.npz",
        "x0": [1.0, 0.0, 0.0, 0.0],
    }
    result = zofw.minimize(
        lambda x: float(x @ x), zofw.Simplex(), budget=2000, options={"target": 0.5}, **given
    )
    assert result.status is zofw.Status.TARGET and result.success and result.fun <= 0.5 and result.nfev < 200
    problem = zofw.problems.BlackBox(lambda x: float(x @ x), dim=4)
    lower = zofw.resume(tmp_path / "run.npz", problem, target=0.26)
    assert lower.status is zofw.Status.TARGET and lower.fun <= 0.26 and lower.nfev > result.nfev
    assert zofw.resume(tmp_path / "run.npz", problem, target=0.0).status is zofw.Status.BUDGET
    with pytest.raises(ValueError, match="Nothing would ever stop this run"):
        zofw.minimize(lambda x: 0.0, zofw.Simplex(), dim=3, options={"target": 0.0})


def test_what_fails_is_charged_and_refused_where_the_open_query_could_not_be_paid_any_more():
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zo-fw", budget=100, rng=0)
    query = session.ask()
    session.put(Failed(session.number, cost=5))
    assert session.ledger["failed"] == session.nfev == 5 and session.ask() is query
    tile = Tile(0, query.count, 0, query.size).cells(0, 3)
    session.put(Part(session.number, tile, np.ones(3)))
    assert session.nfev == 8 and session.ledger[query.purpose.line] == 3, "a part is charged when it comes"
    left = int(session.remaining) - (query.cost - 3)
    session.put(Failed(session.number, cost=left))
    assert session.ask() is query, "the open query can still be paid, with nothing to spare"
    session.put(Failed(session.number, cost=1))
    assert session.ask() is not query, "and now not any more: what it has had has brought nothing"
    assert session.ledger["failed"] == session.nfev == 5 + left + 1 + 3 and session.nit == 0


def test_gap_tolerance():
    """A gap without a bound ends a run as estimated, at the very point where the gap was found."""
    f, region = quadratic_sum(), zofw.L1Ball(0.1)
    result = zofw.minimize(f, region, method="zo-fw", budget=10**6, gap_tol=1e-2, rng=0)
    assert result.status is zofw.Status.ESTIMATED and not result.success and result.gap <= 1e-2
    g = np.array(
        [(mean_value(f, result.x + h) - mean_value(f, result.x - h)) / 2e-6 for h in 1e-6 * np.eye(f.dim)]
    )
    assert result.gap == pytest.approx(g @ (result.x - region.lmo(g)), rel=1e-3)


@dataclass(frozen=True)
class Boaster:
    """Says that it has converged, with whatever bound it was given."""

    bound: float | None
    converged: bool = True
    name: ClassVar[str] = "boaster"
    State: ClassVar = zofw.papers.ZOFW.State

    def init(self, task, x0):
        return self.State(0, x0)

    def step(self, task, state, rng):
        yield Query(state.x, task.all)
        return self.State(1, state.x), Info(0.5, bound=self.bound, ending=Ending(self.converged, "Done."))


@pytest.mark.parametrize(
    ("bound", "converged", "gap_tol", "status"),
    [
        (None, True, None, "CONVERGED"),
        (None, False, None, "STALLED"),
        (None, True, 1.0, "STALLED"),
        (2.0, True, 1.0, "STALLED"),
        (1.0, False, 1.0, "CONVERGED"),
    ],
)
def test_no_run_converges_with_a_bound_above_its_tolerance(bound, converged, gap_tol, status):
    method = Boaster(bound, converged)
    result = zofw.minimize(
        quadratic_sum(), zofw.L1Ball(1.0), method=method, budget=10**4, gap_tol=gap_tol, rng=0
    )
    assert result.status.name == status and result.nit == 1 and result.message == "Done."
    assert result.success == (status == "CONVERGED")


def test_callback_sees_the_run_and_stops_it():
    seen = []

    def callback(intermediate_result):
        seen.append((intermediate_result.nit, intermediate_result.nfev, intermediate_result.fun))
        if intermediate_result.nit == 3:
            raise StopIteration

    f = quadratic_sum()
    result = zofw.minimize(
        f, zofw.L1Ball(1.0), method="zo-fw", budget=10**4, callback=callback, rng=0, diagnose=20
    )
    assert result.status is zofw.Status.CALLBACK and not result.success and result.nit == 3
    assert [nit for nit, _, _ in seen] == [1, 2, 3]
    assert seen[-1][2] == pytest.approx(zofw.problems.mean_value(f, result.last))
    assert result.fun <= seen[-1][2]


def test_the_same_seed_gives_the_same_run():
    f, ball = quadratic_sum(), zofw.L1Ball(1.0)
    runs = [
        zofw.minimize(f, ball, method="zsfw-dvr", budget=5000, rng=seed)
        for seed in (7, np.random.SeedSequence(7), 8, np.random.default_rng(7), np.random.default_rng(7))
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    np.testing.assert_array_equal(runs[3].x, runs[4].x)
    assert not np.array_equal(runs[0].x, runs[2].x)
    assert zofw.minimize(f, ball, method="zo-sfw", budget=100).nfev <= 100


def test_the_trace_begins_at_x0_and_ends_at_x():
    f = quadratic_sum()
    result = zofw.minimize(f, zofw.L1Ball(1.0), method="zo-sfw", budget=3000, rng=0, diagnose=20)
    trace = result.trace
    assert "nfev: 3,000 (" in repr(result) and "trace: " in repr(result) and result.message in repr(result)
    page = result._repr_html_()
    assert "<polyline" in page and "3,000" in page and "nan" not in page
    assert trace.queries[0] == 0 and trace.queries[-1] == result.nfev
    assert trace.objective[0] == pytest.approx(zofw.problems.mean_value(f, np.zeros(f.dim)))
    assert trace.objective[-1] == pytest.approx(zofw.problems.mean_value(f, result.last))
    assert result.fun == trace.objective.min() == zofw.problems.mean_value(f, result.x)
    assert result.ndiagnosis == len(trace) * f.n
    assert np.all(np.diff(trace.time) >= 0) and set(trace.names) == {"gap", "gamma"}
    pytest.importorskip("pandas")
    assert list(trace.to_frame().columns)[:5] == ["nit", "nfev", "nlmo", "fun", "time"]
    with pytest.raises(KeyError, match="has no column 'nothing'"):
        trace["nothing"]


def test_diagnosis_can_be_switched_off():
    calls = []

    def f(x):
        calls.append(1)
        return float(x @ x)

    problem = zofw.problems.BlackBox(f, dim=4)
    result = zofw.minimize(problem, zofw.Simplex(), method="zo-fw", budget=50, diagnose=0)
    assert len(calls) == result.nfev == 50 and result.ledger["result"] == result.ndiagnosis == 0
    assert result.fun == f(result.x) and np.isnan(result.trace.objective).all()


def test_asking_twice_and_telling_nonsense():
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zo-fw", budget=200, rng=0)
    query = session.ask()
    assert session.ask() is query
    with pytest.raises(ValueError, match="not the open query"):
        session.tell(Query(np.zeros(f.dim), session.task.all), Answer(np.zeros((1, 1))))
    with pytest.raises(ValueError, match=r"shape \(1, 7\); the answer has \(1, 3\)"):
        session.tell(query, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="not finite"):
        session.tell(query, np.full(7, np.nan))
    assert session.nfev == 0
    session.tell(query, evaluate(f, query).values)
    with pytest.raises(ValueError, match="not the open query"):
        session.tell(query, evaluate(f, query))
    assert session.nfev == query.cost


def test_what_is_refused_before_the_first_query():
    f, ball = quadratic_sum(), zofw.L1Ball(1.0)
    for wrong, message in [
        ({}, "Nothing would ever stop"),
        ({"budget": 0}, "budget should be a positive whole number"),
        ({"budget": 10.5}, "budget should be a positive whole number"),
        ({"options": {"max_time": -1}}, "max_time should be a positive number"),
        ({"budget": 99, "x0": np.ones(2)}, "should have 6 entries; it has 2"),
        ({"budget": 99, "x0": np.full(f.dim, np.nan)}, "not finite"),
        ({"budget": 99, "method": "zo-fv"}, "did you mean"),
        ({"budget": 99, "method": 3}, "registered name or a settings object"),
    ]:
        with pytest.raises((ValueError, TypeError, KeyError), match=message):
            zofw.minimize(f, ball, **{"method": "zo-fw", **wrong})
    with pytest.raises(ValueError, match="The dimension is not known"):
        zofw.minimize(lambda x: 0.0, ball, budget=10)
    with pytest.raises(ValueError, match="dim"):
        zofw.minimize(f, zofw.Box(np.zeros(3), np.ones(3)), budget=10)


def test_errors_of_the_oracle_name_query_component_and_seed():
    def values(X, batch):
        table = np.zeros((len(X), len(batch)))
        table[0, batch == 3] = np.nan
        return table

    f = zofw.problems.BlackBox(values, dim=4, n=5, vectorized=True)
    with pytest.raises(
        zofw.EvaluationError, match=r"nan for component 3 .* query 0 of the run .*in iteration 0, .*with seed"
    ):
        zofw.minimize(f, zofw.Simplex(), method="zo-fw", budget=1000, rng=11, diagnose=0)


def test_stopping_from_outside():
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zo-fw", budget=500, rng=0)
    query = session.ask()
    session.tell(query, evaluate(f, query))
    session.ask()
    session.stop()
    assert session.ask() is None and session.result().status is zofw.Status.INTERRUPTED
    assert session.nit == 1 and math.isnan(session.result().fun)


def test_an_iteration_that_runs_out_of_budget_may_end_with_what_it_has():
    from dataclasses import dataclass

    from zofw.core import OutOfBudget

    @dataclass(frozen=True)
    class Hungry(Still):
        catch: bool

        def step(self, task, state, rng):
            value = (yield Query(state.x, task.all)).values[0, 0]
            try:
                while value > 0:  # rehearsed with zeros: one query; in earnest: until the money is gone
                    yield Query(state.x, task.all)
            except OutOfBudget:
                if not self.catch:
                    raise
            return self.State(state.t + 1, state.x), Info()

    f = zofw.problems.BlackBox(lambda x: 1.0, dim=2)
    caught = zofw.minimize(f, zofw.Simplex(), method=Hungry(True), budget=7)
    assert (caught.nit, caught.nfev, caught.status) == (1, 7, zofw.Status.BUDGET)
    dropped = zofw.minimize(f, zofw.Simplex(), method=Hungry(False), budget=7)
    assert (dropped.nit, dropped.nfev, dropped.status) == (0, 7, zofw.Status.BUDGET)


def test_logging_is_plain(caplog):
    with caplog.at_level(logging.INFO, logger="zofw"):
        zofw.minimize(quadratic_sum(), zofw.L1Ball(1.0), method="zo-fw", budget=100, rng=0)
    assert "zo-fw stopped after 2 iterations and 100 queries" in caplog.text


def test_progress_is_quiet_in_pipes_and_shown_on_demand(capsys):
    f = quadratic_sum()
    zofw.minimize(f, zofw.L1Ball(1.0), method="zo-sfw", budget=2000, rng=0)
    assert capsys.readouterr() == ("", "")
    slow = zofw.problems.BlackBox(lambda x: float(__import__("time").sleep(0.02) or x @ x), dim=3)
    zofw.minimize(slow, zofw.L1Ball(1.0), method="zo-fw", budget=40, rng=0, options={"progress": True})
    zofw.minimize(slow, zofw.L1Ball(1.0), method="zo-fw", max_iter=8, rng=0, options={"progress": True})
    out, err = capsys.readouterr()
    assert out == "" and "zo-fw" in err and "objective" in err


def test_results_plot_and_survive_a_file(tmp_path):
    result = zofw.minimize(
        quadratic_sum(), zofw.L1Ball(1.0), method="zo-sfw", budget=2000, rng=0, diagnose=20
    )
    result.save(tmp_path / "r.npz")
    again = zofw.Result.load(tmp_path / "r.npz")
    np.testing.assert_array_equal(again.x, result.x)
    assert (
        again.status is result.status
        and again.trace.rows == result.trace.rows
        and again.ledger == result.ledger
    )
    matplotlib = pytest.importorskip("matplotlib")

    matplotlib.use("agg")
    assert result.plot().get_xlabel().startswith("queries")
    assert result.plot(optimum=0.0).get_yscale() == "log"


def test_stencils_answer_what_they_say():
    f = quadratic_sum()
    x = np.full(f.dim, 0.1)
    U = zofw.directions.Rademacher().draw(np.random.default_rng(0), f.dim, 4)
    from zofw.core import Batch
    from zofw.differences import base_values, curvatures, slopes

    mean = partial(zofw.problems.mean_value, f)
    for stencil, width in [(Stencil.CENTRAL, 8), (Stencil.FORWARD, 5), (Stencil.QUADRATIC, 9)]:
        query = Query(x, Batch(f.n), U, 1e-3, stencil)
        answer = evaluate(f, query)
        assert query.cost == width * f.n and answer.values.shape == (1, width)
        M = U.columns(0, 4)
        ahead = np.array([mean(x + 1e-3 * M[:, j]) for j in range(4)])
        np.testing.assert_allclose(answer.values[0, :4], ahead)
        exact = np.array([(mean(x + 1e-3 * M[:, j]) - mean(x - 1e-3 * M[:, j])) / 2e-3 for j in range(4)])
        np.testing.assert_allclose(slopes(query, answer)[0], exact, atol=0.02)
    np.testing.assert_allclose(base_values(query, answer)[0], mean(x))
    bend = [(mean(x + M[:, j]) - 2 * mean(x) + mean(x - M[:, j])) for j in range(4)]
    np.testing.assert_allclose(curvatures(query, answer)[0], bend, rtol=1e-6)
    plain = Query(x, Batch(f.n))
    with pytest.raises(ValueError, match="Plain values have no slopes"):
        slopes(plain, evaluate(f, plain))
    with pytest.raises(ValueError, match="QUADRATIC"):
        curvatures(plain, evaluate(f, plain))
    central = Query(x, Batch(f.n), U, 1e-3, Stencil.CENTRAL)
    with pytest.raises(ValueError, match="did not ask"):
        base_values(central, evaluate(f, central))
    for wrong in (
        lambda: Query(x, Batch(f.n), U, 1e-3, Stencil.VALUE),
        lambda: Query(x, Batch(f.n), U, 0.0, Stencil.CENTRAL),
        lambda: Query(x[:2], Batch(f.n), U, 1e-3, Stencil.CENTRAL),
        lambda: Query(x, Batch(f.n), U, 1e-3, Stencil.QUADRATIC, paired=True),
        lambda: Query(x, Batch(f.n), U, 1e-3, Stencil.CENTRAL, paired=True),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_spawned_seeds_are_runs_of_their_own():
    f, ball = quadratic_sum(), zofw.L1Ball(1.0)
    parent = np.random.SeedSequence(9)
    child = parent.spawn(1)[0]
    runs = [
        zofw.minimize(f, ball, method="zo-sfw", budget=500, rng=rng).x
        for rng in (9, child, child.spawn(1)[0], np.random.PCG64(9), np.array([9, 4]))
    ]
    for i, one in enumerate(runs):
        for other in runs[:i]:
            assert not np.array_equal(one, other)


def test_a_run_cannot_be_spoilt_from_outside():
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zsfw-dvr", budget=900, rng=0)
    for array in (session.x, session.ask().anchors):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 9.0


def test_a_step_beyond_the_set_is_refused_whenever_it_comes():
    f = quadratic_sum()
    for schedule in (lambda t: 2.0 if t == 7 else 0.5, lambda t: 2.0 if t == 123 else 0.5, lambda t: -1.0):
        with pytest.raises(ValueError, match=r"\(0, 1\]"):
            zofw.minimize(
                f, zofw.L1Ball(1.0), method=zofw.papers.ZOSFW(step_size=schedule), max_iter=200, rng=0
            )


@pytest.mark.parametrize(
    "wrong", [{"gap_tol": -1.0}, {"gap_tol": math.nan}, {"diagnose": -1}, {"budget": True}]
)
def test_more_that_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        zofw.minimize(quadratic_sum(), zofw.L1Ball(1.0), method="zo-fw", **({"budget": 100} | wrong))
    with pytest.raises(ValueError, match="n should be a whole number"):
        zofw.Session(zofw.L1Ball(1.0), dim=3, n=0, budget=10)


def test_the_error_of_a_sampled_value_is_that_of_a_sample_without_replacement():
    """E[(fun_error/factor)²] = S²/m (1 − m/n), S² the variance of the components; both factors count."""
    n, budget, rng = 200, 3_900, np.random.default_rng(4)
    values, squares, means = rng.standard_normal(n), [], []
    run = SimpleNamespace(x=np.zeros(2), n=n, limits=SimpleNamespace(budget=budget), nfev=0, each=0)
    for _ in range(3_000):
        asking = learn(run, lambda: rng)
        query = next(asking)
        with pytest.raises(StopIteration) as end:
            while True:
                query = asking.send(Answer(np.array([[values[query.batch.slice(0, query.size)].mean()]])))
        squares.append((end.value.value.error / student(20, cost_of_value(n, budget))) ** 2)
        means.append(end.value.value.value)
    m = cost_of_value(n, budget)
    factors = [student(groups, 10**6) for groups in (20, 5, 2)]
    assert end.value.value.drawn == m and 1.0 < factors[0] < 1.1 < factors[1] < 1.6 < factors[2]
    assert student(20, 20) == pytest.approx(student(20, 10**12) * (1 + 1.5 / math.sqrt(20)), rel=1e-5)
    stated = values.var(ddof=1) / m * (1 - m / n)
    assert m < n and np.mean(squares) == pytest.approx(stated, rel=0.04)
    assert np.var(means) == pytest.approx(stated, rel=0.15)


def test_the_whole_budget_is_spent_where_f_at_x_is_paid_and_a_resumed_run_spends_the_same(tmp_path):
    def f(x):
        return float(((x - 0.3) ** 2).sum() + np.sin(9 * x[0]) * x[1])

    box = [(-1, 1)] * 3
    for budget in (7, 12, 20):
        whole = zofw.minimize(f, box, budget=budget, rng=0)
        assert whole.nfev == budget and whole.message == f"The run spent {budget} of {budget} queries."
        for last in range(budget - 3, budget):
            made = itertools.count()

            path = tmp_path / f"{budget}-{last}.npz"
            settings = {"budget": budget, "rng": 0, "checkpoint": path}
            with killable.killed(path) as die:

                def dying(x, last=last, made=made, die=die):
                    if next(made) == last:
                        die()
                    return f(x)

                zofw.minimize(dying, box, **settings)
            again = zofw.minimize(f, box, **settings, resume="auto")
            assert again.x.tobytes() == whole.x.tobytes() and again.nfev == budget


def test_a_budget_below_what_was_spent_is_mentioned(tmp_path):
    settings = {"dim": 3, "rng": 0, "checkpoint": tmp_path / "run.npz", "method": "zo-fw"}
    spent = zofw.minimize(lambda x: float(x @ x), "simplex", budget=90, **settings).nfev
    message = zofw.minimize(lambda x: float(x @ x), "simplex", budget=50, resume=True, **settings).message
    assert message == (
        f"The budget is now 50 queries, and {spent} were spent before: none is left. Give a larger budget to go on."
    )
