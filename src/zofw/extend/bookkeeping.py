"""Laws of a method's bookkeeping; each yields a sentence where it is broken."""

from __future__ import annotations

import dataclasses
import inspect
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zofw.algorithms import methods
from zofw.algorithms.facts import evaluate as value_of
from zofw.core import Array, ConvexSet, Indices, Problem, State
from zofw.extend.mathematics import MethodSubject
from zofw.extend.play import smooth_sum
from zofw.problems import BlackBox, evaluate, mean_value
from zofw.run import BudgetError, Session
from zofw.run.record.result import Result
from zofw.sets import ConvexHull, L1Ball, L2Ball, NuclearBall, Simplex, as_set, can_project
from zofw.sets.check import Skipped

DIM, N, BUDGET, ITERATIONS = 9, 7, 4000, 8
PROBLEM = smooth_sum(N, DIM)
REGION = L1Ball(1.5)
MANY, FEW, LONG = 90, 7, 14  # components, dimensions and iterations in which both branches of a formula occur


def objective(x: np.ndarray) -> float:
    return mean_value(PROBLEM, x)


def gradient(x: np.ndarray) -> np.ndarray:
    """Return differences over a length of two: exact on quadratics."""
    return np.array([(objective(x + e) - objective(x - e)) / 2 for e in np.eye(len(x))])


def session(on: MethodSubject, region: ConvexSet = REGION, **limits: Any) -> Session:
    settings = {"budget": BUDGET, "max_iter": ITERATIONS} | limits
    return Session(
        region, dim=DIM, n=N, method=on.settings, rng=5, objective=objective, gradient=gradient, **settings
    )


def counting(made: list[int]) -> Problem:
    """Return the problem, which notes how many values are computed of it."""

    def values(points: Array, components: Indices) -> Array:
        made.append(len(points) * len(components))
        return PROBLEM.values(points, components)

    return BlackBox(values, DIM, N, vectorized=True)


def finish(run: Session, problem: Problem = PROBLEM) -> tuple[Result, list[State]]:
    """Run to the end; return the result, and the state after every iteration."""
    seen: list[State] = []
    run.observers.append(lambda run: seen.append(run.state))
    while (query := run.ask()) is not None:
        run.tell(query, evaluate(problem, query))
    return run.result(), seen


def stays_inside_and_is_counted(on: MethodSubject) -> Iterator[str]:
    """every iterate is a member, t grows by one, and every query is counted within the budget"""
    for region in (REGION, L2Ball(1.5), Simplex(), NuclearBall(2.0, (3, 3))):
        run, made = session(on, region), list[int]()
        result, seen = finish(run, counting(made))
        for state in seen:
            if not as_set(region).contains(state.x, 1e-8):
                yield f"x after iteration {state.t - 1} is {state.x}, outside {region!r}."
        if [state.t for state in seen] != list(range(1, len(seen) + 1)) or not seen:
            yield f"t should be 1, 2, … after the iterations; it was {[state.t for state in seen]}."
        if not (run.nfev == sum(made) == sum(run.ledger.values()) <= BUDGET):
            yield f"{sum(made)} values were computed and {run.nfev} queries counted, with a budget of {BUDGET}."
        if not np.isfinite(result.fun):
            yield f"the objective at the end is {result.fun} on {region!r}."


def resumes_from_any_query(on: MethodSubject) -> Iterator[str]:
    """a run that is saved and read again before every query is the uninterrupted run, bit for bit"""
    whole, _ = finish(session(on))
    run = session(on)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        while (query := run.ask()) is not None:
            run.checkpoint(path)
            own = (
                {} if on.method in list(methods) else {"method": on.settings}
            )  # a file names no code but ours
            run = Session.resume(path, objective=objective, gradient=gradient, **own)
            again = run.ask()
            if again is None or again.cost != query.cost or not np.array_equal(again.anchors, query.anchors):
                yield f"query {run.nfev} is another one after a resume; step must be a function of (task, state, rng)."
                return
            run.tell(again, evaluate(PROBLEM, again))
    parts = run.result()
    same = ("nfev", "nlmo", "nit", "status", "ledger")
    if not np.array_equal(parts.x, whole.x) or any(parts[name] != whole[name] for name in same):
        yield f"x ends at {parts.x} instead of {whole.x}."


def is_pure(on: MethodSubject) -> Iterator[str]:
    """a step changes neither the state it was given nor its settings, and the same seed is the same run"""
    run, kept = session(on), []
    run.observers.append(lambda run: kept.append((run.state, _frozen(run.state), repr(run.run.method))))
    result, _ = finish(run)
    for state, before, settings in kept:
        if _frozen(state) != before or repr(run.run.method) != settings:
            yield f"the state after iteration {state.t - 1}, or the settings, were changed by a later step."
    if not np.array_equal(finish(session(on))[0].last, result.last):
        yield "two runs with one seed end at different points; draw from the rng that step is given."


def _frozen(state: State) -> str:
    """Return everything that is in a state, down to the last bit of its arrays."""
    with np.printoptions(threshold=2**31, floatmode="unique", precision=17):
        return repr(state)


def settings_are_a_value(on: MethodSubject) -> Iterator[str]:
    """settings are a frozen dataclass that can be compared, copied and printed, under the name it is registered by"""
    run = session(on)
    settings: Any = run.run.method
    if not dataclasses.is_dataclass(type(settings)) or dataclasses.replace(settings) != settings:
        yield f"{settings!r} and its copy differ, or it is no dataclass."
    if not repr(settings).startswith(type(settings).__name__):
        yield f"{settings!r} should print as {type(settings).__name__}(…)."
    if not type(settings).__dataclass_params__.frozen:
        yield f"{type(settings).__name__} should be a dataclass(frozen=True)."
    if isinstance(on.method, str) and type(settings).name != on.method:
        yield f"it is registered as {on.method!r} and has the name {type(settings).name!r}."


def least_budget_is_enough(on: MethodSubject) -> Iterator[str]:
    """the least budget pays for one iteration, and one query less is refused with that number"""
    first = session(on, budget=10**7, max_iter=1)
    least = finish(first)[0].nfev
    if least < 2:
        raise Skipped("the first iteration asks one query or none")
    fixed = MethodSubject(first.run.method)
    if finish(session(fixed, budget=least))[0].nfev != least:
        yield f"an iteration takes {least} queries, and with a budget of {least} none is made."
    try:
        finish(session(fixed, budget=least - 1))
        yield f"an iteration takes {least} queries, and a budget of {least - 1} is not refused."
    except BudgetError as error:
        if error.least != least:
            yield f"the refusal of {least - 1} queries names {error.least} as the least, not {least}."


def asks_at_its_radius(on: MethodSubject) -> Iterator[str]:
    """every difference is asked for at the radius of its settings, where they have one"""
    run = session(on)
    radius = vars(run.run.method).get("radius")
    if radius is None:
        raise Skipped("its settings have no radius")
    while (query := run.ask()) is not None:
        stated = radius(run.nit) if callable(radius) else radius
        if query.count and query.radius != stated:
            yield f"iteration {run.nit} asks at the radius {query.radius:g}, and its settings say {stated:g}."
        run.tell(query, evaluate(PROBLEM, query))


def refuses_sets_it_cannot_use(on: MethodSubject) -> Iterator[str]:
    """on a set without projection it runs, or says that it projects"""
    hull = ConvexHull(np.random.default_rng(1).standard_normal((DIM + 3, DIM)))
    if can_project(hull):
        raise Skipped("every set can project")
    try:
        _, seen = finish(session(on, hull))
    except ValueError as error:
        if "project" not in str(error):
            yield f"the refusal should speak of the projection; it says: {error}"
        return
    # the last x of a run is put back into the set, so the states themselves are looked at
    outside = [state.x for state in seen if not hull.contains(state.x, 1e-7)]
    if outside:
        yield f"x = {outside[0]} lies outside {hull!r}."


def is_documented(on: MethodSubject) -> Iterator[str]:
    """the module's docstring is the pseudo-code with References, and the class has one"""
    kind = type(on.settings)
    if "References" not in (inspect.getdoc(inspect.getmodule(kind)) or "") or not kind.__doc__:
        yield f"the docstring of {kind.__module__} should be the paper's box and its References."


def charges_what_it_states(on: MethodSubject) -> Iterator[str]:
    """queries and LMO calls of every iteration are those of its facts"""
    facts, (run, rows) = on.facts, _prices(on)
    names = facts.names(run.run.method, MANY, FEW) | {"R": REGION.diameter(FEW)}
    tolerance: Callable[[int], float] | None = vars(run.run.method).get("tolerance")
    for t, (spent, calls, refresh) in enumerate(rows):
        here = names | {"t": t, "refresh": refresh, "adaptive": spent}
        here |= {} if tolerance is None else {"mu": tolerance(t)}
        stated = value_of(facts.queries, here)
        if spent != stated:
            yield f"iteration {t} costs {spent} queries, and Facts(queries={facts.queries!r}) states {stated}."
        low, high = facts.lmo if isinstance(facts.lmo, tuple) else (facts.lmo, facts.lmo)
        if not value_of(low, here) <= calls <= value_of(high, here):
            yield f"iteration {t} makes {calls} LMO calls, and Facts(lmo={facts.lmo!r}) states otherwise."
    if " if " in facts.queries and len({spent for spent, *_ in rows}) < 2:
        yield f"only one branch of Facts(queries={facts.queries!r}) occurred in {LONG} iterations, so it proves nothing."


def _prices(on: MethodSubject) -> tuple[Session, list[tuple[int, int, bool]]]:
    """Return a finished run; queries, LMO calls and refresh of every iteration."""
    problem = smooth_sum(MANY, FEW)
    limits: dict[str, Any] = {
        "max_iter": LONG,
        "rng": 3,
        "gradient": (lambda x: x) if on.first_order else None,
    }
    run = Session(REGION, dim=FEW, n=MANY, method=on.settings, **limits)
    rows: list[tuple[int, int, bool]] = []

    def watch(run: Session) -> None:
        spent, calls = run.nfev - sum(row[0] for row in rows), run.nlmo - sum(row[1] for row in rows)
        rows.append((spent, calls, bool(run.info.numbers.get("refresh"))))

    run.observers.append(watch)
    finish(run, problem)
    return run, rows


LAWS = (
    stays_inside_and_is_counted,
    resumes_from_any_query,
    is_pure,
    settings_are_a_value,
    least_budget_is_enough,
    asks_at_its_radius,
    refuses_sets_it_cannot_use,
    is_documented,
    charges_what_it_states,
)
