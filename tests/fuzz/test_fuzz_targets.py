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
from zofw.core import Batch, Query
from zofw.problems.evaluate import Sums
from zofw.run import journal
from zofw.run.sheet import Sheet

DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.integers(0, 255), st.sampled_from(["set", "cut", "insert"])
    ),
    max_size=6,
)


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
    return json.loads(list(seeds("checkpoint"))[1][1:])


def entries(content: dict) -> dict:
    return dict(content["$dict"])


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
        ("answers", [3]),
        ("status", 3),
        ("state", {"$dict": []}),
        ("trace", {"$type": "zofw.run.trace:Trace", "fields": {"rows": [3], "infos": [{"$dict": []}]}}),
        ("info", {"$dict": [[3, 4]]}),
        ("spent", None),
    ],
)
def test_a_forged_checkpoint_with_sound_checksums_is_refused(name, forged, tmp_path):
    content = entries(body())
    assert name in content
    content[name] = forged
    path = tmp_path / "run.npz"
    path.write_bytes(sealed({"$dict": [[key, value] for key, value in content.items()]}))
    with pytest.raises(zofw.FileError, match="could have written"):
        zofw.Session.resume(path)


@pytest.mark.parametrize(
    "entry",
    [
        journal.Entry(journal.Kind.CELLS, 0, 0, arrays=(np.zeros(()),)),
        journal.Entry(journal.Kind.CELLS, 0, 0, arrays=(np.zeros((2, 2)),)),
        journal.Entry(journal.Kind.ANSWER, 0, 0),
        journal.Entry(journal.Kind.ANSWER, 0, 0, arrays=(np.full((1, 2), np.nan),)),
        journal.Entry(journal.Kind.FAILED, 0, 0, a=-5),
        journal.Entry(journal.Kind.DROPPED, 0, 0, seconds=math.inf),
    ],
)
def test_a_forged_journal_is_damage(entry, tmp_path, caplog):
    path = tmp_path / "run.npz"
    path.write_bytes(run()[0])
    identity = bytes.fromhex(zofw.Session.resume(path).identity)
    book = journal.Journal(tmp_path / "run.npz.journal", identity)
    book.append(entry)
    book.close()
    assert zofw.resume(path, problem(), budget=200).nfev <= 200
    assert "is damaged after its first 0 entries" in caplog.text


@pytest.mark.parametrize("first", [-1, 500])
def test_parts_that_the_open_query_does_not_have(first, tmp_path):
    f, query = problem(), Query(np.zeros(DIM), Batch(N))
    for unit in (1.0, Sums(np.zeros((1, 1)))):
        with pytest.raises(zofw.FileError, match="Is this the problem that the run was begun with"):
            Sheet(f, query).restore(first if isinstance(unit, float) else 0, [unit])
    whole = zofw.problems.BlackBox(
        lambda X, batch: np.zeros((len(X), len(batch))), dim=DIM, n=N, vectorized=True
    )
    for sums in (Sums(np.zeros((2, 1))), Sums(np.zeros((1, 1)), np.zeros((1, 1)))):
        with pytest.raises(zofw.FileError, match="Is this the problem"):
            Sheet(whole, query).restore(0, [sums])
    sheet = Sheet(whole, query)
    sheet.restore(0, [Sums(np.full((1, 1), 6.0))])
    assert sheet.complete and sheet.answer().values[0, 0] == 2.0
