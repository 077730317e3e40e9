"""Adversarial examples of an attack's runs, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zofw.comparison import number
from zofw.core import Array
from zofw.run.record.result import Result
from zofw_paper.cases import build_case
from zofw_paper.experiment import present
from zofw_paper.figures import draw_images
from zofw_paper.methods import chosen_methods
from zofw_paper.spec import Experiment
from zofw_paper.store import Folder
from zofw_paper.summary import Summary

PERTURBATIONS = "perturbations.npz"  # published with the pictures, so that one method's row can be replaced


def stored_images(folder: Path) -> dict[str, Path]:
    """Return pictures of a directory by their captions."""
    return {
        f"Adversarial examples: {path.stem.removeprefix('images-')}": path
        for path in sorted(folder.glob("images-*.png"))
    }


def reached(summary: Summary) -> tuple[dict[str, str], ...]:
    """What each method reached, as rows of a table."""
    return tuple(
        {
            "case": case.title,
            "method": curve.label,
            "success rate": number(curve.end.last.median),
            "distortion": number(curve.end.distortion),
            "queries": number(curve.end.queries),
        }
        for case in summary.cases
        for curve in case.curves
    )


def perturbations(experiment: Experiment, runs: Path) -> dict[str, Array]:
    """What each method found with the first seed, by case and label: of the runs here, and of published ones beside them."""
    kept = runs / PERTURBATIONS
    found = dict(np.load(kept)) if kept.is_file() else {}
    for case in present(experiment)[0]:
        for method in chosen_methods(experiment):
            run = Folder(runs / case.name / method.label / f"seed-{experiment.seeds[0]}")
            if run.finished and run.result.is_file():
                found[f"{case.name}, {method.label}"] = Result.load(run.result).x.astype(np.float32)
    if found:
        np.savez_compressed(kept, **found)
    return found


def draw_adversarial(experiment: Experiment, runs: Path, out: Path, count: int = 8) -> dict[str, Path]:
    """Return originals and adversarial examples of every method, for the first seed; one picture a case."""
    found = perturbations(experiment, runs)
    for case in present(experiment)[0]:
        labels = [m.label for m in chosen_methods(experiment) if f"{case.name}, {m.label}" in found]
        if not labels:
            continue
        problem = build_case(case).problem
        chosen = np.linspace(0, problem.n - 1, count).astype(int)
        rows: list[tuple[str, Array, list[str]]] = [
            ("original", problem.images[chosen], [f"{label}" for label in problem.labels[chosen]])
        ]
        for label in labels:
            x = found[f"{case.name}, {label}"].astype(float)
            fooled = problem.margins(x) < 0
            captions = ["fooled" if yes else "not fooled" for yes in fooled[chosen]]
            name = f"{label}\n{100 * float(np.mean(fooled)):.1f} % fooled"
            rows.append((name, problem.adversarial(x)[chosen], captions))
        draw_images(rows, out / f"images-{case.name}", case.title or case.name)
    return stored_images(out)
