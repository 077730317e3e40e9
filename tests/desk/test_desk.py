"""A desk in memory: any order, any portions, twice, not at all; the same bits and the same ledger as minimize."""

from __future__ import annotations

import json
import math

import laboratories as lab
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zofw
from conftest import examples
from zofw.desk import AnswerError, Request
from zofw.desk.files import parse

METHODS = [name for name, cls in zofw.methods().items() if not getattr(cls, "first_order", False)]
WHOLE = {name: lab.whole(name) for name in METHODS}


def answer_somehow(desk: zofw.Desk, rng: np.random.Generator) -> int:
    """Requests in random order, each in random portions, some twice, through JSON; how many evaluations were made."""
    made = 0
    while requests := desk.requests(limit=int(rng.integers(1, 20))):
        for k in rng.permutation(len(requests)):
            request = Request.unpack(parse(requests[k].json()))
            values = lab.values(request)
            made += len(values)
            portion = rng.integers(3, size=len(values))
            for which in rng.permutation(3):
                part = [value if portion[j] == which else None for j, value in enumerate(values)]
                news = desk.take(json.loads(json.dumps({"id": request.id, "values": part})))
                assert news == int((portion == which).sum())
            assert desk.tell(request.id, values) == 0
    return made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 5])
def test_any_order_and_any_portions_give_the_bits_of_minimize(method, size):
    desk = zofw.Desk(lab.session(method), size=size)
    made = answer_somehow(desk, np.random.default_rng(7))
    assert desk.done and lab.same(desk.result(), WHOLE[method])
    assert made == WHOLE[method].nfev


@given(
    st.sampled_from(["explore-correct", "zsfw-dvr", "zo-sfw"]),
    st.integers(1, 40),
    st.integers(0, 2**32),
)
@examples(40)
def test_property(method, size, seed):
    desk = zofw.Desk(lab.session(method), size=size)
    answer_somehow(desk, np.random.default_rng(seed))
    assert lab.same(desk.result(), WHOLE[method])


def test_inside_and_batches_with_repetitions():
    method = zofw.papers.ZOSFW(batch_size=8, directions=4, radius=1e-3)
    given = {"budget": 2000, "inside": True}
    desk = zofw.Desk(lab.session(method, **given), size=9)
    points = [x for request in desk.requests() for x, _ in request]
    assert all(zofw.L2Ball(1.0).contains(x) for x in points)
    answer_somehow(desk, np.random.default_rng(0))
    assert lab.same(desk.result(), lab.whole(method, **given))


def test_a_shared_base_point_is_asked_once_for_each_component():
    desk = zofw.Desk(lab.session("zo-fw"), size=1000)
    (request,) = desk.requests()
    query = desk.session.ask()
    pairs = {(x.tobytes(), i) for x, i in request}
    assert len(request) == query.cost == len(pairs) == lab.N * (lab.DIM + 1)
    assert len(request.points) == lab.DIM + 1
    desk.tell(request.id, lab.values(request))
    assert desk.session.nfev == query.cost


def test_asking_again_asks_the_same():
    desk, twin = zofw.Desk(lab.session()), zofw.Desk(lab.session())
    first, again, other = desk.requests(3), desk.requests(3), twin.requests(3)
    assert [r.id for r in first] == [r.id for r in again] == [r.id for r in other]
    assert len({r.id for r in desk.requests()}) == len(desk.requests())
    assert all(np.array_equal(a.points, b.points) for a, b in zip(first, other, strict=True))
    assert first[0].points.flags.writeable is False


def test_open_evaluations_never_exceed_the_budget():
    desk = zofw.Desk(lab.session("zsfw-dvr", max_iter=None, budget=150), size=2)
    rng, paid = np.random.default_rng(0), 0
    while requests := desk.requests():
        wanted = sum(len(request) for request in requests)
        assert paid + wanted <= 150
        request = requests[rng.integers(len(requests))]
        if rng.random() < 0.1:
            paid += len(request)
            desk.fail(request.id, "the pump broke")
        else:
            paid += desk.tell(request.id, lab.values(request))
    result = desk.result()
    assert result.nfev == paid <= 150 and result.ledger["failed"] > 0
    assert result.status is zofw.Status.BUDGET


def test_a_value_that_comes_twice():
    desk = zofw.Desk(lab.session(), size=4)
    request = desk.requests()[0]
    assert desk.tell(request.id, [1.0, None, 2.0, None]) == 2
    assert desk.tell(request.id, [1.0, 3.0, None, None]) == 1
    with pytest.raises(
        AnswerError, match=r"answered before with 1\.0; now it is 1\.5. The first answer counts"
    ):
        desk.tell(request.id, {0: 1.5, 3: 4.0})
    assert desk.requests()[0].id == request.id, "nothing of a refused answer is taken"
    assert desk.tell(request.id, {3: 4}) == 1
    assert desk.requests()[0].id != request.id


def test_a_late_answer_to_a_closed_query():
    desk = zofw.Desk(lab.session("zo-fw"), size=1000)
    (request,) = desk.requests()
    values = lab.values(request)
    desk.tell(request.id, values)
    assert desk.requests()[0].id != request.id
    assert desk.tell(request.id, values) == 0
    with pytest.raises(AnswerError, match="The first answer counts"):
        desk.tell(request.id, [value + 1 for value in values])


def test_what_failed_is_charged_if_paid_and_asked_for_again():
    desk = zofw.Desk(lab.session("zo-sfw"), size=2)
    first = desk.requests()[0]
    desk.tell(first.id, {0: lab.values(first)[0]})
    desk.fail(first.id, "the sensor froze", paid=False)
    assert desk.session.ledger["failed"] == 0
    again = desk.requests()[0]
    assert again.id == f"{first.id}-2" and len(again) == 1
    desk.fail(again.id, {0: "once more"})
    assert desk.session.ledger["failed"] == 1
    desk.fail(again.id, {0: "a report that comes twice is one failure"})
    desk.fail(first.id, "and an old one is none")
    assert desk.session.ledger["failed"] == 1
    third = desk.requests()[0]
    assert third.id == f"{first.id}-3"
    assert np.array_equal(third.points[third.point], again.points[again.point])
    assert desk.tell(first.id, lab.values(first)) == 1, "the value may come under the first name as well"
    assert desk.tell(third.id, lab.values(third)) == 0
    answer_somehow(desk, np.random.default_rng(0))
    other = lab.whole("zo-sfw")
    assert np.array_equal(desk.result().x, other.x)
    assert desk.result().nfev == other.nfev + 1


def test_a_failure_the_budget_cannot_bear_ends_the_run():
    least = zofw.Desk(lab.session("zo-fw")).session.ask().cost
    desk = zofw.Desk(lab.session("zo-fw", budget=least, diagnose=0), size=4)
    first, second, *_ = desk.requests()
    desk.tell(first.id, lab.values(first))
    desk.fail(second.id, {0: "broken"})
    assert desk.done and desk.requests() == []
    assert desk.result().status is zofw.Status.BUDGET
    assert desk.result().nfev == 5 <= least
    with pytest.raises(AnswerError, match="was withdrawn"):
        desk.tell(second.id, lab.values(second))
    assert desk.tell(first.id, lab.values(first)) == 0


def test_dropping_begins_the_iteration_again():
    desk = zofw.Desk(lab.session("zo-sfw"), size=2)
    first = desk.requests()[0]
    desk.tell(first.id, lab.values(first))
    desk.drop()
    assert desk.session.ledger["failed"] == 2
    other = desk.requests()[0]
    assert other.id != first.id and not np.array_equal(other.points, first.points)
    answer_somehow(desk, np.random.default_rng(0))
    assert desk.result().status is zofw.Status.MAX_ITER


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ([1.0], "asks for 3 values; the answer has 1"),
        ([1.0, 2.0, math.nan], "a finite number of size at most 1e"),
        ([1.0, 2.0, -math.inf], "a finite number"),
        ([1.0, 2.0, 10**400], "a finite number"),
        ([1.0, 2.0, 1e101], "a finite number"),
        ([1.0, "2.0", 3.0], "should be a number; it is '2.0'"),
        ([1.0, True, 3.0], "should be a number; it is True"),
        ([[1.0, 2.0, 3.0]], "should be a number"),
        ({3: 1.0}, "has evaluations 0 to 2; the answer has evaluation 3"),
        ({"first": 1.0}, "should be a whole number; it is 'first'"),
        ({-1: 1.0}, "the answer has evaluation -1"),
        (np.array([1.0, 2.0]), "asks for 3 values"),
        ("1.0, 2.0, 3.0", "should be a number"),
    ],
)
def test_what_cannot_be_taken_is_named_and_counts_nothing(told, sentence):
    desk = zofw.Desk(lab.session(), size=3)
    request = desk.requests()[0]
    with pytest.raises(AnswerError, match=sentence) as caught:
        desk.tell(request.id, told)
    assert caught.value.id == request.id
    assert desk.session.nfev == 0 and desk.status()["answered"] == 0


@pytest.mark.parametrize("field", ["run", "checksum", "points", "point", "component"])
def test_an_answer_to_other_points_is_refused(field):
    desk = zofw.Desk(lab.session(), size=3)
    request = desk.requests()[0]
    answer = request.document(lab.values(request))
    answer[field] = answer[field][:-1] if isinstance(answer[field], str) else [7, 7, 7]
    with pytest.raises(AnswerError, match=f"has a '{field}' that differs from the request"):
        desk.take(answer)
    assert desk.take(request.document(lab.values(request))) == 3


@pytest.mark.parametrize(
    "id",
    [
        "",
        "1",
        "000000-0000",
        "../../etc/passwd",
        "999999-abcd-0000",
        "000000-ffff-0000-0",
        "x" * 10_000,
        "000000-abcd-" + "1" * 5000,
    ],
)
def test_an_unknown_request(id):
    with pytest.raises(AnswerError, match="There is no request"):
        zofw.Desk(lab.session()).tell(id, 1.0)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({}, "should name its request"),
        ({"id": 7, "values": [1.0]}, "should name its request"),
        ({"value": 1.0}, 'neither "values" nor "failed"'),
        ({"values": [1.0, 2.0, 3.0], "failed": {"0": "no"}}, "has a value and has failed"),
        ({"failed": 3}, "should be a reason, or reasons by place"),
        ({"failed": "no", "paid": "yes"}, "should be true or false"),
        ({"values": [1.0, 2.0], "index": [0, 0]}, "2 different places"),
        ({"values": [1.0, 2.0], "index": 0}, "a list of places"),
    ],
)
def test_a_document_that_is_no_answer(answer, sentence):
    desk = zofw.Desk(lab.session(), size=3)
    given = {"id": desk.requests()[0].id} | answer if answer and "id" not in answer else answer
    with pytest.raises(AnswerError, match=sentence):
        desk.take(given)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(["values", "failed", "paid", "index", "checksum", "points", "id"]),
)
@examples(200)
def test_fuzz(thing, field):
    desk = zofw.Desk(lab.session(), size=3)
    request = desk.requests()[0]
    answer = {"id": request.id, "values": [1.0, None, None]} | {field: thing}
    try:
        desk.take(answer)
    except AnswerError as error:
        assert desk.session.nfev == 0 and desk.status()["answered"] == 0 and len(str(error)) > 20


def test_floats_survive_json():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 7)) * 10.0 ** rng.integers(-300, 300, (50, 7))
    points[0, :3] = [-0.0, 5e-324, 0.1]
    request = Request(
        "000000-abcd-0000", "r", "estimate", points, np.arange(50), np.zeros(50, dtype=np.int64)
    )
    again = Request.unpack(parse(request.json()))
    assert again.points.tobytes() == points.tobytes() and again.checksum == request.checksum


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None])
def test_a_size_that_is_none(size):
    with pytest.raises(ValueError, match="size should be a whole number of at least 1"):
        zofw.Desk(lab.session(), size=size)


def test_a_desk_without_a_folder_has_nothing_to_read():
    with pytest.raises(ValueError, match="This desk has no folder"):
        zofw.Desk(lab.session()).read()


def test_a_desk_says_what_it_is():
    desk = zofw.Desk(zofw.Session(zofw.Simplex(), dim=3, method="zo-fw", budget=20, rng=0))
    count = len(desk.requests())
    state = f"0 evaluations of 20, {count} requests open, for refresh"
    assert repr(desk) == f"Desk(zo-fw on Simplex(total=1.0), in memory: {state})"
    while requests := desk.requests():
        for request in requests:
            desk.tell(request.id, [float(x @ x) for x, _ in request])
    assert repr(desk).endswith(f"{desk.session.nfev} evaluations of 20, ended (BUDGET))")


def test_the_first_requests_say_what_they_are_for():
    session = zofw.Session(zofw.Simplex(), dim=5, n=40, method="explore-correct", budget=2_000, rng=0)
    desk = zofw.Desk(session, size=4)
    requests = desk.requests()
    assert {request.purpose for request in requests} == {"noise"} and "requests open, for noise" in repr(desk)
    document = json.loads(requests[0].json())
    assert document["why"] == requests[0].why and "How noisy" in document["why"]
    assert Request.unpack(document).purpose == "noise"


def nearest(points: np.ndarray) -> float:
    """The least distance of two different points."""
    away = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(away[away > 0].min(initial=math.inf))


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("n", [1, 40])
def test_a_laboratory_is_asked_for_points_that_it_can_tell_apart(n, noise):
    """Never nearer than the resolution, but for the values of a line search; first requests repeat one point."""
    resolution, readings = 0.01, np.random.default_rng(1)
    best = np.array([0.45, 0.30, 0.15, 0.10])
    session = zofw.Session(
        zofw.Simplex(), dim=4, n=n, budget=60 if n == 1 else 4_000, rng=0, inside=True, resolution=resolution
    )
    first = session.ask()
    while (query := session.ask()) is not None:
        points = np.array([query.point(a, j) for a in range(len(query.anchors)) for j in range(query.width)])
        if query is first:
            assert nearest(points) > 0.1
        elif query.purpose.line != "line search":
            assert nearest(points) >= resolution * (1 - 1e-9)
        f = zofw.problems.BlackBox(
            lambda x, i: float(((x - best) ** 2).sum() + noise * readings.standard_normal()), dim=4, n=n
        )
        session.tell(query, zofw.problems.evaluate(f, query))
    assert session.ledger["noise"] >= 1 and abs(session.result().x - best).max() < 0.05


def test_radii_below_the_resolution_are_refused_or_end_the_run():
    with pytest.raises(
        ValueError, match=r"zo-fw asks for points 0\.0001 apart, and resolution=0\.01 says that they are one"
    ):
        zofw.Desk(
            zofw.Session(
                zofw.Simplex(), dim=3, method=zofw.papers.ZOFW(radius=1e-4), budget=90, resolution=0.01
            )
        )
    shrinking = zofw.papers.ZOSFW(radius=zofw.schedules.Power(0.5, 1.0), directions=2)
    result = zofw.minimize(
        lambda x: float(x @ x),
        zofw.Simplex(),
        dim=3,
        method=shrinking,
        budget=9_000,
        rng=0,
        options={"resolution": 0.1},
    )
    assert (
        result.status is zofw.Status.STALLED and "says that they are one" in result.message and result.nit > 3
    )


@pytest.mark.parametrize("resolution", [-1, math.nan, math.inf, "fine", True])
def test_a_resolution_that_is_none(resolution):
    with pytest.raises(ValueError, match="resolution should be a distance"):
        zofw.Session(zofw.Simplex(), dim=3, budget=90, resolution=resolution)


def test_a_desk_keeps_its_resolution(tmp_path):
    zofw.Desk.open(tmp_path, zofw.Simplex(), dim=3, budget=90, resolution=0.01).close()
    with zofw.Desk.open(tmp_path) as desk:
        assert desk.session.task.resolution == 0.01
    with pytest.raises(ValueError, match=r"holds a run with resolution=0\.01"):
        zofw.Desk.open(tmp_path, resolution=0.02)
