"""The commands of a desk: what a person types, and what a program reads."""

from __future__ import annotations

import json

import laboratories as lab
import pytest

import zofw
from zofw.desk import Desk

runner = pytest.importorskip("typer.testing").CliRunner()


def command(*words: object, code: int = 0) -> str:
    from zofw.cli.app import app

    done = runner.invoke(app, ["desk", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def folder(tmp_path):
    Desk.open(tmp_path / "desk", zofw.L2Ball(1.0), size=2, **lab.settings("zo-sfw")).close()
    return tmp_path / "desk"


def test_a_run_by_hand(folder):
    while requests := json.loads(command("list", folder, "--json")):
        for request in requests:
            points = [request["points"][j] for j in request["point"]]
            told = [
                repr(lab.measure(lab.np.array(x), i))
                for x, i in zip(points, request["component"], strict=True)
            ]
            if len(told) > 1:
                command("answer", folder, request["id"], "--", told[0], "-")
            assert json.loads(command("answer", folder, request["id"], "--json", "--", *told))["answer"]
        assert json.loads(command("read", folder, "--json"))["refused"] == {}
    whole = lab.whole("zo-sfw")
    status = json.loads(command("status", folder, "--json"))
    assert status["x"] == whole.x.tolist() and status["evaluations"] == whole.nfev


def test_what_people_see(folder):
    shown = command("list", folder)
    assert shown.count("000000-") == len(list((folder / "requests").iterdir())) and "first point" in shown
    id = next((folder / "requests").iterdir()).stem
    (folder / "answers" / "nonsense.json").write_text(json.dumps({"id": "x", "values": [1]}))
    (folder / "answers" / "later.json").write_text(json.dumps({"id": id, "values": [None, None]}))
    command("answer", folder, id, "--failed", "the pump", "--unpaid")
    seen = command("read", folder)
    assert "0 values taken" in seen and "There is no request 'x'" in seen and "not filled in" in seen
    assert "zo-sfw" in command("status", folder) and f"{id}-2" in command("list", folder)
    assert json.loads(command("status", folder, "--json"))["failed"] == 0


@pytest.mark.parametrize(
    "words",
    [("list",), ("status",), ("read",), ("answer", "000000-abcd-0000", "1.0")],
    ids=lambda words: words[0],
)
def test_where_there_is_no_desk(words, tmp_path):
    assert "There is no desk in" in command(words[0], tmp_path / "nowhere", *words[1:], code=2)
    assert not (tmp_path / "nowhere").exists()


def test_mistakes_are_sentences(folder):
    id = next((folder / "requests").iterdir()).stem
    assert "There is no open request 'x'" in command("answer", folder, "x", "1.0", code=2)
    assert "should be a number" in command("answer", folder, id, "0,5", "1", code=2)
    assert "asks for 2 values; got 1" in command("answer", folder, id, "0.5", code=2)
    assert 'neither "values" nor "failed"' in command("answer", folder, id, code=2)
