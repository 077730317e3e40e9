"""The report: one HTML page that needs nothing else, CSV tables, figures and a table for the terminal, from a summary."""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from zofw.comparison import QUERIES, number
from zofw.extras import extra
from zofw.storage import write_whole
from zofw_paper.claims import Band, by_heading, words
from zofw_paper.experiment import StoredExperiment, next_to, source_of
from zofw_paper.figures import AXES, MANY, apart, colours, draw_curves, strong
from zofw_paper.images import draw_adversarial, reached, stored_images
from zofw_paper.store import read_json, write_json
from zofw_paper.summary import CaseSummary, Curve, Summary, compare, described, read_summary, summarise

TEMPLATE = "report.html.j2"
TINY = 1e-16  # below, a gap is drawn as this
DASHES = ("solid", "dash", "dot", "dashdot")

TableRows = Sequence[Sequence[object]]


def make_report(folder: Path, beside: Summary | None = None) -> dict[str, Path]:
    """Figures, tables and page for a directory of runs, or again from a summary.json alone.

    Methods that have no run here are shown as ``beside`` has them.
    """
    if (folder / "experiment.json").is_file():
        stored = StoredExperiment.read(folder)
        experiment = stored.spec
        if experiment.kind == "curves":
            summary = summarise(stored, folder, beside)
            if experiment.measure == "success-rate":
                draw_adversarial(experiment, folder, folder)
        elif experiment.kind == "images":
            source = source_of(experiment)
            runs = next_to(folder, source)
            draw_adversarial(source, runs, folder, experiment.count)
            shown = summarise(StoredExperiment.read(runs), runs)
            summary = replace(
                described(stored), seeds=shown.seeds, tuning=shown.tuning, grids=shown.grids,
                environment=shown.environment, rows=reached(shown),
            )  # fmt: skip
        else:
            summary = replace(described(stored), rows=tuple(read_json(folder / "rows.json")))
    elif (folder / "summary.json").is_file():
        summary = read_summary(folder)
    else:
        summary = compare([folder])
    return write_report(summary, folder, images=stored_images(folder))


def write_report(
    summary: Summary, folder: Path, *, images: Mapping[str, Path] | None = None
) -> dict[str, Path]:
    """summary.json, figures, tables and report.html in a directory; returns their places by kind."""
    write_json(folder / "summary.json", summary)
    summary = read_summary(folder)
    made: dict[str, Path] = {"summary": folder / "summary.json"}
    if summary.kind == "curves":
        groups = {curve.group for case in summary.cases for curve in case.curves}
        stems: list[tuple[str, str | None, str]] = (
            [("figure", "paper", "-paper")] if groups == {"paper", "others"} else []
        )
        stems.append(("figure-all" if stems else "figure", None, "-all" if stems else ""))
        for suffix in ("", "-paper", "-all"):  # of a report that had other methods
            for kind in ("png", "svg"):
                (folder / f"{summary.name}{suffix}.{kind}").unlink(missing_ok=True)
        for kind, group, suffix in stems:
            made[kind], made[f"{kind}-svg"] = draw_curves(
                summary, folder / f"{summary.name}{suffix}", group=group
            )
    made |= write_tables(summary, folder)
    made["report"] = folder / "report.html"
    if images:
        made["images"] = next(iter(images.values()))
    page = render(summary, images or {}).encode()
    write_whole(made["report"], lambda stream: stream.write(page))
    return made


@cache
def _environment() -> Any:
    jinja2 = extra("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("zofw_paper", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "words": words, "by_heading": by_heading, "values": dict.values}
    environment.globals |= {
        "ends": ends,
        "telling": telling,
        "overtaking": overtaking,
        "OVERTAKING": OVERTAKING,
    }
    return environment


def render(summary: Summary, images: Mapping[str, Path]) -> str:
    """Return the page."""
    markup = extra("markupsafe", "report").Markup
    pictures = {
        caption: f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
        for caption, path in images.items()
    }
    script = extra("plotly.offline", "report").get_plotlyjs() if summary.cases else ""
    drawn = charts(summary) if summary.kind == "curves" else []
    content = {"s": summary, "charts": drawn, "protocol": protocol(summary), "pictures": pictures}
    page: str = _environment().get_template(TEMPLATE).render(plotly=markup(script), **content)
    return page


def rate_of(curve: Curve) -> str:
    """Return a learning rate with its marks: at the edge of what was tried, tuned on less than the budget, given and not tuned."""
    rate = curve.rate
    if rate is None:
        return "–"
    return f"{rate.lr:g}" + "*" * rate.at_edge + "†" * (rate.share < 1.0) + "‡" * (not rate.scores)


def marks(summary: Summary) -> str:
    """What the marks of learning rates mean, where there are any."""
    rates = [curve.rate for case in summary.cases for curve in case.curves if curve.rate is not None]
    shares = sorted({f"{100 * rate.share:g} %" for rate in rates if rate.share < 1.0})
    return " ".join(
        ["* at the edge of the rates that were tried."] * any(rate.at_edge for rate in rates)
        + [f"† tuned on {' or '.join(shares)} of the budget."] * bool(shares)
        + ["‡ given by the specification, not tuned."] * any(not rate.scores for rate in rates)
    )


def ends(summary: Summary, case: CaseSummary) -> list[dict[str, str]]:
    """Return a row for each method, the best first, with the ends of its runs by column."""
    rate = summary.measure == "success-rate"
    best = sorted(case.curves, key=lambda curve: curve.end.window.median, reverse=rate)
    return [
        {
            "method": curve.label,
            "runs": str(curve.runs),
            "window median": number(end.window.median),
            "quartiles": f"{number(end.window.low)} – {number(end.window.high)}",
            "last iterate": number(end.last.median),
            "lr": rate_of(curve),
            "queries": number(end.queries),
            "iterations": number(end.iterations),
            "LMO calls": number(end.lmos),
            "seconds": number(end.seconds),
            "ended by": end.status.replace("_", " "),
        }
        for curve in best
        for end in [curve.end]
    ]


def telling(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return rows without the columns that say nothing: quartiles of single runs, rates of methods that have none."""
    empty = {"lr"} if all(row["lr"] == "–" for row in rows) else set()
    if all(row["runs"] == "1" for row in rows):
        empty |= {"runs", "quartiles"}
    return [{name: cell for name, cell in row.items() if name not in empty} for row in rows]


def overtaking(case: CaseSummary) -> list[list[str]]:
    """From how many queries on the first method is ahead of each rival for good, under the heads OVERTAKING."""

    def place(value: float | None) -> str:
        return "not in this budget" if value is None else "the start" if value == 0 else number(value)

    def stretch(since: float | None, until: float | None) -> str:
        return "–" if since is None or until is None else f"{number(since)} – {number(until)}"

    return [
        [
            c.rival, place(c.median), f"{place(c.low)} – {place(c.high)}", f"{c.seeds} of {c.of}", stretch(c.since, c.until),
        ]
        for c in case.crossings
        if c.method == case.curves[0].label
    ]  # fmt: skip


OVERTAKING = [
    "rival", "ahead for good from (median)", "quartiles", "seeds that end ahead", "longest stretch ahead",
]  # fmt: skip


def _grid(rates: Sequence[float]) -> str:
    return f"{{{', '.join(f'{lr:g}' for lr in rates)}}}"


def protocol(summary: Summary) -> list[str]:
    """How the numbers were made, in sentences."""
    if summary.costs is not None:
        return [f"{name} = {value}" for name, value in vars(summary.costs).items() if value] + (
            [
                "Every method runs its iterations against an oracle that answers noise: the price of a query is known before "
                "it is answered, so these counts are exact. Counts are at base_n and base_d; powers of n are fitted over n at "
                "base_d, powers of d over d at base_n. The average leaves out the first iteration, which may be a start-up."
            ]
            if summary.kind == "costs"
            else []
        )
    seeds = summary.seeds
    windows = all(curve.window for case in summary.cases for curve in case.curves)
    lines = [
        "A query is one evaluation of one f_i at one point. All methods start from the same point, whose value begins each "
        "curve. The exact objective is not counted.",
        (
            "Thick lines and claims are window medians, over the last tenth of the queries; thin lines are last iterates. "
            if windows
            else "These runs are older than window medians: all values are of last iterates. "
        )
        + f"{len(seeds)} seed{'s' * (len(seeds) > 1)} ({', '.join(map(str, seeds))})"
        + (": medians and quartile bands." if len(seeds) > 1 else "."),
    ]
    tuning = summary.tuning
    if not tuning.seeds:
        lines.append("Nothing is tuned: every method takes its published step.")
    else:
        lines.append(
            "The step of every method is multiplied by a rate, the best for its case by the "
            f"{'window median' if windows else 'objective'} of the seeds {', '.join(map(str, tuning.seeds))} at "
            + ("the end of the budget" if tuning.share == 1.0 else f"{100 * tuning.share:g} % of the budget")
            + f". Rates tried first: {_grid(tuning.grid)}"
            + "".join(f", {label} {_grid(own)}" for label, own in summary.grids.items())
            + (
                "; where the best is the first or the last, the next beyond it is tried too."
                if tuning.widen
                else "."
            )
        )
    lines += [marks(summary)] * bool(marks(summary))
    lines += [
        f"{case.title}: f* = {case.optimum.value:.10g}, {case.optimum.label}."
        for case in summary.cases
        if case.optimum is not None
    ]
    lines += [
        f"{name} is left out: {', '.join(files)} is not on this machine."
        for name, files in summary.absent.items()
    ]
    return lines


def charts(summary: Summary) -> list[dict[str, object]]:
    """Plotly traces and layout of every case, as plain values; colours of text and grid are the page's."""
    labels = summary.labels
    palette = colours(labels)
    made: list[dict[str, object]] = []
    for case in summary.cases:
        traces = [trace for curve in case.curves for trace in _traces(case, curve, palette, labels)]
        y, names = _heights(summary, case, palette)
        x = {"type": "log", "title": {"text": QUERIES}, "exponentformat": "power", "dtick": 1}
        made.append({"name": case.name, "traces": traces, "xaxis": x, "yaxis": y, "labels": names})
    return made


def _heights(
    summary: Summary, case: CaseSummary, palette: Mapping[str, str]
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Return the vertical axis, and the name of every curve at its end, moved apart where ends are close."""
    y: dict[str, object] = {"title": {"text": AXES[summary.measure]}}
    seen = np.array([value for curve in case.curves for value in curve.median])
    ends = {curve.label: (curve.window or curve.median)[-1] for curve in case.curves}
    if summary.measure == "gap":
        y |= {"type": "log", "exponentformat": "power", "dtick": "D2" if case.start < 100 * seen.min() else 1}
        seen = np.log10(np.maximum(seen, TINY))
        ends = {label: math.log10(max(end, TINY)) for label, end in ends.items()}
    low, high = (0.0, 1.0) if summary.measure == "success-rate" else (float(seen.min()), float(seen.max()))
    margin = 0.03 * (high - low) or 0.5
    y["range"] = [low - margin, high + margin]
    places = apart(
        {label: (end - low + margin) / (high - low + 2 * margin) for label, end in ends.items()}, 0.048
    )
    return y, [
        {"text": curve.label, "color": palette[curve.label], "y": places[curve.label], "meta": curve.group}
        for curve in case.curves
    ]


def _traces(
    case: CaseSummary, curve: Curve, palette: Mapping[str, str], labels: Sequence[str]
) -> Iterator[dict[str, object]]:
    colour = palette[curve.label]
    shared = {"type": "scatter", "mode": "lines", "legendgroup": curve.label, "meta": curve.group}
    low, middle, high = curve.band
    if curve.runs > 1:
        x, y = [*case.queries, *case.queries[::-1]], [*high, *low[::-1]]
        look = {"fillcolor": f"{colour}26", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        yield {**shared, "x": x, "y": y, "fill": "toself", **look}
    dash = DASHES[(labels.index(curve.label) // 5) % len(DASHES)] if len(labels) <= MANY else "solid"
    width = 2.0 if len(labels) <= MANY else 3.5 if curve.label in strong(labels) else 1.1
    line = {"color": colour, "width": width, "dash": dash}
    words = {"name": curve.label, "hovertemplate": "%{y:.3g} at %{x:.3g}"}
    yield {**shared, "x": case.queries, "y": middle, "line": line, **words}


END = ("queries", "iterations", "lmos", "seconds")


def write_tables(summary: Summary, folder: Path) -> dict[str, Path]:
    """Return the end of every curve, the curves themselves, crossings, what was tuned and the claims, as CSV."""
    tables: dict[str, tuple[Sequence[str], TableRows]] = {}
    both = [(case, curve) for case in summary.cases for curve in case.curves]
    if summary.rows:
        tables[summary.kind] = (list(summary.rows[0]), [list(row.values()) for row in summary.rows])
    if both:
        quartiles = ("median", "lower_quartile", "upper_quartile")
        window = tuple(f"window_{name}" for name in quartiles)
        tables["ends"] = (
            ["case", "method", "group", "lr", *quartiles, *window, *END, "status", "settings"],
            [_end_row(case, curve) for case, curve in both],
        )
        tables["curves"] = (
            ["case", "method", "queries", *quartiles, *window],
            [
                [case.name, curve.label, int(q), *(f"{v:.6g}" for v in values)]
                for case, curve in both
                for low, middle, high in [curve.band]
                for q, *values in zip(
                    case.queries, curve.median, curve.low, curve.high, middle, low, high, strict=True
                )
            ],
        )
        crossings = [(case.name, crossing) for case in summary.cases for crossing in case.crossings]
        tables["crossings"] = (
            ["case", "method", "rival", *quartiles, "seeds", "of", "since", "until"],
            [
                [name, *_values(c, "method rival median low high seeds of since until")]
                for name, c in crossings
            ],
        )
    if summary.tuning.seeds:
        rates = [(case.name, curve.label, curve.rate) for case, curve in both if curve.rate is not None]
        tables["tuning"] = (
            ["case", "method", "lr", "median_window", "chosen", "at_edge", "share_of_budget"],
            [
                [*where, lr, score, float(lr) == rate.lr, *_values(rate, "at_edge share")]
                for *where, rate in rates
                for lr, score in rate.scores.items()
            ],
        )
    if summary.claims:
        findings = [(claim, found) for claim in summary.claims for found in claim.cases]
        tables["claims"] = (
            ["claim", "verdict", "case", "case_verdict", "queries", "value", "rival", "rival_value"],
            [
                [claim.id, claim.verdict, *_values(f, "case verdict queries value rival rival_value")]
                for claim, f in findings
            ],
        )
    made = {}
    for name, (head, rows) in tables.items():
        made[name] = folder / f"{name}.csv"
        write_whole(made[name], _csv(head, rows))
    return made


def _values(row: object, names: str) -> list[object]:
    """Return fields of a row: of bands the median, nothing for what is unknown."""
    found = [vars(row)[name] for name in names.split()]
    return ["" if v is None else v.median if isinstance(v, Band) else v for v in found]


def _end_row(case: CaseSummary, curve: Curve) -> list[object]:
    end = curve.end
    bands = [f"{v:.6g}" for band in (end.last, end.window) for v in (band.median, band.low, band.high)]
    counts = [int(end.queries), int(end.iterations), int(end.lmos), f"{end.seconds:.3g}"]
    lr = "" if curve.lr is None else curve.lr
    return [case.name, curve.label, curve.group, lr, *bands, *counts, end.status, curve.settings]


def _csv(head: Sequence[str], rows: TableRows) -> Callable[[BinaryIO], object]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return lambda stream: stream.write(text.getvalue().encode())
