"""Where runs of sums end: above their start by no more than ``fun_error`` says, and with a true ``fun ± fun_error``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import zofw
from attacks import Finding, until
from zofw.problems import BlackBox

LOSSES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "logistic": lambda t: np.logaddexp(0.0, -t),
    "squares": lambda t: (t - 1.0) ** 2,
    "deviation": lambda t: np.abs(t - 1.0),
    "hinge": lambda t: np.maximum(0.0, 1.0 - t),
    "quantile": lambda t: np.where(t > 1.0, 0.9 * (t - 1.0), 0.1 * (1.0 - t)),
}
MOST = 150_000  # evaluations of a run
METHODS = ("explore-correct", "explore-correct", "auto", "zsfw-dvr", "zo-sfw")
OFF = {2: 0.06, 3: 0.01}  # errors, and the share of sampled values that may be off by more
SLACK = 2.5  # standard deviations of such a share over the runs


def drawn(rng: np.random.Generator) -> tuple[str, BlackBox, zofw.sets.ConvexSet]:
    """Return a label, a sum over margins of random rows, and a set."""
    n = int(rng.choice([12, 40, 200, 800, 5000, 20_000]))
    d = min(int(rng.choice([5, 12, 40, 200])), 200_000 // n)
    name, ill = str(rng.choice(list(LOSSES))), rng.random() < 0.5
    Z = rng.standard_normal((n, d)) * (10 ** rng.uniform(-1, 0.5, d) if ill else 1.0) / np.sqrt(min(d, 12))
    Z *= np.where(Z @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)[:, None]
    sets = (zofw.Simplex(3.0), zofw.L1Ball(5.0), zofw.L2Ball(2.0), zofw.Box(-np.ones(d), np.ones(d)))
    region, loss = sets[rng.integers(4)], LOSSES[name]
    problem = BlackBox(lambda X, i: loss(X @ Z[i].T), dim=d, n=n, vectorized=True)
    return f"{name}, n = {n}, d = {d}, {type(region).__name__}", problem, region


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    above = Finding(
        "The default for sums never ends above its start by more than `fun_error` says",
        "sums of five losses, budgets of 1 to 100 means",
    )
    true = Finding(
        "`fun ± fun_error` is true: off by two errors in 6 %, by three in 1 % at most",
        "values of samples at the end",
    )
    off: list[float] = []
    for _ in until(seconds):
        label, problem, region = drawn(rng)
        passes = min(float(rng.choice([1, 3, 8, 15, 30, 100])), max(MOST / problem.n, 1.0))
        method, every = str(rng.choice(METHODS)), np.arange(problem.n)
        seed, budget = int(rng.integers(10**6)), int(passes * problem.n)
        try:
            result = zofw.minimize(problem, region, method=method, budget=budget, rng=seed)
        except zofw.BudgetError:
            continue
        x0 = np.asarray(region.initial_point(problem.dim), dtype=float)
        start, end = (float(problem.values(x[None], every).mean()) for x in (x0, result.x))
        error = float(result.fun_error)
        if method in ("auto", "explore-correct"):
            most = 2 * error if error > 0 else 1e-12 * abs(start)
            within = np.isnan(error) or end - start <= most
            above.check(
                within,
                f"{label}, {method}, budget {budget}, seed {seed}: {start:.6g} → {end:.6g} ± {error:.2g}",
            )
        if error > 0:
            true.tried += 1
            off.append(abs(result.fun - end) / error)
    for errors, share in OFF.items():
        beyond = float(np.mean(np.array(off) > errors)) if off else 0.0
        if beyond > share + SLACK * np.sqrt(share / max(len(off), 1)):
            true.failures.append(f"{beyond:.1%} of {len(off)} values are off by more than {errors} errors")
    return [above, true]


if __name__ == "__main__":  # python -m attacks.ends: ten minutes of these runs
    for finding in attack(600.0, np.random.default_rng(0)):
        print(finding)
