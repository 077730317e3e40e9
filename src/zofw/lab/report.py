"""The report: one HTML page that needs nothing else, CSV tables, figures and a table for the terminal, from a summary."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from zofw.extras import extra
from zofw.files import write_whole
from zofw.lab.claims import by_heading, words
from zofw.lab.figures import AXES, QUERIES, colours, draw_curves, labels_of
from zofw.lab.numbers import number
from zofw.lab.store import StoreError, read_json, write_json

__all__ = ["read_summary", "write_report", "write_tables"]

TEMPLATE = "report.html.j2"
DASHES = ("solid", "dash", "dot", "dashdot")


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary that :func:`write_report` left in a directory."""
    path = folder / "summary.json"
    if not path.is_file():
        raise StoreError(f"{folder} has no summary.json; make it with: zofw report {folder}")
    return dict(read_json(path))


def write_report(
    summary: dict[str, Any], folder: Path, *, images: dict[str, Path] | None = None
) -> dict[str, Path]:
    """summary.json, figures, tables and report.html in a directory; returns their places by kind."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "summary.json", summary)
    summary = read_summary(folder)
    made: dict[str, Path] = {"summary": folder / "summary.json"}
    if summary["kind"] == "curves":
        groups = {curve["group"] for case in summary["cases"] for curve in case["curves"]}
        stems: list[tuple[str, str | None, str]] = (
            [("figure", "paper", "-paper")] if groups == {"paper", "others"} else []
        )
        stems.append(("figure-all" if stems else "figure", None, "-all" if stems else ""))
        for kind, group, suffix in stems:
            made[kind], made[f"{kind}-svg"] = draw_curves(
                summary, folder / f"{summary['name']}{suffix}", group=group
            )
    made |= write_tables(summary, folder)
    made["report"] = folder / "report.html"
    page = render(summary, images or {}).encode()
    write_whole(made["report"], lambda stream: stream.write(page))
    return made


@cache
def _environment() -> Any:
    jinja2 = extra("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("zofw.lab", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "words": words, "by_heading": by_heading}
    return environment


def render(summary: dict[str, Any], images: dict[str, Path]) -> str:
    """The page."""
    markup = extra("markupsafe", "report").Markup
    pictures = {
        caption: f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
        for caption, path in images.items()
    }
    script = extra("plotly.offline", "report").get_plotlyjs() if summary["cases"] else ""
    page: str = (
        _environment()
        .get_template(TEMPLATE)
        .render(
            s=summary,
            charts=charts(summary) if summary["kind"] == "curves" else [],
            protocol=protocol(summary),
            pictures=pictures,
            plotly=markup(script),
        )
    )
    return page


def _grid(rates: list[float]) -> str:
    return f"{{{', '.join(f'{lr:g}' for lr in rates)}}}"


def protocol(summary: dict[str, Any]) -> list[str]:
    """How the numbers were made, in sentences."""
    if summary["kind"] == "costs":
        return [
            "Every method runs its iterations against an oracle that answers noise: the price of a query is known before "
            "it is answered, so these counts are exact.",
            f"Counts are at n = {summary['plan']['base_n']:,} and d = {summary['plan']['base_d']:,}; powers of n are fitted over "
            f"n = {summary['plan']['n']} at that d, powers of d over d = {summary['plan']['d']} at that n, T = "
            f"{summary['plan']['T']}. The average leaves out the first iteration, which may be a start-up.",
        ]
    seeds = summary["seeds"]
    lines = [
        "One query is one evaluation of one component f_i at one point. Every method asks the same oracle and starts from "
        "the same point; the value there is the beginning of each curve.",
        "The exact objective is computed for diagnosis only: its evaluations are not counted and its time is not measured.",
        f"{len(seeds)} seed{'s' * (len(seeds) > 1)} ({', '.join(map(str, seeds))})"
        + (
            "; lines are medians, bands reach from the lower to the upper quartile."
            if len(seeds) > 1
            else "."
        ),
    ]
    if summary["tuning"] is None:
        lines.append("Nothing is tuned: every method takes its published step.")
    else:
        tuning = summary["tuning"]
        lines.append(
            "The published step of every method is multiplied by a learning rate from the grid "
            + _grid(tuning["grid"])
            + "".join(f", {label}'s from {_grid(own)}" for label, own in tuning.get("own", {}).items())
            + ", chosen for each method and case by the median objective at the end "
            f"over the seeds {', '.join(map(str, tuning['seeds']))}, which are not reported, on "
            f"{100 * tuning['share']:g} % of the budget"
            + "".join(
                f", {case['name']} on {100 * case['tune_share']:g} %"
                for case in summary["cases"]
                if case["tune_share"]
            )
            + "."
        )
    lines += [
        f"{case['title']}: f* = {case['optimum']['value']:.10g}, {case['optimum']['label']}."
        for case in summary["cases"]
        if case["optimum"] is not None
    ]
    lines += [
        f"{name} is left out, for {', '.join(files)} is not on this machine."
        for name, files in summary["absent"].items()
    ]
    return lines


def charts(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Plotly traces and layout of every case, as plain values; colours of text and grid are the page's."""
    labels = labels_of(summary)
    palette = colours(labels)
    made = []
    for case in summary["cases"]:
        traces = [trace for curve in case["curves"] for trace in _traces(case, curve, palette, labels)]
        y: dict[str, Any] = {"title": {"text": AXES[summary["measure"]]}}
        if summary["measure"] == "gap":
            lowest = min(min(curve["median"]) for curve in case["curves"])
            few = case["start"] < 100 * lowest
            y |= {"type": "log", "exponentformat": "power", "dtick": "D2" if few else 1}
        elif summary["measure"] == "success-rate":
            y |= {"range": [-0.02, 1.02]}
        x = {"type": "log", "title": {"text": QUERIES}, "exponentformat": "power", "dtick": 1}
        made.append({"name": case["name"], "traces": traces, "xaxis": x, "yaxis": y})
    return made


def _traces(
    case: dict[str, Any], curve: dict[str, Any], palette: dict[str, str], labels: list[str]
) -> Iterator[dict[str, Any]]:
    label, colour = curve["label"], palette[curve["label"]]
    shared = {"type": "scatter", "mode": "lines", "legendgroup": label, "meta": curve["group"]}
    if curve["runs"] > 1:
        yield {
            **shared,
            "x": [*case["queries"], *case["queries"][::-1]],
            "y": [*curve["high"], *curve["low"][::-1]],
            "fill": "toself",
            "fillcolor": f"{colour}26",
            "line": {"width": 0},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    dash = DASHES[(labels.index(label) // 5) % len(DASHES)]
    yield {
        **shared,
        "x": case["queries"],
        "y": curve["median"],
        "name": label,
        "line": {"color": colour, "width": 2, "dash": dash},
        "hovertemplate": "%{y:.3g} at %{x:.3g}",
    }


END = ("queries", "iterations", "lmos", "seconds")


def write_tables(summary: dict[str, Any], folder: Path) -> dict[str, Path]:
    """The end of every curve, the curves themselves, what was tuned and the claims, as CSV."""
    tables: dict[str, tuple[list[str], list[list[Any]]]] = {}
    if summary["kind"] != "curves":
        tables[summary["kind"]] = (list(summary["rows"][0]), [list(row.values()) for row in summary["rows"]])
    else:
        tables["ends"] = (
            [
                "case",
                "method",
                "group",
                "lr",
                "median",
                "lower_quartile",
                "upper_quartile",
                *END,
                "status",
                "settings",
            ],
            [_end_row(case, curve) for case in summary["cases"] for curve in case["curves"]],
        )
        tables["curves"] = (
            ["case", "method", "queries", "median", "lower_quartile", "upper_quartile"],
            [
                [case["name"], curve["label"], int(q), *(f"{v:.6g}" for v in values)]
                for case in summary["cases"]
                for curve in case["curves"]
                for q, *values in zip(
                    case["queries"], curve["median"], curve["low"], curve["high"], strict=True
                )
            ],
        )
        if summary["tuning"] is not None:
            tables["tuning"] = (
                ["case", "method", "lr", "median_end", "chosen"],
                [
                    [case["name"], curve["label"], lr, score, float(lr) == curve["lr"]]
                    for case in summary["cases"]
                    for curve in case["curves"]
                    if curve["tuning"]
                    for lr, score in curve["tuning"]["scores"].items()
                ],
            )
    if summary["claims"]:
        tables["claims"] = (
            ["claim", "verdict", "case", "case_verdict", "queries", "value", "rival", "rival_value"],
            [
                [
                    claim["id"],
                    claim["verdict"],
                    *(found[key] for key in ("case", "verdict", "queries", "value", "rival", "rival_value")),
                ]
                for claim in summary["claims"]
                for found in claim["cases"]
            ],
        )
    made = {}
    for name, (head, rows) in tables.items():
        made[name] = folder / f"{name}.csv"
        write_whole(made[name], _csv(head, rows))
    return made


def _end_row(case: dict[str, Any], curve: dict[str, Any]) -> list[Any]:
    end = curve["end"]
    values = [f"{end[name]:.6g}" for name in ("median", "low", "high")]
    counts = [int(end[name]) for name in END[:3]]
    return [
        case["name"], curve["label"], curve["group"], curve["lr"] or "", *values, *counts, f"{end['seconds']:.3g}",
        end["status"], curve["settings"],
    ]  # fmt: skip


def _csv(head: list[str], rows: list[list[Any]]) -> Callable[[Any], object]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return lambda stream: stream.write(text.getvalue().encode())
