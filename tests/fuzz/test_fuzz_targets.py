"""Every fuzz target takes its seeds, damaged seeds and rubbish."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from fuzz_targets import DIM, TARGETS, N, problem, run, sealed, seeds
from hypothesis import given
from hypothesis import strategies as st

import zofw
from conftest import examples
from zofw.core import Batch, Query, Tile
from zofw.problems.abilities import Sums, abilities
from zofw.problems.evaluate import TilePart
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.files import journal
from zofw.run.session.events import Answered, Dropped, Failed, Part

CELL = Tile(0, 0, 0, 1, 0, 1)
DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.integers(0, 255), st.sampled_from(["set", "cut", "insert"])
    ),
    max_size=6,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*journal is:UserWarning")


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_are_taken(target):
    for seed in seeds(target):
        TARGETS[target](seed)


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
@examples(25)
def test_damaged_seeds(target, data):
    text = bytearray(data.draw(st.sampled_from(list(seeds(target)))))
    for place, byte, how in data.draw(DAMAGE):
        at = int(place * len(text))
        if how == "set" and text:
            text[at] = byte
        elif how == "insert":
            text.insert(at, byte)
        else:
            del text[at : at + 1 + byte // 16]
    TARGETS[target](bytes(text))


@pytest.mark.parametrize("target", TARGETS)
@given(text=st.binary(max_size=200))
@examples(25)
def test_rubbish(target, text):
    TARGETS[target](text)


def body() -> dict:
    """What a true checkpoint says, in plain values."""
    return json.loads(list(seeds("checkpoint"))[1][1:])["fields"]["run"]


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("ledger", {"$dict": [["estimate", 3]]}),
        ("ledger", {"$dict": []}),
        ("nit", -1),
        ("nit", True),
        ("dim", 10**15),
        ("seconds", -1.0),
        ("seconds", "x"),
        ("open.answers", [3]),
        ("status", 3),
        ("state", {"$dict": []}),
        (
            "trace",
            {"$type": "zofw.run.record.trace:Trace", "fields": {"rows": [3], "infos": [{"$dict": []}]}},
        ),
        ("info", {"$dict": [[3, 4]]}),
        ("best", 4.0),
        ("limits", None),
        ("open.spent", None),
    ],
)
def test_a_forged_checkpoint_with_sound_checksums_is_refused(name, forged, tmp_path):
    content = body()
    at, *inner = name.split(".")
    assert at in content["fields"]
    if inner:
        content["fields"][at]["fields"][inner[0]] = forged
    else:
        content["fields"][at] = forged
    path = tmp_path / "run.npz"
    whole = json.loads(list(seeds("checkpoint"))[1][1:])
    whole["fields"]["run"] = content
    path.write_bytes(sealed(whole))
    with pytest.raises(zofw.FileError, match="cannot have written"):
        zofw.Session.resume(path)


@pytest.mark.parametrize(
    "event",
    [
        Part(0, CELL, np.zeros(())),
        Answered(0, np.zeros(3)),
        Answered(0, np.full((1, 2), np.inf)),
        Failed(0, cost=-5),
        Dropped(0, seconds=math.inf),
    ],
)
def test_a_forged_journal_is_damage(event, tmp_path, caplog):
    path = tmp_path / "run.npz"
    _forge(path, event)
    assert zofw.resume(path, problem(), budget=200).nfev <= 200
    assert "is damaged after its first 0 entries" in caplog.text


def _forge(path, event):
    """The checkpoint of a run, and a log of one event."""
    path.write_bytes(run()[0])
    identity = bytes.fromhex(zofw.Session.resume(path).run.identity)
    book = journal.Journal(path.with_name("run.npz.journal"), identity, base=run()[0])
    book.append(journal.pack(0, event))
    book.close()


@pytest.mark.parametrize("event", [Part(0, CELL._replace(bottom=99), np.zeros(1)), Dropped(7)])
def test_a_forged_event_is_refused(event, tmp_path):
    path = tmp_path / "run.npz"
    _forge(path, event)
    with pytest.raises(zofw.FileError, match="has an event that its run does not allow"):
        zofw.resume(path, problem(), budget=200)


def test_parts_that_the_open_query_does_not_have():
    query = Query(np.zeros(DIM), Batch(N))
    cells, whole = Tile(0, 0, 0, N, 0, 1), Tile(0, 0, 0, N)
    one = Sums(np.zeros(1))
    wrong = [
        TilePart(cells.cells(N, N + 1), one),
        TilePart(cells.cells(0, 2), one),
        TilePart(cells._replace(bottom=N - 1), one),
        TilePart(whole, Sums(np.zeros((1, 1)))),
    ]
    for part in wrong:
        with pytest.raises(zofw.FileError, match="Is this the problem that the run was begun with"):
            OpenAnswer(abilities(problem()), query).restore(part)
    vectorised = zofw.problems.BlackBox(
        lambda X, batch: np.zeros((len(X), len(batch))), dim=DIM, n=N, vectorized=True
    )
    for sums in (Sums(np.zeros((2, 1))), Sums(np.zeros((1, 1)), np.zeros((1, 1)))):
        with pytest.raises(zofw.FileError, match="Is this the problem"):
            OpenAnswer(abilities(vectorised), query).restore(TilePart(whole, sums))
    answer = OpenAnswer(abilities(vectorised), query)
    answer.restore(TilePart(whole, Sums(np.full((1, 1), 6.0))))
    assert answer.complete and answer.answer().values[0, 0] == 2.0
