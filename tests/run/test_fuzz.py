"""Whatever a file or an answer holds: a named error or the truth, no crash, no hang, nothing executed or written elsewhere."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

import killable
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zofw
from conftest import examples, quadratic_sum
from zofw.core import Answer, Batch, Query
from zofw.run.answering import open_answer
from zofw.run.files import journal
from zofw.run.files.documents import decode
from zofw.run.session.answer_checks import check_answer

quick = examples(60)

pytestmark = pytest.mark.filterwarnings("ignore:.*journal is:UserWarning")


@pytest.fixture(scope="module")
def run():
    """The files of a run that died on its way, and how it would have ended."""
    calls = itertools.count()

    def dying(x, i):
        if next(calls) == 70:
            die()
        return good(x, i)

    good = killable.Counted(None)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_answer, "KEPT_SECONDS", 0.0)
        path = Path(folder) / "run.npz"
        box = zofw.problems.BlackBox(dying, dim=killable.DIM, n=killable.N)
        with killable.killed(path) as die:
            killable.run("zsfw-dvr", path, box)
        files = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    assert set(files) == {"run.npz", "run.npz.journal", "run.npz.lock"}
    return files, killable.run("zsfw-dvr", None, killable.problem())


def resume(files: dict[str, bytes]) -> zofw.Result:
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "inner"
        inner.mkdir()
        for name, text in files.items():
            (inner / name).write_bytes(text)
        try:
            return zofw.resume(inner / "run.npz", killable.problem())
        finally:
            assert os.listdir(folder) == ["inner"]
            assert all(name.startswith("run.npz") for name in os.listdir(inner))


damage = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4)


def broken(text: bytes, changes: list[tuple[float, int]], length: float) -> bytes:
    out = bytearray(text)
    for place, value in changes:
        out[int(place * len(out))] = value
    return bytes(out[: int(length * len(out))])


@given(changes=damage, length=st.sampled_from([1.0, 1.0, 0.99, 0.5]))
@quick
def test_a_damaged_journal_costs_money_and_never_the_truth(run, changes, length):
    files, whole = run
    try:
        result = resume(files | {"run.npz.journal": broken(files["run.npz.journal"], changes, length)})
    except zofw.FileError:
        return
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger


@given(changes=damage, length=st.sampled_from([1.0, 1.0, 0.99, 0.5]))
@quick
def test_a_damaged_checkpoint_is_refused_or_harmless(run, changes, length):
    files, whole = run
    try:
        result = resume(files | {"run.npz": broken(files["run.npz"], changes, length)})
    except zofw.FileError:
        return
    np.testing.assert_array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger


@given(text=st.binary(max_size=300), which=st.sampled_from(["run.npz", "run.npz.journal"]))
@quick
def test_rubbish_in_place_of_a_file(run, text, which):
    files, whole = run
    try:
        result = resume(files | {which: text})
    except zofw.FileError:
        return
    assert np.array_equal(result.x, whole.x)


@given(bodies=st.lists(st.binary(max_size=120), max_size=4))
@quick
def test_sound_entries_of_any_content(bodies):
    head = journal.HEAD.pack(journal.LETTERS, journal.VERSION, bytes(16))
    text, digest = head, journal._digest(head, b"")
    for body in bodies:
        digest = journal._digest(body, digest)
        text += journal.FRAME.pack(len(body), digest) + body
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        path.write_bytes(text)
        reading = journal.read(path, bytes(16))
    assert len(reading.events) <= len(bodies) and reading.size <= len(text)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["$array", "$tuple", "$dict", "$sparse", "$enum", "$type", "fields", "name", "shape", "a"]), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(document=plain)
@quick
def test_documents_of_any_content(document):
    try:
        decode(document, {"a0": np.zeros(2)})
    except (zofw.FileError, TypeError, ValueError, LookupError, AttributeError):
        return


odd = (
    hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, max_dims=3, max_side=8))
    | hnp.arrays(float, (1, 7), elements=st.floats(allow_nan=False))
    | plain
    | st.builds(Answer, hnp.arrays(float, (1, 7)) | plain, st.none() | plain)
)


@given(told=odd)
@example(told=[0.0] + [1.79769313e302] * 6)
@example(told=[1e150, -1e150] * 3 + [0.0])
@quick
def test_whatever_is_told_is_an_answer_or_refused_and_then_nothing_is_counted(told):
    f = quadratic_sum()
    session = zofw.Session(zofw.L1Ball(1.0), dim=f.dim, n=f.n, method="zo-fw", budget=200, rng=0)
    query = session.ask()
    try:
        session.tell(query, told)
    except ValueError as error:
        assert len(str(error)) > 20 and session.nfev == 0 and session.ask() is query
    else:
        assert session.nfev == query.cost


@given(told=odd, variance=odd)
@quick
def test_variances_too(told, variance):
    U = zofw.directions.Rademacher().draw(np.random.default_rng(0), 6, 3)
    query = Query(np.zeros(6), Batch(7), U, 0.1, zofw.core.Stencil.CENTRAL, variance=True)
    try:
        answer = check_answer(query, Answer(told, variance))
    except ValueError as error:
        assert len(str(error)) > 20
    else:
        assert answer.values.shape == (1, 6) and (answer.variance >= 0).all()
