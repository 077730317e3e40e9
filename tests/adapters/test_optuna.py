"""The sampler keeps Optuna's own rules, and its run survives processes, failures and company."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("optuna", reason="Optuna is not installed (extra optuna)")

import optuna
from optuna.testing.pytest_samplers import BasicSamplerTestCase, SingleOnlySamplerTestCase

import zofw
from zofw.adapters import ZOSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
NAMES = ["a", "b", "c"]
CENTRE = np.array([0.6, 0.3, 0.1])
ROOT = Path(__file__).parent.parent.parent


def made(budget=40, region="simplex", **settings):
    return ZOSampler(region, NAMES, budget=budget, seed=1, **settings)


def objective(trial):
    x = np.array([trial.suggest_float(name, 0, 1) for name in NAMES])
    return float(np.sum((x - CENTRE) ** 2))


class TestOptunasOwnChecks(BasicSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: ZOSampler("simplex", ["w0", "w1"], budget=30, seed=0)


def points(study):
    return [[trial.params[name] for name in NAMES] for trial in study.trials]


def test_trials_are_the_evaluations_of_minimize():
    study = optuna.create_study(sampler=made())
    study.optimize(objective, n_trials=40)
    X = np.array(points(study))
    assert X.min() >= 0 and np.abs(X.sum(axis=1) - 1).max() < 1e-15
    seed = study._storage.get_study_system_attrs(study._study_id)["zofw:seed"]
    f = zofw.problems.BlackBox(lambda x: float(np.sum((x - CENTRE) ** 2)), dim=3)
    result = zofw.minimize(f, zofw.Simplex(), budget=40, rng=seed, inside=True)
    study.optimize(objective, n_trials=1)
    np.testing.assert_allclose(points(study)[-1], result.x, atol=1e-12)


def test_a_study_goes_on_in_another_process(tmp_path):
    whole = optuna.create_study(sampler=made())
    whole.optimize(objective, n_trials=30)
    storage = f"sqlite:///{tmp_path}/study.db"
    for _ in range(3):
        study = optuna.create_study(sampler=made(), storage=storage, study_name="s", load_if_exists=True)
        study.optimize(objective, n_trials=10)
    np.testing.assert_array_equal(points(study), points(whole))


def test_failed_and_pruned_trials_are_asked_again():
    calls = iter(range(10**6))

    def flaky(trial):
        value = objective(trial)
        number = next(calls)
        if number % 5 == 1:
            raise RuntimeError("no")
        if number % 5 == 2:
            raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=made())
    study.optimize(flaky, n_trials=60, catch=RuntimeError)
    smooth = optuna.create_study(sampler=made())
    smooth.optimize(objective, n_trials=36)
    done = [p for p, t in zip(points(study), study.trials, strict=True) if t.value is not None]
    np.testing.assert_array_equal(done[:36], points(smooth))


def test_open_trials_do_not_repeat_each_other():
    study = optuna.create_study(sampler=made(budget=100))
    first = study.ask(made().space())
    second = study.ask(made().space())
    assert first.params != second.params
    study.tell(second, 0.2)
    study.tell(first, 0.1)


def test_maximising_and_other_parameters():
    sampler = ZOSampler(zofw.CappedSimplex(1.0, 0.5), NAMES, budget=150, seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def profit(trial):
        trial.suggest_categorical("kind", ["x", "y"])
        return float(sampler.suggest(trial) @ [3.0, 2.0, 1.0])

    study.optimize(profit, n_trials=151)
    assert study.trials[-1].value == pytest.approx(2.5, abs=1e-3)
    assert all(max(p) <= 0.5 for p in points(study))


def test_what_is_refused():
    with pytest.raises(ValueError, match="none twice"):
        ZOSampler("simplex", ["a", "a"], budget=10)
    with pytest.raises(ValueError, match="dimension 2, but dimension 3"):
        ZOSampler(zofw.Box([0, 0], [1, 1]), NAMES, budget=10)


def test_the_package_for_optunahub_exports_the_sampler():
    folder = ROOT / "examples" / "optunahub" / "zofw_frank_wolfe"
    spec = importlib.util.spec_from_file_location("hub", folder / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.__all__ == ["ZOSampler"] and module.ZOSampler is ZOSampler
    readme = (folder / "README.md").read_text()
    for field in ("author:", "title:", "description:", "tags:", "optuna_versions:", "license:"):
        assert f"\n{field}" in readme
    assert (folder / "LICENSE").exists() and "zofw" in (folder / "requirements.txt").read_text()
