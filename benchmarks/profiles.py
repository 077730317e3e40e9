"""``python -m benchmarks.profiles``: data profiles of the Moré–Wild problems and of COCO's functions, from what is kept."""

from __future__ import annotations

import numpy as np

from benchmarks import coco, more_wild
from benchmarks.peers import HERE, WIDTH

COLOURS = {tool: f"C{k}" for k, tool in enumerate(more_wild.TOOLS)}


def draw(panels: dict[str, dict[str, np.ndarray]], path) -> None:
    """Share of problems (or targets) solved against evaluations/(d + 1), one panel each."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["font.size"] = 9
    figure, grid = plt.subplots(
        -(-len(panels) // 2), 2, figsize=(WIDTH, 8.0), sharey=True, squeeze=False, layout="constrained"
    )
    axes = list(grid.flat)
    for axis, (title, tools) in zip(axes, panels.items(), strict=False):
        for tool, times in tools.items():
            at = np.sort(times[np.isfinite(times)])
            axis.step(
                np.concatenate([[1.0], at]), np.arange(len(at) + 1) / len(times), where="post",
                lw=2.4 if tool == "zofw" else 1.3, color=COLOURS[tool], label=tool,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.25)
    for axis in grid[-1]:
        axis.set_xlabel("evaluations / (d + 1)")
    for axis in grid[:, 0]:
        axis.set_ylabel("share solved")
    axes[0].set_ylim(0, 1)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=200)


def main() -> None:
    rows = range(len(more_wild.ROWS))
    table = more_wild.solved({tool: [more_wild.curve(tool, row) for row in rows] for tool in more_wild.TOOLS})
    panels = {
        f"Moré–Wild, to {tau:g}": {tool: times[:, k] for tool, times in table.items()}
        for k, tau in enumerate(more_wild.TAUS)
    }
    for d in coco.DIMENSIONS:
        panels[f"COCO, unimodal, d = {d}"] = coco.profile(coco.UNIMODAL, (d,), coco.kept(coco.UNIMODAL, d))
    draw(panels, HERE / "profiles.png")
    for title, tools in panels.items():
        for tool, times in tools.items():
            print(f"{title}: {tool} {100 * np.mean(times <= more_wild.AT):.0f} % with {more_wild.AT}(d + 1)")


if __name__ == "__main__":
    main()
