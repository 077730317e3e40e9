"""Mistakes of a specification before anything runs: every problem, set and method is made, and its first iteration priced."""

from __future__ import annotations

from dataclasses import dataclass

from zofw.run import BudgetError, Session
from zofw_paper.cases import NO_CODE, Built, Code
from zofw_paper.experiment import present
from zofw_paper.methods import chosen_methods
from zofw_paper.runner import MISTAKES, Unit, built
from zofw_paper.spec import Case, Experiment, Method


@dataclass(frozen=True)
class Checked:
    """One method on one case: queries of its first iteration, how many such iterations the budget pays at most, or an error."""

    case: str
    method: str
    cost: int = 0
    iterations: int = 0
    error: str = ""


def check_experiment(experiment: Experiment, code: Code = NO_CODE) -> list[Checked]:
    """Return every method on every case whose files are here; nothing is evaluated."""
    found = []
    for case in present(experiment)[0]:
        try:
            ready = built(case, code)
        except MISTAKES as error:
            found.append(Checked(case.name, "", error=str(error)))
            continue
        chosen = chosen_methods(experiment)
        found += [_check(case, method, ready, experiment) for method in chosen]
    return found


def _check(case: Case, method: Method, ready: Built, experiment: Experiment) -> Checked:
    lr = (method.grid or experiment.tuning.grid or (None,))[0]
    problem, cost = ready.problem, 1
    try:
        asked = Unit("", case, method, lr, 0, "objective", 0).asked(ready)["method"]
        Session(ready.set, dim=problem.dim, n=problem.n, method=asked, budget=1, rng=0, diagnose=0).ask()
    except BudgetError as error:
        cost = error.least
    except MISTAKES as error:
        return Checked(case.name, method.label, error=f"{case.name}, {method.label}: {error}")
    return Checked(case.name, method.label, cost, case.budget // max(cost, 1))
