"""``python -m benchmarks.front``: the plot and the numbers of the first page, measured.

Sparse logistic regression on the breast-cancer data over an ℓ1 ball of radius 2, from function values only. The default
method, the methods of the ZSFW-DVR paper, and the tools of ``benchmarks.peers`` that come nearest to the optimum: SciPy's
COBYQA and SLSQP with the constraint, three CMA-ES on projected points. One evaluation of these tools is one pass, n queries.
Medians of three seeds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import zofw
from benchmarks.peers import DETERMINISTIC, ours, problems, theirs
from zofw.references import reference

HERE = Path(__file__).parents[1] / "docs" / "front"
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- numbers -->", "<!-- end of numbers -->"
EVALUATIONS = 300
SEEDS = (1, 2, 3)
FLOOR = 1e-8  # the optimum is certified to 1e-10
NEAR = 1e-3
TOOLS = {"SciPy COBYQA": "SciPy COBYQA", "SciPy SLSQP": "SciPy SLSQP", "pycma": "pycma",
         "nevergrad CMA": "nevergrad CMA", "Optuna CMA-ES": "Optuna CMA-ES"}  # fmt: skip
PAPER = {"ZSFW-DVR": "zsfw-dvr", "ZO-SFW": "zo-sfw", "Acc-SZOFW": "acc-szofw"}
COLOURS = {
    "light": ("#1a56a8", "#111111", "#8a8a8a", "#222222"),
    "dark": ("#6cb2ff", "#f5f5f5", "#8f8f8f", "#dddddd"),
}


def paper(problem, set, seed, method):
    """Values of the iterate of one of the paper's methods after each evaluation."""
    result = zofw.minimize(problem, set, method=method, budget=EVALUATIONS * problem.n, rng=seed, diagnose=60)
    spent, values = result.trace.queries / problem.n, result.trace.objective
    return values[np.searchsorted(spent, np.arange(EVALUATIONS + 1), side="right") - 1]


def measure(only=None):
    """Median gaps after 0, …, 300 evaluations by tool, or of one tool."""
    name, problem, set = next(problems())
    best = reference(problem, set).value
    runs = {"zofw": lambda seed: ours(problem, set, seed, EVALUATIONS, components=True)[0]}
    runs |= {
        label: lambda seed, method=method: paper(problem, set, seed, method)
        for label, method in PAPER.items()
    }
    runs |= {
        label: lambda seed, tool=tool: theirs(tool, problem, set, seed, EVALUATIONS)[0]
        for label, tool in TOOLS.items()
    }
    curves = {}
    for label in runs if only is None else [only]:
        run = runs[label]
        held = [run(seed) for seed in (SEEDS[:1] if label in DETERMINISTIC else SEEDS)]
        held = [values[np.minimum(np.arange(EVALUATIONS + 1), len(values) - 1)] for values in held]
        curves[label] = np.maximum(np.median(held, axis=0) - best, 0.0).tolist()
        print(
            f"{label:14s} gap after 30, 100, 300: "
            + ", ".join(f"{curves[label][t]:.1e}" for t in (30, 100, 300))
        )
    return {"problem": name, "d": problem.dim, "n": problem.n, "gaps": curves}


def first(gaps, level):
    """Evaluations after which the gap stays below a level; None if it never does."""
    above = np.flatnonzero(np.asarray(gaps) > level)
    return 0 if not above.size else None if above[-1] + 1 == len(gaps) else int(above[-1] + 1)


def plain(number, digits=1):
    """Return 0.005 with one digit, 0.0051 with two, and 3·10⁻⁸ if that is shorter."""
    digit, power = f"{number:.{digits - 1}e}".split("e-")
    if int(power) < 5:
        return f"{number:.{int(power) + digits - 1}f}"
    raised = str(int(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10⁻{raised}" if digit == "1" else f"{digit}·10⁻{raised}"


def joined(words):
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def numbers(found):
    """The lines of the first page: when each tool is near, and where it ends."""
    gaps = found["gaps"]
    near = {label: first(curve, NEAR) for label, curve in gaps.items()}
    others = [label for label in gaps if label != "zofw"]
    slower = [f"{label} needs {near[label]}." for label in others if near[label]]
    never = [label for label in others if not near[label]]
    if never:
        slower.append(f"{joined(never)} {'do' if len(never) > 1 else 'does'} not get there in {EVALUATIONS}.")
    ends = sorted((gaps[label][-1], label) for label in others)
    left = max(gaps["zofw"][-1], FLOOR)
    within = f"within {plain(left)}" if left == FLOOR else f"{plain(left)} away"
    return [
        f"zofw is within 0.001 of the optimum after **{near['zofw']} passes**. {' '.join(slower)}",
        f"After {EVALUATIONS} passes zofw is **{within}**. The four nearest others: "
        f"{joined([f'{label} {plain(end, 2)}' for end, label in ends[:4]])}.",
        f"Medians of three seeds. Every tool had a budget of {EVALUATIONS * found['n']:,} queries, and none exceeded it.",
    ]


def spread(heights, apart):
    """Move sorted label heights up and down as little as needed to keep them apart."""
    moved, low = [], -np.inf
    for height in heights:
        low = max(height, low + apart)
        moved.append(low)
    crowd = [k for k in range(len(moved)) if moved[k] - heights[k] > 0]
    if crowd:  # the crowd is centred on the heights that it belongs to
        first, last = crowd[0] - 1, crowd[-1]
        back = np.mean(moved[first : last + 1]) - np.mean(heights[first : last + 1])
        floor = moved[first - 1] + apart if first else -np.inf
        back = min(back, moved[first] - floor)
        moved[first : last + 1] = [height - back for height in moved[first : last + 1]]
    return moved


def draw(found, theme, path):
    """Draw the gap against passes: zofw and the paper's method strong, the others grey, a label on every curve."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    strong, second, grey, text = COLOURS[theme]
    with plt.rc_context({"text.color": text, "axes.edgecolor": grey, "axes.labelcolor": text, "xtick.color": text,
                         "ytick.color": text, "font.size": 10, "svg.hashsalt": "zofw", "svg.fonttype": "none"}):  # fmt: skip
        figure, axis = plt.subplots(figsize=(5.2, 4.0), layout="constrained")
        ends = sorted(found["gaps"].items(), key=lambda item: item[1][-1])
        heights = spread([np.log10(max(curve[-1], FLOOR)) for _, curve in ends], 0.42)
        for (label, curve), height in zip(ends, heights, strict=True):
            colour = {"zofw": strong, "ZSFW-DVR": second}.get(label, grey)
            curve = np.maximum(curve, FLOOR)
            axis.plot(np.arange(1, len(curve)), curve[1:], color=colour, lw=2.4 if colour != grey else 1.3)
            axis.text(EVALUATIONS * 1.06, 10**height, label, color=colour, va="center",
                      fontweight="bold" if label == "zofw" else "normal")  # fmt: skip
        axis.set(xscale="log", yscale="log", xlim=(1, EVALUATIONS), ylim=(FLOOR / 3, 3),
                 xlabel="passes over the data", ylabel="objective − optimum")  # fmt: skip
        axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    parser.add_argument("--only", help="measure one tool, and keep the others' curves")
    chosen = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    store = HERE / "front.json"
    found = json.loads(store.read_text()) if chosen.draw or chosen.only else measure()
    if chosen.only:
        found["gaps"] |= measure(chosen.only)["gaps"]
    store.write_text(json.dumps(found) + "\n", encoding="utf-8")
    for theme in COLOURS:
        draw(found, theme, HERE / f"front-{theme}.svg")
    lines = numbers(found)
    listed = "".join(f"- {line}\n" for line in lines)
    (HERE / "front.inc").write_text(listed, encoding="utf-8")
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{listed}{END}{rest.partition(END)[2]}", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
