"""Answers that are links or too long are refused before they are read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import zofw
from zofw.desk import folder


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(folder, "SETTLE_SECONDS", 0.0)
    with_folder = zofw.Desk.open(tmp_path / "lab", zofw.Simplex(), dim=3, method="zo-fw", budget=40, rng=0)
    yield with_folder
    with_folder.close()


def test_a_link_is_refused_and_tells_nothing_of_its_target(desk, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0")
    os.symlink(secret, tmp_path / "lab" / "answers" / "a.json")
    (reason,) = desk.read().refused.values()
    assert "is a link" in reason
    left = "".join(
        path.read_text() for path in (tmp_path / "lab" / "refused").iterdir() if not path.is_symlink()
    )
    assert "root" not in left and "root" not in reason


def test_an_answer_of_ninety_megabytes_is_refused_at_once(desk, tmp_path):
    (request,) = desk.requests(limit=1)
    path = tmp_path / "lab" / "answers" / "a.json"
    with path.open("w") as file:
        file.write(json.dumps({"id": request.id, "values": []})[:-2])
        file.write(",".join(["[1]"] * 1_000_000) + "]}")
    began = time.process_time()
    (reason,) = desk.read().refused.values()
    assert "longer than" in reason and time.process_time() - began < 1.0
