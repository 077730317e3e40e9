"""Adapters with several points at the same time."""

from __future__ import annotations

import importlib.util
import math
import threading
import time

import numpy as np
import pytest

import zofw

C = np.array([0.4, 0.3, 0.1, 0.1, 0.1])


def f(x):
    return float(np.sum((np.asarray(x) - C) ** 2))


def test_the_sampler_wastes_no_trial_of_eight_threads():
    optuna = pytest.importorskip("optuna", reason="optuna is not installed (extra optuna)")
    from zofw.adapters import ZOSampler

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = ZOSampler("simplex", list("abcde"), budget=60, seed=0, workers=8)
    study, rng = optuna.create_study(sampler=sampler), np.random.default_rng(0)

    def objective(trial):
        x = sampler.suggest(trial)
        time.sleep(0.003 * float(np.exp(rng.standard_normal())))
        return f(x)

    study.optimize(objective, n_trials=60, n_jobs=8)
    asked = ["zofw:request" in trial.system_attrs for trial in study.trials]
    last = max(number for number, request in enumerate(asked) if request)  # a certified run asks no more
    assert asked[:last].count(False) <= 0.05 * 60 and study.best_value < 1e-4
    again = ZOSampler("simplex", list("abcde"), budget=60, workers=8)  # another process takes the same order
    assert again._replayed(study).session.x.tobytes() == sampler._replayed(study).session.x.tobytes()


def test_optimagic_evaluates_several_points_at_a_time():
    om = pytest.importorskip("optimagic", reason="optimagic is not installed (extra optimagic)")
    from zofw.adapters import ZOFrankWolfe

    algorithm = ZOFrankWolfe("simplex", stopping_maxfun=120, seed=0, n_cores=4)
    result = om.minimize(f, params=np.full(5, 0.2), algorithm=algorithm)
    assert result.fun < 1e-8 and result.n_fun_evals <= 120


def test_a_vectorised_function_gets_the_points_of_a_round_in_one_call():
    sizes = []

    def many(X, components):
        sizes.append((len(X), threading.current_thread() is threading.main_thread()))
        return np.array([[f(x)] for x in X])

    problem = zofw.problems.BlackBox(many, dim=5, vectorized=True)
    result = zofw.minimize(problem, "simplex", budget=60, rng=0, workers=8, diagnose=0)
    assert result.fun < 1e-8 and max(size for size, _ in sizes[:3]) == 8 and all(here for _, here in sizes)


if importlib.util.find_spec("gest_api"):
    import gest_api.tests.test_generator as checks
    from gest_api.vocs import VOCS

    from zofw.adapters import ZOGenerator

    UNIT = {name: [0.0, 1.0] for name in "abcde"}

    def vocs(**more):
        return VOCS(**{"variables": UNIT, "objectives": {"f": "MINIMIZE"}} | more)

    def value(point):
        return f([point[name] for name in "abcde"])

    @pytest.mark.parametrize(
        "check",
        [
            "test_gen_fails_without_variable",
            "test_gen_fails_without_objective",
            "test_gen_has_constant_alpha",
        ],
    )
    def test_the_package_s_own_checks(check, monkeypatch):
        if check.endswith("objective"):
            with pytest.raises(ValueError, match="exactly one objective"):
                ZOGenerator(vocs(objectives={}))
        elif check.endswith("variable"):
            monkeypatch.setattr(checks, "RandomGenerator", ZOGenerator)
            getattr(checks, check)()
        else:
            assert "alpha" in ZOGenerator(vocs(constants={"alpha": 1.0})).suggest(1)[0]

    def test_discrete_variables_and_constraints_are_refused(monkeypatch):
        monkeypatch.setattr(checks, "RandomGenerator", ZOGenerator)
        checks.test_gen_fails_with_discrete_variable()
        with pytest.raises(ValueError, match="constraints"):
            ZOGenerator(vocs(constraints={"c": ["LESS_THAN", 1.0]}))

    @pytest.mark.parametrize("objective", ["MINIMIZE", "MAXIMIZE"])
    def test_points_in_any_order_and_number(objective):
        generator = ZOGenerator(vocs(objectives={"f": objective}), "simplex", workers=6, budget=90, rng=0)
        rng, open_points, count, sign = np.random.default_rng(0), [], 0, 1 if objective == "MINIMIZE" else -1
        while not generator.desk.done:
            open_points += generator.suggest()
            assert len(open_points) >= 1
            point = open_points.pop(rng.integers(len(open_points)))
            count += 1
            generator.ingest([point | {"f": math.nan if count == 5 else sign * value(point)}])
        assert generator.result().nfev <= 90 and f(generator.result().x) < 1e-6

    def test_exactly_as_many_points_as_asked_for_or_an_error():
        generator = ZOGenerator(vocs(), workers=4, rng=0)
        assert len(generator.suggest(3)) == 3
        with pytest.raises(ValueError, match="workers=50"):
            generator.suggest(50)
        with pytest.raises(ValueError, match="_id 99"):
            generator.ingest([{"_id": 99, "f": 1.0}])

    def test_values_from_before_the_run_are_known():
        generator = ZOGenerator(vocs(), workers=2, rng=0)
        rows = [dict(zip("abcde", x, strict=True)) for x in np.random.default_rng(0).random((8, 5))]
        best = min(rows, key=value)
        generator.ingest([row | {"f": value(row)} for row in rows])
        first = generator.suggest(1)[0]
        assert [first[name] for name in "abcde"] == pytest.approx([best[name] for name in "abcde"], abs=0.5)
        with pytest.raises(ValueError, match="before the first"):
            generator.ingest([best | {"f": 1.0}])
