"""Ten rivals on the unit cube: each asks a function until its evaluations are spent, and its best value so far counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], float]
Rival = Callable[[Function, np.ndarray, int, int, bool], None]


class Spent(BaseException):
    """No evaluation is left."""


def scipy_method(name: str, **options: float) -> Rival:
    def run(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
        from scipy.optimize import minimize

        minimize(f, x0, method=name, bounds=[(0.0, 1.0)] * len(x0), options=options)

    return run


def nlopt_bobyqa(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    import nlopt

    problem = nlopt.opt(nlopt.LN_BOBYQA, len(x0))
    problem.set_min_objective(lambda x, gradient: f(x))
    problem.set_lower_bounds(np.zeros(len(x0)))
    problem.set_upper_bounds(np.ones(len(x0)))
    problem.set_initial_step(0.2)
    problem.set_maxeval(budget + 1)
    problem.optimize(x0)


def py_bobyqa(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    import pybobyqa

    np.random.seed(seed)  # noqa: NPY002  Py-BOBYQA draws from it
    pybobyqa.solve(
        f, x0, bounds=(np.zeros(len(x0)), np.ones(len(x0))), maxfun=budget + 1, rhobeg=0.2, objfun_has_noise=noisy,
        seek_global_minimum=False, do_logging=False,
    )  # fmt: skip


def bipop(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    import cma

    cma.fmin2(
        f, x0, 0.25, {"bounds": [0, 1], "maxfevals": budget + 1, "seed": seed + 1, "verbose": -9, "verb_log": 0},
        restarts=9, bipop=True,
    )  # fmt: skip


def direct(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    from scipy.optimize import direct as solve

    solve(f, [(0.0, 1.0)] * len(x0), maxfun=budget + 1, maxiter=10**6, vol_tol=0.0, len_tol=1e-12)


def tpe(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial({f"x{j}": float(v) for j, v in enumerate(x0)})
    study.optimize(
        lambda trial: f(np.array([trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(len(x0))])),
        n_trials=budget + 1,
    )


def ngopt(f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    import nevergrad

    space = nevergrad.p.Array(init=x0).set_bounds(0.0, 1.0)
    space.random_state.seed(seed)
    optimizer = nevergrad.optimizers.registry["NGOpt"](parametrization=space, budget=budget)
    for _ in range(budget):
        candidate = optimizer.ask()
        optimizer.tell(candidate, f(candidate.value))


RIVALS: dict[str, Rival] = {
    "SLSQP": scipy_method("SLSQP", maxiter=10**6, ftol=1e-14),
    "L-BFGS-B": scipy_method("L-BFGS-B", maxfun=10**6, ftol=1e-15, gtol=1e-12),
    "Nelder-Mead": scipy_method("Nelder-Mead", maxfev=10**6, xatol=1e-12, fatol=1e-14),
    "COBYQA": scipy_method("COBYQA", initial_tr_radius=0.2, maxfev=10**6),
    "BOBYQA (NLopt)": nlopt_bobyqa,
    "Py-BOBYQA": py_bobyqa,
    "BIPOP-CMA-ES": bipop,
    "DIRECT": direct,
    "TPE": tpe,
    "NGOpt": ngopt,
}
SLOWLY = {"TPE"}  # its own time grows with the square of the evaluations: two budgets
AWARE = {"NGOpt"}  # plans with its budget, so that every budget is a run


def play(rival: str, f: Function, x0: np.ndarray, budget: int, seed: int, noisy: bool) -> None:
    """Run it to the end of its budget; what a rival raises when values are strange ends it early."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            RIVALS[rival](f, x0, budget, seed, noisy)
        except Spent:
            return
        except ImportError:
            raise
        except Exception:
            return
