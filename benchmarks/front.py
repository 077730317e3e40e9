"""``python -m benchmarks.front``: the plot and the numbers of the first page, measured.

Sparse logistic regression on the breast-cancer data over an ℓ1 ball of radius 2, from values alone: the default method, the
methods of the ZSFW-DVR paper, SciPy's COBYQA with the constraint, and CMA-ES on projected points, as in ``benchmarks.peers``.
An evaluation is that of the whole sum, n queries. Medians of three seeds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import zofw
from benchmarks.peers import ours, problems, theirs
from zofw.references import reference

HERE = Path(__file__).parents[1] / "docs" / "front"
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- numbers -->", "<!-- end of numbers -->"
EVALUATIONS = 300
SEEDS = (1, 2, 3)
FLOOR = 1e-8  # the optimum is certified to 1e-10
NEAR = 1e-3
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
    tools = {"SciPy COBYQA": "SciPy COBYQA", "CMA-ES": "pycma"}
    runs |= {
        label: lambda seed, tool=tool: theirs(tool, problem, set, seed, EVALUATIONS)[0]
        for label, tool in tools.items()
    }
    curves = {}
    for label in runs if only is None else [only]:
        run = runs[label]
        held = [run(seed) for seed in (SEEDS[:1] if label == "SciPy COBYQA" else SEEDS)]
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


def plain(number):
    """One digit: 0.005, or 3·10⁻⁸ where that is shorter."""
    digit, power = f"{number:.0e}".split("e-")
    if int(power) < 5:
        return f"{number:.{int(power)}f}"
    raised = str(int(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10⁻{raised}" if digit == "1" else f"{digit}·10⁻{raised}"


def numbers(found):
    """The lines of the first page."""
    gaps = found["gaps"]
    near = {label: first(curve, NEAR) for label, curve in gaps.items()}
    slower = {label: near[label] for label in gaps if label != "zofw" and near[label]}
    never = [label for label in gaps if label != "zofw" and not near[label]]
    others = [f"{label} needs {count}." for label, count in slower.items()]
    others += (
        [f"Within {EVALUATIONS} passes {', '.join(never[:-1])} and {never[-1]} do not get there."]
        if len(never) > 1
        else []
    )
    others += [f"{never[0]} does not get there within {EVALUATIONS}."] if len(never) == 1 else []
    end, label = min((curve[-1], label) for label, curve in gaps.items() if label != "zofw")
    left = max(gaps["zofw"][-1], FLOOR)
    return [
        f"**{near['zofw']} passes** over the {found['n']} samples bring zofw within 0.001 of the optimum. {' '.join(others)}",
        f"**{plain(left)}**{' or less' * (left == FLOOR)} separates it from the optimum after {EVALUATIONS} passes. The next best, "
        f"{label}, is {plain(end)} away.",
        f"**{EVALUATIONS * found['n']:,} queries** were the budget of every tool, and none exceeded it. A query is one sample's loss at one "
        "point.",
    ]


def draw(found, theme, path):
    """Gap against passes: the default and the paper's method strong, the others grey, every curve labelled."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    strong, second, grey, text = COLOURS[theme]
    with plt.rc_context({"text.color": text, "axes.edgecolor": grey, "axes.labelcolor": text, "xtick.color": text,
                         "ytick.color": text, "font.size": 10, "svg.hashsalt": "zofw", "svg.fonttype": "none"}):  # fmt: skip
        figure, axis = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
        heights = []
        for label, curve in sorted(found["gaps"].items(), key=lambda item: item[1][-1]):
            colour = {"zofw": strong, "ZSFW-DVR": second}.get(label, grey)
            curve = np.maximum(curve, FLOOR)
            axis.plot(np.arange(1, len(curve)), curve[1:], color=colour, lw=2.4 if colour != grey else 1.3)
            height = np.log10(curve[-1])
            while any(abs(height - other) < 0.55 for other in heights):
                height += 0.1
            heights.append(height)
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
