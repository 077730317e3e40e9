"""Trackers as callbacks, against the real MLflow and TensorBoard and against their bare shapes."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import zofw
from zofw.adapters import Tracker

CENTRE = np.array([0.5, 0.3, 0.2])


def run(calls=None, **arguments):
    def fun(x):
        if calls is not None:
            calls.append(1)
        return float(np.sum((x - CENTRE) ** 2))

    problem = zofw.problems.BlackBox(fun, dim=3)
    return zofw.minimize(
        problem, zofw.Simplex(), method="zo-fw", budget=300, rng=0, **({"diagnose": 20} | arguments)
    )


class Many:
    """MLflow's shape: several numbers at once."""

    def __init__(self):
        self.entries, self.params = [], {}

    def log_metrics(self, metrics, step=None):
        self.entries.append((step, metrics))

    def log_params(self, params):
        self.params |= params


class Single:
    """One number at a time, as Comet and others have it."""

    def __init__(self):
        self.entries, self.params = [], {}

    def log_metric(self, key, value, step=None):
        self.entries.append((step, {key: value}))

    def log_param(self, key, value):
        self.params[key] = value


class Scalars:
    """TensorBoard's shape."""

    def __init__(self):
        self.entries, self.params = [], {}

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.entries.append((global_step, {tag: scalar_value}))

    def add_text(self, tag, text_string, global_step=None):
        self.params[tag] = text_string


@pytest.mark.parametrize("shape", [Many, Single, Scalars])
@pytest.mark.parametrize("as_observer", [True, False])
def test_any_shape_and_either_way_in(shape, as_observer):
    target, calls = shape(), []
    tracker = Tracker(target, prefix="zofw/", seconds=0)
    way = {"observers": [tracker]} if as_observer else {"callback": tracker}
    result = run(calls, **way)
    tracker.finish(result)
    assert len(calls) == result.nfev + result.ndiagnosis
    assert run().ndiagnosis == result.ndiagnosis, "a tracker causes no evaluation"
    steps = [step for step, _ in target.entries]
    assert steps == sorted(steps) and steps[-1] == result.nfev
    objective = [(step, m["zofw/objective"]) for step, m in target.entries if "zofw/objective" in m]
    along = [(int(row[1]), row[3]) for row in result.trace.rows]
    assert objective == [*along[:-1], (result.nfev, result.fun)]  # the end is the point that is returned
    assert [m["zofw/iteration"] for _, m in target.entries if "zofw/iteration" in m][:-1] == [
        *range(1, result.nit + 1)
    ]
    assert target.params["zofw/method"] == "zo-fw" and target.params["zofw/set"] == "Simplex(total=1.0)"
    assert target.params["zofw/budget"] == "300" and target.params["zofw/seed"] == "(0,)"
    assert tracker.failures == 0


def test_it_is_no_burden_between_rows_of_the_trace():
    target = Many()
    result = run(callback=Tracker(target, seconds=3600), diagnose=3)
    assert 1 < len(target.entries) < result.nit
    target = Many()
    result = run(callback=Tracker(target, seconds=3600), diagnose=0)
    assert len(target.entries) == 1
    assert all(np.isfinite(list(metrics.values())).all() for _, metrics in target.entries)


def test_two_runs_in_a_row():
    target = Many()
    tracker = Tracker(target, seconds=3600)
    first, second = run(callback=tracker), run(callback=tracker)
    objectives = [metrics["objective"] for _, metrics in target.entries if "objective" in metrics]
    told = first.trace.objective[:-1]  # the last row comes with the end
    np.testing.assert_array_equal(objectives, [*told, *told])
    assert first.nfev == second.nfev


def test_a_target_that_fails_does_not_end_the_run(caplog):
    class Broken:
        def log_metrics(self, metrics, step=None):
            raise ConnectionError("no route to host")

    tracker = Tracker(Broken(), seconds=0)
    with caplog.at_level(logging.WARNING, logger="zofw"):
        result = run(callback=tracker)
    assert result.status is zofw.Status.BUDGET and tracker.failures >= result.nit
    assert (
        caplog.text.count("Broken could not be told about the run (ConnectionError: no route to host)") == 1
    )


def test_something_else_is_refused():
    with pytest.raises(TypeError, match=r"log_metrics, log_metric or add_scalar.*; dict has none of them"):
        Tracker({})


@pytest.mark.filterwarnings("ignore")
def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed (extra trackers)")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    tracker = Tracker(mlflow, seconds=0)
    with mlflow.start_run() as active:
        result = run(callback=tracker)
        tracker.finish(result)
    assert tracker.failures == 0
    client = mlflow.MlflowClient()
    history = client.get_metric_history(active.info.run_id, "objective")
    assert history[-1].step == result.nfev and history[-1].value == result.fun
    assert sorted({entry.step for entry in history}) == sorted({int(row[1]) for row in result.trace.rows})
    data = client.get_run(active.info.run_id).data
    assert data.params["method"] == "zo-fw"
    assert data.metrics["queries/estimate"] == result.ledger["estimate"]


@pytest.mark.filterwarnings("ignore")
def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed (extra trackers)")
    pytest.importorskip("torch", reason="torch, which has the SummaryWriter, is not installed (extra torch)")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        tracker = Tracker(writer, seconds=0)
        result = run(callback=tracker)
        tracker.finish(result)
    assert tracker.failures == 0
    events = EventAccumulator(str(tmp_path)).Reload()
    entries = events.Scalars("objective")
    assert entries[-1].step == result.nfev and entries[-1].value == pytest.approx(result.fun, rel=1e-6)
    assert len(events.Scalars("gap")) >= result.nit
    assert "method/text_summary" in events.Tags()["tensors"]
