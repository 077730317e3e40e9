"""Answering a query: every value asked for, paid for once, whatever the tiles."""

from __future__ import annotations

import importlib
import itertools
from itertools import product

import numpy as np
import pytest

from zofw.core import Batch, EvaluationError, Query, Stencil
from zofw.differences import slopes
from zofw.directions import Explicit, Gaussian, basis
from zofw.problems import BlackBox, Logistic, evaluate
from zofw.problems.abilities import Sums, abilities
from zofw.problems.evaluate import assemble, checked, tile_sums, tiles

ROOM = importlib.import_module("zofw.problems.evaluate")  # the package exports a function of that name
DIM, N = 6, 23
DRAW = Gaussian().draw(np.random.default_rng(0), DIM, 9)
CENTRES = np.random.default_rng(1).normal(size=(N, DIM))


def quartic(X, batch):
    return ((X[:, None, :] - CENTRES[batch]) ** 4).sum(axis=2)


class Counting:
    """A problem that knows how many of its components were evaluated, at which points."""

    n, dim = N, DIM

    def __init__(self):
        self.paid = 0
        self.seen = []

    def values(self, points, components):
        self.paid += len(points) * len(components)
        self.seen.append((points.copy(), components.copy()))
        return quartic(points, components)


class Pairs(Counting):
    """The same with one call for many pairs."""

    def pairs(self, points, components):
        self.paid += len(points)
        return ((points - CENTRES[components]) ** 4).sum(axis=1)


ALONG = (Stencil.CENTRAL, Stencil.FORWARD, Stencil.QUADRATIC)
BATCHES = (None, np.array([5, 5, 0, 22]), np.array([7]))


def questions():
    anchors = np.random.default_rng(2).normal(size=(2, DIM))
    for stencil, indices, variance in itertools.product(ALONG, BATCHES, (False, True)):
        yield Query(anchors, Batch(N, indices), DRAW, 0.05, stencil, variance=variance)
    for stencil in (Stencil.CENTRAL, Stencil.FORWARD):
        pairs = np.array([1, 1, 5, 22, 0, 3, 1, 9, 9])
        yield Query(anchors, Batch(N, pairs), DRAW, 0.05, stencil, paired=True)
    for indices in BATCHES:
        yield Query(anchors, Batch(N, indices))


def answer_by_hand(query):
    """One value at a time, straight from the definition of the stencil."""
    batch = query.batch.slice(0, len(query.batch))
    U = query.directions.columns(0, query.count).T if query.count else np.zeros((0, DIM))
    values, variance = [], []
    for x in query.anchors:
        sides = [x + query.radius * U] + ([x - query.radius * U] if query.stencil.two_sided else [])
        if query.paired:
            owners = batch
            line = [
                np.array([quartic(p[None], [i])[0, 0] for p, i in zip(side, owners, strict=True)])
                for side in sides
            ]
            line += [quartic(x[None], owners)[0]] if query.stencil.has_base else []
            values.append(np.concatenate(line))
            continue
        tables = [quartic(side, batch) for side in sides]
        base = quartic(x[None], batch)
        line = [table.mean(axis=1) for table in tables] + (
            [base.mean(axis=1)] if query.stencil.has_base else []
        )
        values.append(np.concatenate(line))
        if query.variance:
            ends = (tables[1], 2.0) if query.stencil.two_sided else (base, 1.0)
            differences = (tables[0] - ends[0]) / (ends[1] * query.radius)
            variance.append(differences.var(axis=1, ddof=1) if len(batch) > 1 else np.zeros(query.count))
    return np.array(values), np.array(variance)


@pytest.mark.parametrize(
    "query", list(questions()), ids=lambda q: f"{q.stencil.value}-{len(q.batch)}-{q.variance}-{q.paired}"
)
def test_an_answer_is_the_definition_and_costs_what_it_says(query, monkeypatch):
    expected, variance = answer_by_hand(query)
    for kind, (components, values) in product(
        [Counting, Pairs], [(8192, 1 << 22), (1, 2), (4, 12), (5, 60), (8192, 40)]
    ):
        monkeypatch.setattr(ROOM, "TILE_COMPONENTS", components)
        monkeypatch.setattr(ROOM, "TILE_VALUES", values)
        case = f"{kind.__name__}, tiles of {components} components and {values} values"
        problem = kind()
        answer = evaluate(problem, query)
        assert answer.values.shape == (len(query.anchors), query.width), case
        np.testing.assert_allclose(answer.values, expected, rtol=1e-12, err_msg=case)
        assert problem.paid == query.cost, case
        if query.variance:
            np.testing.assert_allclose(answer.variance, variance, rtol=1e-8, atol=1e-12, err_msg=case)
        else:
            assert answer.variance is None, case


def test_every_point_and_component_is_paid_once(monkeypatch):
    monkeypatch.setattr(ROOM, "TILE_VALUES", 24)
    problem = Counting()
    query = Query(np.zeros(DIM), Batch(N), basis(DIM), 1.0, Stencil.QUADRATIC)
    evaluate(problem, query)
    seen = [(tuple(point), i) for points, batch in problem.seen for point in points for i in batch]
    assert len(seen) == len(set(seen)) == query.cost


@pytest.mark.parametrize(
    "query", list(questions()), ids=lambda q: f"{q.stencil.value}-{len(q.batch)}-{q.variance}-{q.paired}"
)
def test_tiles_partition_the_query(query, monkeypatch):
    monkeypatch.setattr(ROOM, "TILE_COMPONENTS", 4)
    monkeypatch.setattr(ROOM, "TILE_VALUES", 16)
    covered = np.zeros((query.width, len(query.batch)))
    for tile in tiles(abilities(Counting()), query):
        for column in query.tile_columns(tile):
            covered[column, tile.top : tile.bottom] += 1
    if query.paired:
        assert (covered.sum(axis=1) >= 1).all()
    else:
        assert (covered == 1).all()


def test_the_order_in_which_tiles_come_back_does_not_matter(monkeypatch):
    monkeypatch.setattr(ROOM, "TILE_COMPONENTS", 4)
    monkeypatch.setattr(ROOM, "TILE_VALUES", 16)
    problem = Counting()
    query = Query(np.ones(DIM), Batch(N), DRAW, 0.1, Stencil.CENTRAL, variance=True)
    parts = tiles(abilities(problem), query)
    order = np.random.default_rng(0).permutation(len(parts))
    sums = dict(zip(order, [tile_sums(problem, query, parts[k]) for k in order], strict=True))
    found = assemble(query, parts, [sums[k] for k in range(len(parts))])
    expected = evaluate(problem, query)
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.variance.tobytes() == expected.variance.tobytes()


def test_slopes_of_a_linear_function_are_its_gradient():
    g = np.arange(1.0, DIM + 1)
    problem = BlackBox(lambda X, batch: (X @ g)[:, None] * np.ones(len(batch)), DIM, N, vectorized=True)
    for stencil in ALONG:
        query = Query(np.ones(DIM), Batch(N), Explicit(np.eye(DIM)), 0.25, stencil)
        np.testing.assert_allclose(slopes(query, evaluate(problem, query))[0], g, rtol=1e-13)


def test_a_variance_without_squares_is_refused():
    query = Query(np.ones(DIM), Batch(N), DRAW, 0.1, Stencil.CENTRAL, variance=True)
    parts = tiles(abilities(Counting()), query)
    with pytest.raises(ValueError, match="a tile came without its squares"):
        assemble(query, parts, [Sums(np.zeros((1, 18))) for _ in parts])


def test_a_structured_problem_gives_tiles_with_all_directions(monkeypatch):
    problem = Logistic(CENTRES, np.ones(N))
    query = Query(np.ones(DIM), Batch(N), DRAW, 0.1, Stencil.CENTRAL)
    monkeypatch.setattr(ROOM, "TILE_COMPONENTS", 10)
    assert [(t.left, t.right, t.top, t.bottom) for t in tiles(abilities(problem), query)] == [
        (0, 9, 0, 10), (0, 9, 10, 20), (0, 9, 20, 23)
    ]  # fmt: skip


def test_pairs_are_checked_too():
    class Wrong(Counting):
        def pairs(self, points, components):
            return np.where(components == 3, np.nan, 1.0)

    class Flat(Counting):
        def pairs(self, points, components):
            return np.ones((len(points), 1))

    query = Query(
        np.ones(DIM), Batch(N, np.array([0, 3, 1, 3, 2, 5, 5, 5, 5])), DRAW, 0.1, Stencil.CENTRAL, paired=True
    )
    with pytest.raises(EvaluationError, match="returned nan for component 3") as caught:
        evaluate(Wrong(), query)
    assert caught.value.component == 3
    np.testing.assert_array_equal(caught.value.point, query.anchors[0] + 0.1 * DRAW.columns(1, 2)[:, 0])
    with pytest.raises(
        EvaluationError, match=r"18 points and a component each .* \(18,\); it returned shape \(18, 1\)"
    ):
        evaluate(Flat(), query)


def test_whole_numbers_are_welcome():
    assert checked([[1, 2]], np.ones((1, 2)), np.arange(2)).dtype == float
