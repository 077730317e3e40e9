"""Mixture weights with Optuna: every trial is a point of the simplex."""

import optuna

from zofw.adapters import ZOSampler

sampler = ZOSampler("simplex", ["web", "books", "code"], budget=200, seed=0)


def objective(trial: optuna.Trial) -> float:
    web, books, code = sampler.suggest(trial)
    return (web - 0.5) ** 2 + (books - 0.3) ** 2 + (code - 0.2) ** 2


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=sampler)
study.optimize(objective, n_trials=200)
print(study.best_params, study.best_value)
