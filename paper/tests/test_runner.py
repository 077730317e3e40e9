"""Runs in their directories: whole, killed, resumed, refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab_pieces import SPEC, code, toy
from zofw.run.record.result import Result
from zofw_paper.cases import Code, build_case, missing_files, optimum
from zofw_paper.experiment import conduct, tune, widened
from zofw_paper.provenance import environment
from zofw_paper.records import plain
from zofw_paper.runner import Unit, Watcher, execute, run_all
from zofw_paper.spec import Case, Method, SpecError, Tuning, read
from zofw_paper.store import Folder, StoreError, read_json, read_trace, write_json


def unit(folder: Path, path: str = "run", **changed) -> Unit:
    case = read(toy(folder)).cases[0]
    method = changed.pop("method", Method("zo-sfw", "averaged", settings={"batch_size": 2, "directions": 3}))
    return Unit(
        str(folder / path), replace(case, **changed), method, None, 7, "objective", 10, None, code(folder)
    )


def test_a_run_leaves_its_directory(tmp_path):
    seen = []
    result = execute(unit(tmp_path), seen.append).result
    folder = Folder(tmp_path / "run")
    assert folder.finished and plain(result) == read_json(folder.summary)
    assert read_json(folder.spec)["seed"] == 7
    assert read_json(folder.environment)["packages"]["numpy"] == np.__version__
    assert result.queries <= 900 and result.status == "budget" and result.n == 5
    trace = read_trace(folder.trace)
    assert trace["queries"][0] == 0 and trace["objective"][-1] == pytest.approx(result.objective)
    assert Result.load(folder.result).nfev == result.queries
    assert seen and seen[0].budget == 900
    assert execute(unit(tmp_path)).result == result


def test_another_specification_is_refused(tmp_path):
    execute(unit(tmp_path))
    assert "another specification" in execute(unit(tmp_path, budget=901)).error
    (tmp_path / "other.py").write_text(Path(code(tmp_path).path).read_text() + "more = 1\n")
    changed = replace(unit(tmp_path), code=Code(str(tmp_path / "other.py")))
    assert "another specification" in execute(changed).error, "of other code"


def test_a_run_is_read_from_its_directory(tmp_path):
    mine = unit(tmp_path)
    execute(mine)
    assert Unit.read(tmp_path / "run", code(tmp_path)) == mine
    assert "toy_problem" not in (tmp_path / "run" / "spec.json").read_text(), "a folder of runs names no code"
    write_json(tmp_path / "run" / "spec.json", {"seed": 1})
    with pytest.raises(StoreError, match="not the specification of a run"):
        Unit.read(tmp_path / "run")
    with pytest.raises(StoreError, match="cannot be read"):
        Unit.read(tmp_path / "nowhere")


def test_a_budget_that_pays_nothing_is_the_starting_point(tmp_path):
    result = execute(unit(tmp_path, budget=3, method=Method("zo-fw"))).result
    assert result.status == "not begun" and result.queries == 0 and "Give at least" in result.message
    assert read_trace(tmp_path / "run" / "trace.csv")["queries"] == [0]


KILLED = """
import sys
from pathlib import Path
from zofw_paper.runner import Unit, execute
from zofw_paper.cases import Code
execute(Unit.read(Path(sys.argv[1]), Code(sys.argv[2])))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_happened(tmp_path, how):
    slow = unit(tmp_path, arguments={"slow": 0.003}, budget=1200)
    write_json(Folder(slow.path).spec, slow.document())
    command = [sys.executable, "-c", KILLED, slow.path, slow.code.path]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    journal = Path(slow.path) / "checkpoint.npz.journal"
    deadline = time.monotonic() + 60
    while not (journal.is_file() and journal.stat().st_size > 1500) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, how)
    process.wait(timeout=60)
    assert not Folder(slow.path).finished
    execute(slow)
    whole = unit(tmp_path, "whole", budget=1200)
    execute(whole)
    assert not list(Path(slow.path).glob("checkpoint*")), "a finished run needs none"
    killed, never = (Result.load(Path(u.path) / "result.npz") for u in (slow, whole))
    assert np.array_equal(killed.x, never.x) and killed.nfev == never.nfev
    assert np.array_equal(killed.trace.objective, never.trace.objective)


POOL = """
import sys
from pathlib import Path
from zofw_paper.runner import Unit, run_all
if __name__ == "__main__":
    from zofw_paper.cases import Code
    run_all([Unit.read(Path(path), Code(sys.argv[1])) for path in sys.argv[2:]], workers=1)
"""


def test_workers_end_when_whoever_started_them_is_killed(tmp_path):
    psutil = pytest.importorskip("psutil")
    slow = unit(tmp_path, arguments={"slow": 0.05}, budget=10_000)
    write_json(Folder(slow.path).spec, slow.document())
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    command = [sys.executable, str(script), slow.code.path, slow.path]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    journal = Path(slow.path) / "checkpoint.npz.journal"
    deadline = time.monotonic() + 180
    while not journal.is_file() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert journal.is_file()
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait(timeout=60)
    gone, alive = psutil.wait_procs(children, timeout=30)
    assert gone and not alive


def test_many_runs_in_workers_are_those_of_this_process(tmp_path):
    units = [unit(tmp_path, f"run-{k}") for k in range(3)] + [
        unit(tmp_path, "bad", problem="broken", method=Method("zo-fw"))
    ]
    here = run_all([replace(u, path=f"{u.path}-here") for u in units], workers=0)
    told, ended, before = [], [], dict(os.environ)
    there = run_all(units, workers=2, watcher=Watcher(progress=told.append, outcome=ended.append))
    assert [o.result.objective for o in there[:3]] == [o.result.objective for o in here[:3]]
    assert len(ended) == 4 and "nan" in there[3].error and there[3].result is None
    assert there[3].error.replace("-here", "") == here[3].error.replace("-here", "")
    assert dict(os.environ) == before


def test_an_experiment_tunes_with_its_own_seeds_and_then_reports(tmp_path):
    experiment = read(toy(tmp_path))
    stages = []
    out = tmp_path / "out"
    watcher = Watcher(stage=lambda *a: stages.append(a))
    assert conduct(experiment, out, code=code(tmp_path), workers=0, watcher=watcher) == []
    assert stages == [("tuning", 6), ("reported runs", 9)]
    tuned = read_json(out / "quadratic" / "tuning.json")
    assert set(tuned["methods"]) == {"averaged", "all coordinates", "spsa"} and tuned["seeds"] == [11]
    best = tuned["methods"]["averaged"]
    assert best["lr"] == min((0.5, 1.0), key=lambda lr: best["scores"][f"{lr:g}"]) and best["at_edge"]
    ran = read_json(out / "quadratic" / "averaged" / "seed-1" / "spec.json")
    assert ran["lr"] == best["lr"] and ran["case"]["budget"] == 900
    assert read_json(out / "quadratic" / "averaged" / "tune-0.5-11" / "spec.json")["case"]["budget"] == 450
    assert tune(replace(experiment, tuning=Tuning()), out) == ({}, [])


def test_a_grid_grows_until_its_best_rate_lies_inside(tmp_path):
    assert widened([1.0, 2.0], 2.0) == [1.0, 2.0, 4.0] and widened([1.0, 2.0, 4.0], 2.0) == [1.0, 2.0, 4.0]
    assert widened([0.5], 0.5) == [0.25, 0.5, 1.0]
    experiment = read(toy(tmp_path))
    experiment = replace(
        experiment, methods=experiment.methods[1:2], tuning=Tuning((11, 12, 13), (16.0, 32.0), widen=True)
    )
    rates, wrong = tune(experiment, tmp_path / "out", code=code(tmp_path), workers=0)
    tuned = read_json(tmp_path / "out" / "quadratic" / "tuning.json")["methods"]["all coordinates"]
    assert not wrong and rates == {("quadratic", "all coordinates"): tuned["lr"]}
    assert tuned["lr"] < 16.0 and not tuned["at_edge"] and f"{tuned['lr'] / 2:g}" in tuned["scores"]


def test_cases_and_their_mistakes(tmp_path, monkeypatch):
    case = read(toy(tmp_path)).cases[0]
    here = code(tmp_path)
    assert build_case(replace(case, set={"name": "Disc"}), here).set.lmo(np.ones(4)).shape == (4,)
    for changed, words in [
        ({"problem": "nothing"}, "should return a problem"),
        ({"problem": "poetry"}, r"none of .*logistic.*no name of .*toy_problem\.py"),
        ({"problem": "subprocess:getoutput"}, "is none of"),
        ({"set": {"name": "poem"}}, "no set 'poem'"),
        ({"problem": "logistic"}, "needs data"),
        ({"arguments": {"colour": 1}}, "refused its arguments"),
        ({"set": {"name": "l1-ball", "size": 1}}, "refused its arguments"),
        ({"problem": "mnist-attack", "arguments": {"network": "resnet18"}}, "network should be one of"),
    ]:
        with pytest.raises(SpecError, match=words):
            build_case(replace(case, **changed), here)
    with pytest.raises(SpecError, match=r"no file was given with --code\.$"):
        build_case(case)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "own.py").write_text("def quadratic_sum(): ...\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=r"add --code experiments.own\.py"):
        build_case(case)


def test_files_that_are_missing_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    linear = Case("c", "logistic", {"name": "simplex"}, 1, data="a9a")
    assert missing_files(linear) == ["libsvm/a9a"]
    assert missing_files(replace(linear, data="breast-cancer")) == []
    attack = Case("c", "mnist-attack", {"name": "simplex"}, 1)
    assert missing_files(attack)[0].startswith("weights/") and len(missing_files(attack)) == 3
    assert missing_files(replace(attack, problem="f")) == []


def test_the_reference_value_is_kept_for_the_same_case_alone(tmp_path):
    pytest.importorskip("sklearn")
    case = Case("c", "logistic", {"name": "l1-ball", "radius": 1.0}, 1, data="breast-cancer")
    path = tmp_path / "reference.json"
    first = optimum(case, build_case(case), path)
    assert first.certified and first.gap <= 1e-10
    path.write_text(path.read_text().replace(repr(first.value), "0.5"))
    assert optimum(case, build_case(case), path).value == 0.5
    other = replace(case, set={"name": "l1-ball", "radius": 2.0})
    assert optimum(other, build_case(other), path).value < first.value


def test_the_environment_names_no_person_or_place():
    text = json.dumps(plain(environment("zo-fw")))
    assert os.path.expanduser("~") not in text and "numpy" in text


def test_optional_cases_without_files_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    more = '[[case]]\nname = "far"\nproblem = "logistic"\ndata = "a9a"\noptional = true\nbudget = 10\nset = { name = "simplex" }\n'
    experiment = replace(read(toy(tmp_path, SPEC + more)), tuning=Tuning(), seeds=(1,))
    assert conduct(experiment, tmp_path / "out", code=code(tmp_path), workers=0) == []
    assert read_json(tmp_path / "out" / "experiment.json")["absent"] == {"far": ["libsvm/a9a"]}
    assert not (tmp_path / "out" / "far").exists()


def test_neither_a_specification_nor_a_folder_of_runs_runs_code(tmp_path):
    told = tmp_path / "ran"
    hostile = {"problem": "subprocess:getoutput", "arguments": {"cmd": f"touch {told}"}}
    run = execute(replace(unit(tmp_path, **hostile), code=Code()))
    assert "is none of" in run.error
    (tmp_path / "evil.py").write_text(f"from pathlib import Path\nPath({str(told)!r}).touch()\n")
    for changed in ({"problem": "evil"}, {"problem": "evil:f"}, {"set": {"name": "evil"}}):
        assert execute(replace(unit(tmp_path, f"run-{changed}", **changed), code=Code())).error
    method = Method("zo-fw", constructor="step")
    assert "no constructor 'step'" in execute(unit(tmp_path, "other", method=method)).error
    folder = Folder(tmp_path / "stored")
    document = unit(tmp_path).document()
    write_json(folder.spec, {**document, "code": {"path": str(tmp_path / "evil.py")}})
    execute(Unit.read(folder.path))
    assert not told.exists()
