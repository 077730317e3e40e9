"""Interpolation with several points a round: what a round asks, and how many rounds it takes."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw.algorithms.interpolation.frame import Frame
from zofw.algorithms.interpolation.spread import kernel, spread
from zofw.core import WORST, Answer, Task

D = 10


def quadratic(seed: int, condition: float = 100.0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((D, D)))[0]
    H = (Q * np.logspace(0, np.log10(condition), D)) @ Q.T
    x = rng.uniform(-0.5, 0.5, D)
    return lambda z: 0.5 * float((z - x) @ H @ (z - x))


def run(f, workers, gap=1e-6, budget=3000, region=None, **settings):
    """The sizes of all queries until f has fallen to ``gap`` of its first value, and the session."""
    region = region or zofw.Box(-1.0, 1.0)
    session = zofw.Session(
        region, dim=D, budget=budget, rng=0, diagnose=0, workers=workers, method="interpolation", **settings
    )
    sizes, first = [], None
    while (query := session.ask()) is not None:
        values = np.array([f(x) for x in query.anchors])
        first = values[0] if first is None else first
        sizes.append(len(values))
        session.tell(query, Answer(values[:, None]))
        if values.min() <= gap * first:
            break
    return sizes, session


def rounds(sizes, workers):
    return sum(-(-k // workers) for k in sizes)


@pytest.mark.parametrize(("workers", "times"), [(8, 3.5), (32, 5.5)])
def test_a_quadratic_takes_several_times_fewer_rounds(workers, times):
    sooner = []
    for seed in range(3):
        f = quadratic(seed)
        one, many = run(f, 1)[0], run(f, workers)[0]
        sooner.append(len(np.repeat(1, sum(one))) / rounds(many, workers))
    assert np.median(sooner) >= times


@pytest.mark.parametrize("workers", [2, 3, 8, 32])
@pytest.mark.parametrize("budget", [12, 37, 61])
def test_rounds_are_full_and_the_budget_is_spent_to_the_last_value(workers, budget):
    sizes, session = run(
        lambda x: float((x - 0.3) @ (x - 0.3) + (x @ x) ** 2 + np.exp(x[0])), workers, -np.inf, budget
    )
    assert session.nfev <= budget
    first = -(-(D + 1) // workers) * workers
    assert sizes[0] == min(first, budget)
    assert session.nfev == budget or session.run.status is not zofw.Status.BUDGET


@pytest.mark.parametrize("region", [zofw.Simplex(), zofw.L1Ball(1.0), zofw.L2Ball(1.0), zofw.KSparse(2, 3.0)])
def test_every_point_is_a_member(region):
    for query_sizes, session in [run(quadratic(1), 8, 1e-4, 200, region, inside=True)]:
        assert len(query_sizes) > 3 and session.nfev <= 200


def test_kinks_take_sweeps_of_several_points_in_one_query():
    A = np.random.default_rng(0).standard_normal((2 * D, D))
    f = lambda x: float(np.abs(A @ (x - 0.2)).sum())  # noqa: E731
    one, many = run(f, 1, 1e-3)[0], run(f, 32, 1e-3)[0]
    assert sum(one) / rounds(many, 32) >= 5


def test_noise_is_noticed_and_met_by_a_regression():
    rng = np.random.default_rng(0)
    f = quadratic(0)
    noise = 1e-3 * f(np.zeros(D))
    session = run(lambda x: f(x) + noise * rng.standard_normal(), 8, -np.inf, 400)[1]
    assert session.state.regime == "regression"
    assert f(session.x) < 1e-2 * f(np.zeros(D))


def test_a_wall_is_no_end():
    f = quadratic(2)
    sizes, session = run(lambda x: WORST if x[0] > 0.6 else f(x), 8, 1e-3, 400)
    assert f(session.x) <= 1e-3 * f(np.zeros(D)) and sizes


@pytest.mark.parametrize("dim", [6, 7, 8])
def test_huge_values_at_vertices_that_a_round_tries_certify_nothing(dim):
    """Chebyquad in a box: 10⁹ to 10¹⁵ at vertices, whose rounding is larger than f is near its minimum."""

    def f(x):
        mean = np.polynomial.chebyshev.chebvander(2 * x - 1, dim)[:, 1:].mean(axis=0)
        return float(np.sum((mean + [1 / ((k + 1) ** 2 - 1) if k % 2 else 0.0 for k in range(dim)]) ** 2))

    x0 = np.arange(1, dim + 1) / (dim + 1)
    session = zofw.Session(
        zofw.Box(x0 - 10, x0 + 10),
        dim=dim,
        x0=x0,
        budget=20 * (dim + 1),
        rng=0,
        workers=8,
        method="interpolation",
    )
    while (query := session.ask()) is not None:
        session.tell(query, Answer(np.array([[f(x)] for x in query.anchors])))
    result = session.result()
    assert not result.success or result.gap <= f(x0)


def test_a_session_stopped_anywhere_goes_on_bit_for_bit(tmp_path):
    f = quadratic(3)

    def drive(stop):
        session = zofw.Session(zofw.Box(-1.0, 1.0), dim=D, budget=120, rng=0, diagnose=0, workers=8)
        count = 0
        while (query := session.ask()) is not None:
            if count == stop:
                session.checkpoint(tmp_path / "run.npz")
                session = zofw.Session.resume(tmp_path / "run.npz")
                query = session.ask()
            session.tell(query, Answer(np.array([f(x) for x in query.anchors])[:, None]))
            count += 1
        return session.state.values.tobytes(), count

    whole, count = drive(-1)
    assert all(drive(stop)[0] == whole for stop in range(count))


def test_another_number_of_workers_counts_from_the_next_iteration_on(tmp_path):
    f = quadratic(4)
    session = zofw.Session(zofw.Box(-1.0, 1.0), dim=D, budget=100, rng=0, diagnose=0, workers=4)
    for _ in range(2):
        query = session.ask()
        session.tell(query, Answer(np.array([f(x) for x in query.anchors])[:, None]))
    assert len(session.ask().anchors) == 4
    session.checkpoint(tmp_path / "run.npz")
    session = zofw.Session.resume(tmp_path / "run.npz", workers=16)
    sizes = []
    while (query := session.ask()) is not None:
        sizes.append(len(query.anchors))
        session.tell(query, Answer(np.array([f(x) for x in query.anchors])[:, None]))
    assert sizes[0] == 4 and sizes[1] == 16 and session.nfev == 100
    assert session.result().reasons["workers"] == "from iteration 3 on 16, before 4"


def test_designed_points_are_members_near_the_centre_and_lower_the_variance():
    rng, region = np.random.default_rng(0), zofw.Box(-1.0, 1.0)
    frame = Frame.of(Task(region, D), np.zeros(D))
    known, centre = 0.1 * rng.standard_normal((D + 1, D)), np.full(D, 0.95)
    Y = spread(frame, known, centre, 0.3, 12, np.zeros((0, D)), rng)
    assert len(Y) == 12 and all(region.contains(y, 0.0) for y in Y)
    assert np.linalg.norm(Y - centre, axis=1).max() <= 0.3 * (1 + 1e-12)
    U = (Y - centre) / 0.3
    assert np.linalg.matrix_rank(kernel(U, U)) == 12


def test_components_of_a_sum_count_as_evaluations_of_a_round():
    """With more components than workers a round is full with one point, and the run is that of one worker."""

    def states(workers, n):
        session = zofw.Session(
            zofw.Box(-1.0, 1.0),
            dim=4,
            n=n,
            budget=40 * n,
            rng=0,
            diagnose=0,
            workers=workers,
            method="interpolation",
        )
        sizes = []
        while (query := session.ask()) is not None:
            sizes.append(len(query.anchors))
            session.tell(query, Answer(np.array([float(x @ x + x[0]) for x in query.anchors])[:, None]))
        return sizes

    assert states(8, 20) == states(1, 20)
    assert max(states(8, 2)[1:]) == 4
    assert (
        zofw.minimize(
            lambda x: float(x @ x), zofw.Box(-1.0, 1.0), dim=3, max_iter=4, workers=2, rng=0, diagnose=0
        ).nit
        == 4
    )  # without a budget
