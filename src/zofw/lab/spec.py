"""Experiments as TOML: read strictly, with a sentence for every mistake.

A specification names cases (a problem, a set, a budget) and methods (a registered name and settings). Every method meets
every case with every seed. A profile picks budgets, seeds and cases: ``quick`` for a look, ``full`` for the record.

A setting is a number, a word, a table for a schedule (``{power = {numerator = 2.0, offset = 8.0}}``), or a reference to a
number of the case: ``"=batch"``, ``"=1/epoch"``, ``"=2*lr"``, where n, dim, budget, lr, L and the case's own parameters are
known.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zofw.lab.toml import SpecError, Table

__all__ = ["Case", "Claim", "Experiment", "Method", "SpecError", "Tuning", "parse", "read", "revive"]

KINDS = ("curves", "costs", "images")
MEASURES = ("gap", "objective", "success-rate")
GROUPS = ("paper", "others")
SCHEDULES = ("constant", "power", "open-loop")


@dataclass(frozen=True)
class Case:
    """A problem over a set, with a budget of queries.

    Attributes
    ----------
    problem
        "logistic", "correntropy", "least-squares", "mnist-attack", "cifar-attack", or a function ``module:name`` that
        returns a problem.
    data
        The data set of the first three.
    arguments
        Keywords for the function, or for the attack.
    set
        ``{name = …, …}`` with the arguments of a registered set, or ``{object = "module:name"}``.
    parameters
        Numbers that settings may refer to.
    optional
        Whether the case is left out where its files are missing.
    tune_share
        Share of the budget on which rates are tuned, in place of the experiment's.
    """

    name: str
    problem: str
    set: Mapping[str, Any]
    budget: int
    title: str = ""
    data: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    optional: bool = False
    tune_share: float | None = None


@dataclass(frozen=True)
class Method:
    """A method under a label; its published step is multiplied by the tuned lr unless a setting refers to ``=lr``."""

    name: str
    label: str
    group: str = "paper"
    constructor: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[float, ...] = ()
    derived: bool = False  # sizes and smoothness are taken from the case
    stated: Mapping[str, Any] = field(default_factory=dict)  # exponents of n and d, for kind = "costs"


@dataclass(frozen=True)
class Tuning:
    """How learning rates are chosen: each of the grid, with seeds of its own, on a share of the budget."""

    seeds: tuple[int, ...]
    grid: tuple[float, ...]
    share: float = 1.0


@dataclass(frozen=True)
class Claim:
    """A statement, in our words, with the test that decides it on the stored curves."""

    id: str
    says: str
    test: str
    method: str
    cases: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    at: float = 1.0  # share of the budget at which values are compared
    factor: float = 1.0
    level: float = 0.0  # the value to reach
    least: int | None = None  # cases in which it must hold; all by default
    by: str = "the paper"  # who says it, or of whom it is asked


@dataclass(frozen=True)
class Experiment:
    """A specification under one profile."""

    name: str
    profile: str
    title: str
    about: str
    kind: str
    measure: str
    seeds: tuple[int, ...]
    cases: tuple[Case, ...]
    methods: tuple[Method, ...]
    tuning: Tuning | None
    diagnose: int
    max_time: float
    starts: int  # of the reference value, where the problem is not convex
    others: bool
    claims: tuple[Claim, ...]
    costs: Mapping[str, Any]
    source: str = ""  # the experiment whose runs are shown, for kind = "images"
    count: int = 8  # images of a row
    folder: str = ""  # of the specification, where ``module:name`` is looked for first

    @property
    def fingerprint(self) -> str:
        """sha256 of everything that decides the numbers; words and claims may change without a new run."""
        content = dataclasses.asdict(self)
        for name in ("title", "about", "claims", "folder"):
            del content[name]
        return fingerprint(content)

    def document(self) -> dict[str, Any]:
        """As plain values, from which :func:`revive` makes it again."""
        return dataclasses.asdict(self)


def revive(document: Mapping[str, Any]) -> Experiment:
    """The experiment that :meth:`Experiment.document` wrote."""
    try:
        tuning = document["tuning"]
        made = {
            **document,
            "max_time": math.inf if document["max_time"] is None else document["max_time"],
            "seeds": tuple(document["seeds"]),
            "cases": tuple(Case(**case) for case in document["cases"]),
            "methods": tuple(Method(**{**m, "grid": tuple(m["grid"])}) for m in document["methods"]),
            "tuning": tuning and Tuning(tuple(tuning["seeds"]), tuple(tuning["grid"]), tuning["share"]),
            "claims": tuple(
                Claim(**{**claim, "cases": tuple(claim["cases"]), "against": tuple(claim["against"])})
                for claim in document["claims"]
            ),
        }
        return Experiment(**made)
    except (KeyError, TypeError) as error:
        raise SpecError(f"This is not a stored experiment: {error!r}.") from error


def fingerprint(content: Any) -> str:
    """sha256 of a plain value, in canonical JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=float).encode()).hexdigest()[:16]


def read(path: str | Path, profile: str | None = None) -> Experiment:
    """The experiment in a TOML file.

    Parameters
    ----------
    path
        The file.
    profile
        One of its profiles; may be left out where it has none.

    Raises
    ------
    SpecError
        The file is missing or is not TOML, a key is unknown or missing, or a value is not what it should be.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"The specification {path} cannot be read: {error}.") from error
    return parse(text, profile, where=str(path), folder=str(path.parent.resolve()))


def parse(text: str, profile: str | None = None, *, where: str = "the text", folder: str = "") -> Experiment:
    """The experiment in a TOML text; see :func:`read`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{where} is not TOML: {error}.") from error
    top = Table(content, where)
    profiles = top.take("profile", dict, {})
    chosen = _profile(profiles, profile, where)
    experiment = Experiment(
        name=top.name("name"),
        profile=profile or "",
        title=top.take("title", str, ""),
        about=top.take("about", str, ""),
        kind=top.choice("kind", KINDS, "curves"),
        measure=top.choice("measure", MEASURES, "objective"),
        seeds=_either(chosen, top, "seeds", (0,)),
        cases=_cases(top, chosen, profile),
        methods=_methods(top, chosen),
        tuning=_tuning(top, chosen),
        diagnose=_either(chosen, top, "diagnose", 20),
        max_time=_either(chosen, top, "max_time", math.inf),
        starts=_either(chosen, top, "starts", 16),
        others=_either(chosen, top, "others", False),
        claims=_claims(top),
        costs=chosen.take("costs", dict, {}),
        source=top.take("source", str, ""),
        count=top.take("count", int, 8),
        folder=folder,
    )
    chosen.done()
    top.done()
    _agree(experiment, where)
    return experiment


def _profile(profiles: Mapping[str, Any], profile: str | None, where: str) -> Table:
    if profile is None and not profiles:
        return Table({}, where)
    chosen = None if profile is None else profiles.get(profile)
    if chosen is None:
        known = ", ".join(profiles) or "none"
        raise SpecError(
            f"{where}: {'no profile' if profile is None else f'the profile {profile!r}'} was asked for; it has {known}."
        )
    if not isinstance(chosen, dict):
        raise SpecError(f"{where}: profile.{profile} should be a table; got {chosen!r}.")
    return Table(chosen, f"{where}, profile {profile}")


def _either(chosen: Table, top: Table, key: str, default: Any) -> Any:
    """A value of the profile, else of the whole specification."""
    source = chosen if key in chosen.content else top
    chosen.asked.append(key)
    top.asked.append(key)
    if isinstance(default, tuple):
        return source.sequence(key, type(default[0]), default)
    return source.take(key, type(default), default)


def _tuning(top: Table, chosen: Table) -> Tuning | None:
    given = {**top.take("tune", dict, {}), **chosen.take("tune", dict, {})}
    table = Table(given, f"{chosen.where}, tune")
    seeds, grid = table.sequence("seeds", int, ()), table.sequence("grid", float, ())
    share = table.take("share", float, 1.0)
    table.done()
    if not given or not seeds:
        return None
    if not grid or not all(lr > 0 for lr in grid) or not 0 < share <= 1:
        raise SpecError(f"{table.where}: grid should be positive numbers and share in (0, 1].")
    return Tuning(seeds, grid, share)


def _cases(top: Table, chosen: Table, profile: str | None) -> tuple[Case, ...]:
    tables = top.tables("case")
    names = [table.name("name") for table in tables]
    wanted = chosen.sequence("cases", str, names)
    for name in wanted:
        if name not in names:
            raise SpecError(f"{chosen.where}: there is no case {name!r}; there is {', '.join(names)}.")
    return tuple(_case(table, profile) for table, name in zip(tables, names, strict=True) if name in wanted)


def _case(table: Table, profile: str | None) -> Case:
    given = table.content.get("budget")
    table.asked.append("budget")
    if isinstance(given, dict):
        table = Table({**table.content, "budget": given.get(profile, math.nan)}, table.where)
        if profile not in given:
            raise SpecError(f"{table.where}: budget has no entry for the profile {profile!r}.")
    data = table.take("data", str, "")
    case = Case(
        name=table.name("name"),
        problem=table.take("problem", str),
        set=table.take("set", dict),
        budget=table.take("budget", int),
        title=table.take("title", str, ""),
        data=data or None,
        arguments=table.take("arguments", dict, {}),
        parameters={
            key: Table({key: value}, f"{table.where}, parameters").take(key, float)
            for key, value in table.take("parameters", dict, {}).items()
        },
        optional=table.take("optional", bool, False),
        tune_share=table.take("tune_share", float, None),
    )
    table.done()
    if case.budget < 1:
        raise SpecError(f"{table.where}: budget should be at least 1; got {case.budget}.")
    if ("name" in case.set) == ("object" in case.set):
        raise SpecError(
            f"{table.where}: set should have either a name, such as 'l1-ball', or an object 'module:name'; got {case.set!r}."
        )
    return case


def _methods(top: Table, chosen: Table) -> tuple[Method, ...]:
    methods = []
    for table in top.tables("method"):
        name = table.name("name")
        methods.append(
            Method(
                name=name,
                label=table.name("label", name),
                group=table.choice("group", GROUPS, "paper"),
                constructor=table.take("constructor", str, "") or None,
                settings=table.take("settings", dict, {}),
                grid=table.sequence("grid", float, ()),
                derived=table.take("derived", bool, False),
                stated=table.take("stated", dict, {}),
            )
        )
        table.done()
    wanted = chosen.sequence("methods", str, [method.label for method in methods])
    unknown = set(wanted) - {method.label for method in methods}
    if unknown:
        raise SpecError(f"{chosen.where}: there is no method with the label {sorted(unknown)[0]!r}.")
    return tuple(method for method in methods if method.label in wanted)


def _claims(top: Table) -> tuple[Claim, ...]:
    claims = []
    for table in top.tables("claim"):
        claims.append(
            Claim(
                id=table.name("id"),
                says=table.take("says", str),
                test=table.take("test", str),
                method=table.take("method", str),
                cases=table.sequence("cases", str, ()),
                against=table.sequence("against", str, ()),
                at=table.take("at", float, 1.0),
                factor=table.take("factor", float, 1.0),
                level=table.take("level", float, 0.0),
                least=table.take("least", int, None),
                by=table.take("by", str, "the paper"),
            )
        )
        table.done()
    return tuple(claims)


def _agree(experiment: Experiment, where: str) -> None:
    """What no single key can tell."""
    if (experiment.kind == "images") != bool(experiment.source):
        raise SpecError(
            f"{where}: kind = 'images' goes with source = 'name of an experiment', and nothing else does."
        )
    if experiment.kind == "curves" and not (experiment.cases and (experiment.methods or experiment.others)):
        raise SpecError(f"{where} needs at least one case and one method.")
    for what, names in (
        ("case", [case.name for case in experiment.cases]),
        ("method label", [method.label for method in experiment.methods]),
    ):
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise SpecError(f"{where} has two entries with the {what} {twice[0]!r}; give each its own.")
    if not experiment.seeds or len(set(experiment.seeds)) != len(experiment.seeds):
        raise SpecError(f"{where}: seeds should be different whole numbers; got {list(experiment.seeds)}.")
    shared = set(experiment.seeds) & set(experiment.tuning.seeds if experiment.tuning else ())
    if shared:
        raise SpecError(
            f"{where}: the seed {min(shared)} is both for tuning and reported. Tune with seeds of their own."
        )
