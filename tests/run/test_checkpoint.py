"""Checkpoints and results as files: what is refused, and that nothing is executed or half written."""

from __future__ import annotations

import itertools
import json
import pickle
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import killable
import numpy as np
import pytest
import scipy.sparse as sp

import zofw
from conftest import quadratic_sum
from zofw.core import Stencil
from zofw.problems import BlackBox, evaluate
from zofw.run.answering import open_answer
from zofw.run.files import store
from zofw.run.files.documents import decode, encode, read_document, write_document
from zofw.sets import as_set


@pytest.fixture
def saved(tmp_path):
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zsfw-dvr", budget=900, rng=0)
    for _ in range(3):
        query = session.ask()
        session.tell(query, evaluate(f, query))
    session.checkpoint(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def test_plain_values_round_trip():
    value = {
        "a": [1, 2.5, None, True, "x", float("inf")],
        "b": (np.arange(3), np.float32([[1.5]]), Stencil.FORWARD),
        3: zofw.ZSFWDVR(batch_size=4, law=zofw.directions.Rademacher()),
    }
    arrays: dict = {}
    again = decode(json.loads(json.dumps(encode(value, arrays))), arrays)
    assert again["a"] == value["a"] and again[3] == value[3] and again["b"][2] is Stencil.FORWARD
    np.testing.assert_array_equal(again["b"][0], value["b"][0])
    matrix = sp.random_array((4, 5), density=0.5, random_state=0).tocsc()
    arrays = {}
    np.testing.assert_array_equal(decode(encode(matrix, arrays), arrays).toarray(), matrix.toarray())


def test_what_cannot_be_saved_is_said():
    with pytest.raises(TypeError, match="cannot be saved without pickle"):
        encode(lambda: 0, {})
    with pytest.raises(TypeError, match="Python objects"):
        encode(np.array([object()]), {})


@pytest.mark.parametrize("cut", [0, 1, 10, 200, -1])
def test_truncated_files_are_refused(saved, cut):
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises(zofw.FileError, match=r"run\.npz"):
        zofw.Session.resume(saved)


def test_every_flipped_byte_is_noticed_or_harmless(saved):
    whole = saved.read_bytes()
    reference = zofw.Session.resume(saved)
    rng = np.random.default_rng(0)
    for position in rng.integers(len(whole), size=150):
        broken = bytearray(whole)
        broken[position] ^= 0x55
        saved.write_bytes(bytes(broken))
        try:
            session = zofw.Session.resume(saved)
        except zofw.FileError:
            continue
        np.testing.assert_array_equal(session.x, reference.x)  # a byte of padding or of a zip date
        assert session.nfev == reference.nfev


def test_foreign_files_are_refused(saved, tmp_path):
    result = zofw.minimize(quadratic_sum(), zofw.L1Ball(1.0), method="zo-fw", budget=100, rng=0)
    result.save(tmp_path / "result.npz")
    with pytest.raises(zofw.FileError, match="is a zofw result; a checkpoint was expected"):
        zofw.Session.resume(tmp_path / "result.npz")
    write_document(tmp_path / "old.npz", "checkpoint", 0, {})
    with pytest.raises(zofw.FileError, match="format version 0"):
        zofw.Session.resume(tmp_path / "old.npz")
    write_document(tmp_path / "first.npz", "checkpoint", 1, {})
    with pytest.raises(zofw.FileError, match="written by an earlier zofw: finish the run with that version"):
        zofw.Session.resume(tmp_path / "first.npz")
    write_document(tmp_path / "empty.npz", "checkpoint", store.VERSION, {})
    with pytest.raises(zofw.FileError, match="holds a dict, not a run"):
        zofw.Session.resume(tmp_path / "empty.npz")
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    with pytest.raises(zofw.FileError, match="not a zofw checkpoint"):
        zofw.Session.resume(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        zofw.Session.resume(tmp_path / "missing.npz")


def test_no_file_can_execute_code(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "boom"), "w"))

    (tmp_path / "p.npz").write_bytes(pickle.dumps(Bomb()))
    np.savez(tmp_path / "q.npz", document=np.array([Bomb()], dtype=object))
    for name in ("p.npz", "q.npz"):
        with pytest.raises(zofw.FileError):
            zofw.Session.resume(tmp_path / name)
    for path in ("os:system", "zofw.run.session.session:Session", "zofw.core:blocks", "builtins:eval"):
        with pytest.raises(zofw.FileError, match="does not have"):
            decode({"$type": path, "fields": {}}, {})
    with pytest.raises(zofw.FileError, match="This was not written by zofw"):
        decode({"$array": "a99"}, {})
    assert not (tmp_path / "boom").exists()


def test_a_failed_write_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()
    session = zofw.Session.resume(saved)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        session.checkpoint(saved)
    assert saved.read_bytes() == before and list(saved.parent.iterdir()) == [saved]


def test_sets_and_methods_of_ones_own(tmp_path):
    @dataclass(frozen=True)
    class Corner:
        size: float

        def lmo(self, g):
            s = np.zeros(len(g))
            s[np.argmin(g)] = self.size
            return s

    f = quadratic_sum()
    session = zofw.Session(
        Corner(1.0), dim=f.dim, n=f.n, method="zo-fw", budget=500, x0=np.eye(f.dim)[0], rng=0
    )
    query = session.ask()
    session.tell(query, evaluate(f, query))
    session.checkpoint(tmp_path / "own.npz")
    with pytest.raises(zofw.FileError, match="Hand over the object itself"):
        zofw.Session.resume(tmp_path / "own.npz")
    again = zofw.Session.resume(tmp_path / "own.npz", set=Corner(1.0))
    np.testing.assert_array_equal(again.x, session.x)
    with pytest.raises(ValueError, match="holds a run with set="):
        zofw.Session.resume(tmp_path / "own.npz", set=Corner(2.0))

    for region in (Corner(1.0), zofw.Product((Corner(1.0), zofw.Box(-1.0, 1.0)), (3, 3))):
        path, x0 = tmp_path / f"{type(region).__name__}.npz", as_set(region).lmo(np.ones(f.dim))
        given = {"method": "zo-fw", "x0": x0, "rng": 0, "checkpoint": path}
        zofw.minimize(f, region, budget=500, **given)
        assert zofw.minimize(f, region, budget=900, resume=True, **given).nfev > 500

    class Plain:
        def lmo(self, g):
            return np.eye(len(g))[np.argmin(g)]

    session = zofw.Session(Plain(), dim=f.dim, n=f.n, method="zo-fw", budget=500, x0=np.eye(f.dim)[0], rng=0)
    session.checkpoint(tmp_path / "plain.npz")
    with pytest.raises(ValueError, match="Give it as set="):
        zofw.Session.resume(tmp_path / "plain.npz")
    with pytest.raises(ValueError, match="holds a run with method="):
        zofw.Session.resume(tmp_path / "own.npz", set=Corner(1.0), method=zofw.papers.ZOFW(radius=0.5))


def test_documents_keep_their_kind(tmp_path):
    write_document(tmp_path / "d.npz", "thing", 3, {"x": np.eye(2)})
    np.testing.assert_array_equal(read_document(tmp_path / "d.npz", "thing", 3)["x"], np.eye(2))


@pytest.mark.parametrize("method", ["zo-fw", "zsfw-dvr", "acc-szofw"])
def test_a_stopped_run_goes_on_with_a_larger_budget(method, tmp_path):
    f = quadratic_sum()
    settings = {"dim": f.dim, "n": f.n, "method": zofw.methods()[method](), "rng": 0}
    long = zofw.Session(
        zofw.L1Ball(1.0), budget=5000, objective=lambda x: zofw.problems.mean_value(f, x), **settings
    )
    settings["method"] = long.run.method
    short = zofw.Session(zofw.L1Ball(1.0), budget=1777, objective=long.objective, **settings)
    for session in (long, short):
        while (query := session.ask()) is not None:
            session.tell(query, evaluate(f, query))
    assert short.status is zofw.Status.BUDGET and short.nfev <= 1777
    short.checkpoint(tmp_path / "short.npz")
    again = zofw.Session.resume(tmp_path / "short.npz", budget=5000, objective=long.objective)
    while (query := again.ask()) is not None:
        again.tell(query, evaluate(f, query))
    np.testing.assert_array_equal(again.x, long.x)
    assert again.nfev == long.nfev and again.ledger == long.ledger
    np.testing.assert_array_equal(again.trace.objective, long.trace.objective)


def test_an_interrupted_iteration_is_taken_up_where_it_was(tmp_path):
    f = quadratic_sum()
    ball, settings = (
        zofw.L1Ball(1.0),
        {"dim": f.dim, "n": f.n, "method": "acc-szofw", "budget": 3000, "rng": 0},
    )
    whole, part = zofw.Session(ball, **settings), zofw.Session(ball, **settings)
    for _ in range(3):
        query = part.ask()
        part.tell(query, evaluate(f, query))
    part.ask()
    part.stop()
    part.checkpoint(tmp_path / "part.npz")
    part = zofw.Session.resume(tmp_path / "part.npz")
    for session in (whole, part):
        while (query := session.ask()) is not None:
            session.tell(query, evaluate(f, query))
    np.testing.assert_array_equal(part.x, whole.x)
    assert part.nfev == whole.nfev


def died(path: Path, calls: int) -> zofw.problems.BlackBox:
    """A run whose process ended in the middle of its evaluation number ``calls``; and the problem it had."""
    f, made = killable.problem(), itertools.count()

    def dying(x, i):
        if next(made) == calls:
            die()
        return f.fun(x, i)

    with killable.killed(path) as die:
        killable.run("zsfw-dvr", path, zofw.problems.BlackBox(dying, dim=f.dim, n=f.n))
    return f


def test_a_session_takes_up_the_journal_beside_its_checkpoint(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(open_answer, "KEPT_SECONDS", 0.0)
    path = tmp_path / "run.npz"
    f = died(path, 70)
    whole = killable.run("zsfw-dvr", None, f)
    shutil.copy(path, tmp_path / "alone.npz")
    assert zofw.Session.resume(tmp_path / "alone.npz").nfev == 0
    session = zofw.Session.resume(path)
    assert 0 < session.nfev <= 70
    assert "has evaluations of the open query too" in caplog.text
    while (query := session.ask()) is not None:
        session.tell(query, zofw.problems.evaluate(f, query))
        session.checkpoint(path)
    np.testing.assert_array_equal(session.x, whole.x)
    assert session.ledger == whole.ledger
    np.testing.assert_array_equal(zofw.resume(path, f).x, whole.x)


def test_other_limits_hold_behind_the_journal(tmp_path):
    path = tmp_path / "run.npz"
    died(path, 70)
    paid = zofw.Session.resume(path).nfev
    session = zofw.Session.resume(path, budget=paid + 1)
    assert session.ask() is None and session.nfev == paid


@pytest.mark.parametrize("resume", ["auto", True])
@pytest.mark.parametrize("log", [b"garbage" * 50, b"", None])
def test_a_run_whose_files_are_both_broken_says_what_to_do(resume, log, tmp_path):
    path, beside = tmp_path / "run.npz", tmp_path / "run.npz.journal"
    path.write_bytes(b"garbage" * 50)
    if log is not None:
        beside.write_bytes(log)
    state = "missing" if log is None else "damaged too"
    with pytest.raises(
        zofw.FileError, match=rf"\. The log beside it, .+journal, is {state}\. Put a copy of either"
    ):
        zofw.minimize(lambda x: x @ x, "simplex", dim=3, budget=30, checkpoint=path, resume=resume)


def test_a_journal_that_is_damaged_or_of_another_run(tmp_path, caplog):
    path, other = tmp_path / "run.npz", tmp_path / "other.npz"
    for one in (path, other):
        died(one, 70)
    journal = Path(f"{path}.journal")
    paid, text = zofw.Session.resume(path).nfev, bytearray(journal.read_bytes())
    text[60] ^= 1  # of the checkpoint with which it begins
    journal.write_bytes(text)
    assert zofw.Session.resume(path).nfev == paid and "is damaged" not in caplog.text
    text[60] ^= 1
    text[62 + int.from_bytes(text[26:34], "little")] ^= 1
    journal.write_bytes(text)
    assert zofw.Session.resume(path).nfev < paid and "is damaged after its first 0 entries" in caplog.text
    assert journal.read_bytes() == bytes(text)
    shutil.copy(f"{other}.journal", journal)
    with pytest.raises(zofw.FileError, match="journal of another run"):
        zofw.Session.resume(path)


@pytest.mark.parametrize("damage", ["flipped", "short", "cut", "gone"])
def test_answers_that_a_damaged_log_has_lost_are_mentioned(damage, tmp_path):
    path = tmp_path / "run.npz"
    f, journal = died(path, 70), Path(f"{path}.journal")
    text = bytearray(journal.read_bytes())
    text[62 + int.from_bytes(text[26:34], "little")] ^= 1
    journal.write_bytes({"flipped": bytes(text), "short": b"rubbish", "cut": text[:500], "gone": b""}[damage])
    words = {
        "flipped": r"evaluated again, at least \d+ paid answers\. A copy of the damaged log is in .*npz\.broken",
        "short": r"damaged after its first 0 entries.* A copy of the damaged log is in .*npz\.broken",
        "cut": r"cut off before its first answer.* made of 0 paid answers.*npz\.broken",
        "gone": r"is missing: .* made of 0 paid answers",
    }
    if damage == "gone":
        journal.unlink()
    with pytest.warns(UserWarning, match=words[damage]):
        zofw.resume(path, f)


def test_a_session_does_not_write_over_a_run_that_goes_on(tmp_path):
    session = zofw.Session(zofw.Simplex(), dim=3, method="zo-fw", budget=300, rng=0)
    f = zofw.problems.BlackBox(lambda x: float(x @ x), dim=3)
    path = tmp_path / "run.npz"

    def intrude(intermediate_result):
        with pytest.raises(zofw.run.LockedError, match="in use by another run"):
            session.checkpoint(path)
        raise StopIteration

    assert zofw.minimize(f, zofw.Simplex(), budget=300, checkpoint=path, callback=intrude).nit == 1
    assert zofw.resume(path, f).nit > 1


def test_places_where_nothing_can_be_written_are_called_by_their_name(tmp_path):
    session = zofw.Session(zofw.Simplex(), dim=3, method="zo-fw", budget=300, rng=0)
    f = zofw.problems.BlackBox(lambda x: float(x @ x), dim=3)
    for path, words in (
        (tmp_path / "nowhere" / "run.npz", "does not exist. Make it first"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(zofw.run.StorageError, match=words):
            session.checkpoint(path)
        with pytest.raises(zofw.run.StorageError, match=words):
            zofw.minimize(f, zofw.Simplex(), budget=300, checkpoint=path)
    assert list(tmp_path.iterdir()) == [] and list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []


@pytest.mark.parametrize("before_the_end", range(4))
def test_a_signal_while_the_last_answer_is_computed_does_not_take_the_verdict_away(before_the_end, tmp_path):
    calls, box, given = [], zofw.Box(-1.0, 1.0), {"dim": 3, "budget": 300, "rng": 0}

    def f(x):
        calls.append(1)
        if len(calls) == stop:
            signal.raise_signal(signal.SIGINT)
        return float(((x - 0.2) ** 2).sum())

    stop = 0
    whole = zofw.minimize(f, box, **given)
    calls, stop = [], whole.nfev - before_the_end
    given |= {"checkpoint": tmp_path / "run.npz", "resume": "auto"}
    handler = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        zofw.minimize(f, box, **given)
    finally:
        signal.signal(signal.SIGINT, handler)
    again = zofw.minimize(f, box, **given)
    assert (again.status, again.nit, again.nfev) == (whole.status, whole.nit, whole.nfev)
    assert len(calls) == whole.nfev


def test_a_stalled_run_that_is_resumed_without_more_budget_has_stalled(tmp_path):
    noise = np.random.default_rng(1)
    problem = BlackBox(lambda x: float(np.abs(x - 0.2).sum() + 0.01 * noise.standard_normal()), dim=6)
    session = zofw.Session(zofw.Simplex(), dim=6, budget=300, rng=1, method="explore-correct")
    while (query := session.ask()) is not None:
        session.tell(query, evaluate(problem, query))
        session.checkpoint(tmp_path / "run.npz")
    assert session.result().status is zofw.Status.STALLED
    again = zofw.Session.resume(tmp_path / "run.npz")
    assert again.ask() is None
    assert (again.result().status, again.result().message) == (
        session.result().status,
        session.result().message,
    )
    more = zofw.Session.resume(tmp_path / "run.npz", budget=600)
    assert more.ask() is not None
