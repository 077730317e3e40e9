"""``python -m benchmarks.five_minutes``: one task in four libraries, as a newcomer writes it: lines, seconds, accuracy.

The task: five weights that sum to one, a function that can only be evaluated, 300 evaluations. Each program runs in a fresh process, and
its seconds include the import. The last line of a program leaves the weights in ``w``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

OUT = Path(__file__).parents[1] / "docs" / "comparison" / "five_minutes.inc"
RUNS = 5
TASK = """
import numpy as np
best = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
calls = 0
def simulator(w):
    global calls
    calls += 1
    return float(np.sum((np.asarray(w) - best) ** 2) + 0.5 * (w[0] * w[1] - best[0] * best[1]) ** 2)
"""
PROGRAMS = {
    "zofw": """
        import zofw
        result = zofw.minimize(simulator, "simplex", dim=5, budget=300, rng=0)
        w = result.x
        """,
    "SciPy, SLSQP": """
        from scipy.optimize import LinearConstraint, minimize
        total = LinearConstraint(np.ones(5), 1, 1)
        result = minimize(simulator, np.full(5, 0.2), method="SLSQP", bounds=[(0, 1)] * 5, constraints=[total], options={"maxiter": 40})
        w = result.x
        """,
    "pycma, softmax": """
        import cma
        def weights(z):
            e = np.exp(z - np.max(z))
            return e / e.sum()
        z, es = cma.fmin2(lambda z: simulator(weights(z)), np.zeros(5), 1.0, {"maxfevals": 300, "seed": 1, "verbose": -9})
        w = weights(z)
        """,
    "Optuna, shares": """
        import optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        def objective(trial):
            e = np.array([-np.log(trial.suggest_float(f"u{i}", 1e-9, 1.0)) for i in range(5)])
            return simulator(e / e.sum())
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(objective, n_trials=300)
        e = np.array([-np.log(study.best_params[f"u{i}"]) for i in range(5)])
        w = e / e.sum()
        """,
}
LAST = """
import json
print(json.dumps({"error": float(np.abs(w - best).max()), "sum": float(abs(np.sum(w) - 1)), "least": float(np.min(w)), "calls": calls}))
"""


def run(program: str) -> dict[str, float]:
    """The least seconds of a few fresh processes, and what the last one found."""
    timed = (
        "import time\nbegin = time.perf_counter()\n" + program + "\nseconds = time.perf_counter() - begin\n"
    )
    source = TASK + timed + LAST.replace("calls}", 'calls, "seconds": seconds}')
    done = [
        subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
        for _ in range(RUNS)
    ]
    found = [json.loads(one.stdout.splitlines()[-1]) for one in done]
    return found[-1] | {"seconds": min(one["seconds"] for one in found)}


def main() -> None:
    rows = ["| | lines | evaluations | largest error of a weight | off the simplex by | seconds, with the import |",
            "|---|---|---|---|---|---|"]  # fmt: skip
    for name, text in PROGRAMS.items():
        program = textwrap.dedent(text).strip()
        found = run(program)
        off = max(found["sum"], -found["least"], 0.0)
        rows.append(
            f"| {name} | {len(program.splitlines())} | {found['calls']} | {found['error']:.1e} | {off:.0e} | {found['seconds']:.1f} |"
        )
    OUT.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
