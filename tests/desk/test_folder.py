"""A desk in a folder: files out, files in, whatever they look like, and nothing paid for is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import laboratories as lab
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zofw
from conftest import Still, examples
from zofw.core import Info, OutOfBudget, Query
from zofw.desk import Desk, Request, files, folder, read_request, write_answer
from zofw.desk import request as form
from zofw.run import FileError, LockedError, StorageError
from zofw.run.answering import open_answer

BALL = zofw.L2Ball(1.0)


@pytest.fixture(autouse=True)
def what_cannot_be_read_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(folder, "SETTLE_SECONDS", 0.0)


def opened(path: Path, method: str = "zo-sfw", *, size: int = 3, **more: object) -> Desk:
    return Desk.open(path, BALL, size=size, **lab.settings(method, **more))


def asked(path: Path) -> list[Request]:
    return [read_request(file) for file in sorted((path / "requests").iterdir())]


def answer_all(desk: Desk, rng: np.random.Generator) -> None:
    """Somebody else's hands: files are read, answered in random portions and order, some of them again."""
    path = desk.folder.path
    while not desk.done:
        for request in asked(path):
            values = lab.values(request)
            if rng.random() < 0.7:
                write_answer(path, request, values)
            else:
                places = rng.permutation(len(values))[: rng.integers(1, len(values) + 1)].tolist()
                write_answer(path, request, {j: values[j] for j in places})
        assert desk.read().refused == {}


@pytest.mark.parametrize("method", ["explore-correct", "zsfw-dvr", "zo-sfw", "zscg"])
def test_a_folder_gives_the_bits_of_minimize(method, tmp_path):
    with opened(tmp_path, method) as desk:
        answer_all(desk, np.random.default_rng(0))
        assert lab.same(desk.result(), lab.whole(method))
    assert asked(tmp_path) == []
    status = json.loads((tmp_path / "status.json").read_text())
    assert status["status"] == desk.session.status.name.lower() and status["x"] == desk.session.x.tolist()
    kept = [read_request(file) for file in (tmp_path / "done").iterdir()]
    assert sum(len(request) for request in kept) == desk.session.nfev


@pytest.mark.parametrize("method", ["explore-correct", "zsfw-dvr"])
def test_left_and_opened_again_at_every_answer(method, tmp_path):
    rng, done = np.random.default_rng(1), False
    while not done:
        with opened(tmp_path, method) as desk:
            desk.read()
            done = desk.done
            if not done:
                requests = asked(tmp_path)
                assert [r.id for r in requests] == sorted(r.id for r in desk.requests())
                request = requests[rng.integers(len(requests))]
                places = rng.permutation(len(request))[: rng.integers(1, len(request) + 1)].tolist()
                write_answer(tmp_path, request, {j: lab.values(request)[j] for j in places})
    assert lab.same(desk.result(), lab.whole(method))


def test_killed_at_any_instant_it_goes_on_with_the_same_bits(tmp_path):
    """The laboratory goes on; the desk is killed again and again. No answer has to be given twice."""
    command = [sys.executable, lab.__file__, "zsfw-dvr", tmp_path]
    rng, answered, kills = np.random.default_rng(2), set(), 0
    made = 0
    deadline = time.monotonic() + 120
    while not (tmp_path / "result.npz").exists():
        assert time.monotonic() < deadline
        process = subprocess.Popen(command)
        end = time.monotonic() + (rng.uniform(0.3, 1.0) if kills < 5 else 60)
        while process.poll() is None and time.monotonic() < end:
            for file in (tmp_path / "requests").glob("*.*") if (tmp_path / "requests").exists() else ():
                if file.name.startswith(".") or file.stem in answered:
                    continue
                try:
                    request = read_request(file)
                except FileNotFoundError:
                    continue
                write_answer(tmp_path, request, lab.values(request))
                answered.add(file.stem)
                made += len(request)
                time.sleep(0.02)
                if kills < 5 and rng.random() < 0.15:
                    end = 0.0
                    break
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        assert process.wait() in (0, -signal.SIGKILL)
    result = zofw.Result.load(tmp_path / "result.npz")
    assert kills >= 3 and lab.same(result, lab.whole("zsfw-dvr"))
    assert made == result.nfev, "nobody measured anything twice"
    assert not list((tmp_path / "refused").iterdir())


class Stop(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("often", [False, True])
def test_stopped_between_any_two_writes(often, tmp_path, monkeypatch):
    """Every write of a journal, file or checkpoint is in turn the last one of its process."""
    from zofw.run.files import journal, store

    if often:  # a checkpoint after every iteration
        monkeypatch.setattr(store, "CHECKPOINT_SECONDS", 0.0)
        monkeypatch.setattr(store, "SHARE", 0)
    method = zofw.papers.ZOSFW(batch_size=4, directions=2)
    left = [0]

    def counted(function):
        def write(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                raise Stop
            return function(*arguments, **named)

        return write

    monkeypatch.setattr(journal.Journal, "append", counted(journal.Journal.append))
    monkeypatch.setattr(folder.DeskFolder, "move", counted(folder.DeskFolder.move))
    monkeypatch.setattr(folder, "put", counted(files.put))
    reported = set()
    whole = lab.whole(method, max_iter=2)
    for stop in range(1, 400):
        left[0] = stop
        try:
            desk = opened(tmp_path, method, max_iter=2)
        except Stop:
            continue
        try:
            while not desk.done:
                for wanted in asked(tmp_path):
                    values = lab.values(wanted)
                    if wanted.id.count("-") == 2 and wanted.id.endswith("1") and wanted.id not in reported:
                        reported.add(wanted.id)
                        write_answer(tmp_path, wanted, {0: values[0]}, failed={1: "the pump"})
                    else:
                        write_answer(tmp_path, wanted, values)
                desk.read()
            if left[0] > 0:
                break
        except Stop:
            continue
        finally:
            desk.folder.close()
    assert desk.done and stop > 10
    result = desk.result()
    assert np.array_equal(result.x, whole.x)
    assert result.ledger == whole.ledger | {"failed": len(reported)} and reported
    assert not list((tmp_path / "refused").iterdir())


def test_dropped_and_left(tmp_path):
    with opened(tmp_path, zofw.papers.ZOSFW(directions=4), size=2) as desk:
        first = desk.requests()[0]
        desk.tell(first.id, [100.0, 100.0])
        desk.drop()
        second = desk.requests()[0]
        assert desk.session.ledger["failed"] == 2
    with opened(tmp_path, zofw.papers.ZOSFW(directions=4), size=2) as desk:
        assert desk.requests()[0].id == second.id, (
            "nothing of the iteration that was given up is taken for the new one"
        )
        assert desk.status()["answered"] == 0
        assert desk.tell(first.id, [100.0, 100.0]) == 0


def test_a_dropped_iteration_of_minimize_is_not_taken_for_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(open_answer, "KEPT_SECONDS", 0.0)

    def oracle(dies: int):
        calls = [0]

        def f(x):
            calls[0] += 1
            if calls[0] == 4:
                raise RuntimeError("no value here")
            if calls[0] == dies:
                raise Stop
            return float(((x - 0.3) ** 2).sum())

        return zofw.problems.BlackBox(f, dim=4)

    given = {
        "method": zofw.papers.ZOSFW(directions=4),
        "budget": 60,
        "rng": 0,
        "diagnose": 0,
        "on_error": "skip",
    }
    whole = zofw.minimize(oracle(0), zofw.Simplex(), **given)
    path = tmp_path / "run.npz"
    with pytest.raises(Stop):
        zofw.minimize(oracle(6), zofw.Simplex(), checkpoint=path, **given)
    sound = zofw.problems.BlackBox(lambda x: float(((x - 0.3) ** 2).sum()), dim=4)
    assert np.array_equal(zofw.resume(path, sound).x, whole.x)


class Modest(Still):
    """Asks for three points, and for one where the budget has no more."""

    def step(self, task, state, rng):
        try:
            yield Query(np.stack([state.x, 0.5 * state.x, 0.2 * state.x]), task.all)
        except OutOfBudget:
            yield Query(0.1 * state.x, task.all)
        return self.State(state.t + 1, state.x), Info()


@pytest.mark.parametrize("answered", [0, 2])
def test_a_query_withdrawn_for_the_budget_is_not_taken_for_the_next(answered, tmp_path):
    given = {"dim": 2, "method": Modest(), "budget": 4, "max_iter": 1, "x0": [0.5, 0.25], "diagnose": 0}
    with Desk.open(tmp_path, BALL, **given) as desk:
        first = desk.requests()
        for request in first[:answered]:
            desk.tell(request.id, 7.0)
        desk.fail(first[2].id, "once", paid=False)
        desk.fail(f"{first[2].id}-2", "twice")
        assert len(desk.requests()) == 3 - answered and desk.session.nfev == 1 + answered
        desk.fail(f"{first[2].id}-3", "three times: two and three evaluations are more than four")
        assert desk.session.nfev == 2 + answered
        ids = [request.id for request in desk.requests()]
    with Desk.open(tmp_path, BALL, **given) as desk:
        assert [request.id for request in desk.requests()] == ids and desk.session.nfev == 2 + answered
        if ids:
            (last,) = desk.requests()
            assert last.id[:6] != first[0].id[:6] and desk.status()["answered"] == 0
            desk.tell(last.id, 1.0)
        assert desk.done and desk.result().nfev <= 4


def test_failures_survive(tmp_path):
    with opened(tmp_path, size=2) as desk:
        first = desk.requests()[0]
        write_answer(tmp_path, first, {0: lab.values(first)[0]}, failed={1: "a reason"})
        desk.read()
        ids, ledger = [r.id for r in desk.requests()], dict(desk.session.ledger)
        assert ledger["failed"] == 1 and f"{first.id}-2" in ids
    with opened(tmp_path, size=2) as desk:
        assert [r.id for r in desk.requests()] == ids and desk.session.ledger == ledger
        answer_all(desk, np.random.default_rng(0))
        assert desk.result().nfev == lab.whole("zo-sfw").nfev + 1


def test_a_person_copies_the_request_and_fills_it_in(tmp_path):
    with opened(tmp_path, size=2) as desk:
        file = sorted((tmp_path / "requests").iterdir())[0]
        copy = tmp_path / "answers" / "my first one.json"
        copy.write_bytes(file.read_bytes())
        look = desk.read()
        assert look.waiting == [copy] and copy.exists(), "an empty form is left alone"
        values = lab.values(read_request(file))
        copy.write_text(
            file.read_text().replace("[null, null]", f"[{values[0]!r}, null]"), encoding="utf-8-sig"
        )
        assert desk.read().taken == 1 and not copy.exists()
        copy.write_text(file.read_text().replace("[null, null]", f"[{values[0]!r}, {values[1]!r}]"))
        assert desk.read().taken == 1 and not file.exists()
        assert {path.name for path in (tmp_path / "taken").iterdir()} == {
            "my first one.json",
            "my first one.2.json",
        }


@pytest.mark.parametrize("closed", [False, True])
def test_a_person_fills_the_request_in_where_it_lies(closed, tmp_path):
    desk = opened(tmp_path, "zsfw-dvr", size=2)
    if closed:
        desk.close()
    first, second, third = sorted((tmp_path / "requests").iterdir())[:3]
    values = lab.values(read_request(first))
    first.write_text(first.read_text().replace("[null, null]", f"[{values[0]!r}, {values[1]!r}]"))
    values = lab.values(read_request(second))
    second.write_text(second.read_text().replace("[null, null]", f"[null, {values[1]!r}]"))
    third.write_text(third.read_text().replace("[null, null]", "[0,5, 0,7]"))
    if closed:
        desk = opened(tmp_path, "zsfw-dvr", size=2)
    look = desk.read()
    assert look.taken == 3 and look.files == 2 and len(look.refused) == 1
    assert not first.exists() and read_request(second) and read_request(third), (
        "what is open is put out again"
    )
    answer_all(desk, np.random.default_rng(0))
    assert lab.same(desk.result(), lab.whole("zsfw-dvr"))
    desk.close()


def test_an_answer_that_is_written_again_while_it_is_read(tmp_path, monkeypatch):
    from zofw.desk import desk as module

    with opened(tmp_path, size=2) as desk:
        request = desk.requests()[0]
        values = lab.values(request)
        path = tmp_path / "answers" / "a.json"
        path.write_text(json.dumps({"id": request.id, "values": [values[0], None]}))

        def load_late(file, *rest):
            fields = files.load(file)
            path.write_text(json.dumps({"id": request.id, "values": values}))
            return fields

        with monkeypatch.context() as patch:
            patch.setattr(module, "load", load_late)
            assert desk.read().taken == 1 and path.exists()
        assert desk.read().taken == 1 and not path.exists()


def test_files_of_others_stay(tmp_path):
    (tmp_path / "requests").mkdir()
    (tmp_path / "requests" / "thesis.json").write_text("{}")
    for _ in range(2):
        with opened(tmp_path) as desk:
            desk.read()
    assert (tmp_path / "requests" / "thesis.json").read_text() == "{}"


def test_a_request_that_somebody_removed_is_put_out_again(tmp_path):
    with opened(tmp_path) as desk:
        file = next((tmp_path / "requests").iterdir())
        file.unlink()
        desk.read()
        assert file.exists()


BROKEN = {
    "empty.json": b"",
    "torn.json": b'{"id": "000000-',
    "comma.json": b'{"id": "x", "values": [1,5]]',
    "list.json": b"[1.0]",
    "nan.json": b'{"id": "x", "values": [NaN]}',
    "twice.json": b'{"id": "x", "values": [1.0], "values": [2.0]}',
    "deep.json": b"[" * 100_000,
    "latin.json": b'{"id": "\xe4"}',
    "unknown.json": b'{"id": "000000-0000", "values": [1.0]}',
    "outside.json": b'{"id": "../run", "values": [1.0]}',
    "noise.npz": bytes(range(256)),
    "text.npz": b'{"id": "x"}',
}


def test_what_cannot_be_read_is_moved_aside_with_its_reason(tmp_path):
    with opened(tmp_path) as desk:
        for name, text in BROKEN.items():
            (tmp_path / "answers" / name).write_bytes(text)
        look = desk.read()
        assert {path.name for path in look.refused} == set(BROKEN)
        for path, reason in look.refused.items():
            assert path.read_bytes() == BROKEN[path.name] and len(reason) > 20
            assert path.with_name(f"{path.name}.why.txt").read_text().strip() == reason.strip()
        assert desk.session.nfev == 0 and not any((tmp_path / "answers").iterdir())
        answer_all(desk, np.random.default_rng(0))
        assert lab.same(desk.result(), lab.whole("zo-sfw"))


def test_another_value_for_what_was_answered_is_refused_also_after_opening_again(tmp_path):
    with opened(tmp_path, size=50) as desk:
        first = desk.requests()[0]
        write_answer(tmp_path, first, lab.values(first))
        desk.read()
    with opened(tmp_path, size=50) as desk:
        write_answer(tmp_path, first, lab.values(first))
        assert desk.read().files == 1
        write_answer(tmp_path, first, [1.0] * len(first))
        ((path, reason),) = desk.read().refused.items()
        assert "The first answer counts" in reason and path.exists()


def test_a_file_on_its_way_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "SETTLE_SECONDS", 2.0)
    with opened(tmp_path) as desk:
        path = tmp_path / "answers" / "slow.json"
        path.write_text('{"id": ')
        assert desk.read().waiting == [path]
        old = time.time() - 3
        os.utime(path, (old, old))
        assert len(desk.read().refused) == 1


def test_files_that_are_no_answers_are_left_and_mentioned(tmp_path, caplog):
    with opened(tmp_path) as desk:
        for name in ("notes.txt", ".hidden.json", "draft.json~", "x.json.tmp"):
            (tmp_path / "answers" / name).write_text("{}")
        os.mkfifo(tmp_path / "answers" / "pipe.json")
        (tmp_path / "answers" / "folder.json").mkdir()
        with pytest.warns(UserWarning, match=r"is not read: an answer is a file whose name ends in .json"):
            desk.read()
        desk.read()
    said = [r.getMessage() for r in caplog.records if "is not read" in r.getMessage()]
    assert len(said) == 3 and len(list((tmp_path / "answers").iterdir())) == 6


def test_big_requests_are_npz_and_so_may_answers_be(tmp_path, monkeypatch):
    monkeypatch.setattr(form, "JSON_NUMBERS", 10)
    with opened(tmp_path, size=8) as desk:
        while not desk.done:
            for file in sorted((tmp_path / "requests").iterdir()):
                with np.load(file, allow_pickle=False) as fields:
                    found = [
                        lab.measure(fields["points"][j], i)
                        for j, i in zip(fields["point"], fields["component"], strict=True)
                    ]
                    id = fields["id"]
                half = len(found) // 2
                np.savez(
                    tmp_path / "answers" / "b.npz",
                    id=id,
                    values=found[half:],
                    index=np.arange(half, len(found)),
                )
                desk.read()
                if half:
                    np.savez(
                        tmp_path / "answers" / "a.npz", id=id, values=found[:half], index=np.arange(half)
                    )
                    desk.read()
        assert lab.same(desk.result(), lab.whole("zo-sfw"))
    assert {path.suffix for path in (tmp_path / "done").iterdir()} == {".npz"}
    assert not list((tmp_path / "refused").iterdir())


@given(st.binary(max_size=200), st.sampled_from(["json", "npz"]), st.data())
@examples(50)
def test_fuzz_files(tmp_path_factory, noise, ending, data):
    path = tmp_path_factory.mktemp("desk")
    with opened(path) as desk:
        first = desk.requests()[0]
        good = write_answer(path, first, lab.values(first))
        text = bytearray(good.read_bytes())
        good.unlink()
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 20))] = noise
        (path / "answers" / f"x.{ending}").write_bytes(text)
        look = desk.read()
        assert look.files + len(look.refused) + len(look.waiting) == 1
        assert {p.name for p in path.parent.iterdir()} >= {path.name}
        answered = desk.status()["answered"]
        assert answered == look.taken


def test_a_request_that_was_changed_is_not_read(tmp_path):
    with opened(tmp_path) as desk:
        file = sorted((tmp_path / "requests").iterdir())[0]
        text = file.read_text()
        number = repr(float(desk.requests()[0].points[0, 0]))
        file.write_text(text.replace(number, "0.25"))
        with pytest.raises(FileError, match="does not match its checksum"):
            read_request(file)
        file.write_text("{}")
        with pytest.raises(FileError, match="not a request"):
            read_request(file)


def test_one_desk_a_folder(tmp_path):
    with opened(tmp_path), pytest.raises(LockedError):
        opened(tmp_path)
    opened(tmp_path).close()


def test_a_closed_desk_takes_nothing(tmp_path):
    desk = opened(tmp_path)
    first = desk.requests()[0]
    desk.close()
    desk.close()
    for act in (lambda: desk.tell(first.id, lab.values(first)), desk.drop, desk.read):
        with pytest.raises(ValueError, match="This desk was closed"):
            act()
    with opened(tmp_path) as desk:
        assert desk.status()["answered"] == 0


def test_what_is_given_again_must_agree(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no desk in"):
        Desk.open(tmp_path)
    opened(tmp_path).close()
    Desk.open(tmp_path).close()
    for name, value in {
        "dim": 7,
        "n": 4,
        "rng": 4,
        "inside": True,
        "gap_tol": 0.1,
        "size": 9,
    }.items():
        with pytest.raises(ValueError, match=f"{name}="):
            Desk.open(tmp_path, **{name: value})
    with pytest.raises(ValueError, match="method"):
        Desk.open(tmp_path, method="zo-fw")
    with pytest.raises(TypeError, match="no setting 'budgte'"):
        Desk.open(tmp_path, budgte=40)
    with pytest.raises(ValueError, match="size should be a whole number"):
        Desk.open(tmp_path / "other", BALL, size=0, **lab.settings())
    assert not (tmp_path / "other").exists()
    with Desk.open(tmp_path, budget=1000, max_iter=9) as desk:
        assert desk.session.run.limits.budget == 1000


def test_a_budget_too_small_leaves_no_run_behind(tmp_path):
    with pytest.raises(zofw.BudgetError):
        opened(tmp_path, "zo-fw", budget=3)
    opened(tmp_path, "zo-fw").close()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="A desk cannot be made in"):
        opened(tmp_path / "file" / "desk")


def test_a_full_disk_is_said_and_the_desk_goes_on(tmp_path, monkeypatch):
    desk = opened(tmp_path, size=50)
    first = desk.requests()[0]
    full = OSError(28, "No space left on device")

    def refuse(*arguments):
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("zofw.storage.os.replace", refuse)
        with pytest.raises(StorageError, match="could not be written"):
            desk.tell(first.id, lab.values(first))
    desk.close()
    with opened(tmp_path, size=50) as desk:
        answer_all(desk, np.random.default_rng(0))
        assert lab.same(desk.result(), lab.whole("zo-sfw"))


def test_no_more_files_than_wanted_at_once(tmp_path):
    with Desk.open(tmp_path, BALL, size=5, at_once=4, **lab.settings("zscg")) as desk:
        assert len(desk.requests()) > 4 and len(asked(tmp_path)) == 4
        answer_all(desk, np.random.default_rng(0))
        assert lab.same(desk.result(), lab.whole("zscg"))


def test_running_for_a_while(tmp_path):
    with opened(tmp_path) as desk:
        result = desk.run(every=0.01, seconds=0.03)
        assert result.status is zofw.Status.RUNNING and not desk.done
