"""Experiments as TOML: read strictly, with a sentence for every mistake.

A specification names cases (a problem, a set, a budget) and methods (a registered name and settings). Every method meets
every case with every seed. A profile picks budgets, seeds and cases: ``quick`` for a look, ``full`` for the record. It names
no code: problems and sets of one's own come from a file that the command line names, ``--code my.py``. The page
docs/specification.md says what every key is.

A setting is a number, a word, a table for a schedule (``{power = {numerator = 2.0, offset = 8.0}}``) or for a law with its
arguments (``{name = "my-law", scale = 2.0}``), or a reference to a number of the case: ``"=batch"``, ``"=1/epoch"``,
``"=2*lr"``, where n, dim, budget, lr, L and the case's own parameters are known.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from zofw_paper.records import SpecError, plain, record

__all__ = [
    "Case",
    "Claim",
    "Costs",
    "Experiment",
    "Method",
    "SpecError",
    "Tuning",
    "fingerprint",
    "parse",
    "read",
]

MethodGroup = Literal["paper", "others"]
ExperimentKind = Literal["curves", "costs", "complexity", "images"]
Measure = Literal["gap", "objective", "success-rate"]
Test = Literal["best", "worst", "beats", "near", "far", "stalls", "reaches", "saves", "falls", "ahead"]

OF_A_PROFILE = (
    "seeds", "fewer", "diagnose", "max_time", "starts", "others", "costs", "cases", "methods", "tune", "note",
)  # fmt: skip


def _folder_name(what: str, value: str) -> None:
    if not value or not all(c.isalnum() or c in "-_.,+*()= " for c in value) or value.startswith("."):
        raise ValueError(
            f"{what} names a folder and should be letters, digits, spaces and any of -_.,+*()=; got {value!r}."
        )


@dataclass(frozen=True)
class Case:
    """A problem over a set, with a budget of queries."""

    name: str
    problem: str
    set: Mapping[str, object]
    budget: int
    title: str = ""
    data: str | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    optional: bool = False

    def __post_init__(self) -> None:
        _folder_name("name", self.name)
        if self.budget < 1:
            raise ValueError(f"budget should be at least 1; got {self.budget}.")
        if not isinstance(self.set.get("name"), str):
            raise ValueError(f"set should have a name, such as 'l1-ball'; got {dict(self.set)!r}.")


@dataclass(frozen=True)
class Stated:
    """Exponents that a paper states: of n and d for one iteration, of 1/ε, n and d for the total; and how to measure them.

    ``per_n``: iterations for every component, for kind = "costs". ``mean_gap``: whether the error is the mean Frank-Wolfe gap,
    for kind = "complexity".
    """

    max: tuple[float, ...] = ()
    average: tuple[float, ...] = ()
    total: tuple[float, ...] = ()
    per_n: float = 0.0
    mean_gap: bool = False


@dataclass(frozen=True)
class Method:
    """A method under a label; its published step is multiplied by the tuned lr unless a setting refers to ``=lr``."""

    name: str
    label: str = ""
    group: MethodGroup = "paper"
    constructor: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    grid: tuple[float, ...] = ()
    derived: bool = False
    stated: Stated = Stated()

    @property
    def structure(self) -> bool:
        """Return True if the default method is told which coordinates a component depends on: knowledge beyond values."""
        return self.name == "auto" and self.settings.get("structure", False) is True

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name)
        _folder_name("label", self.label)
        if self.name == "auto" and set(self.settings) - {"structure"}:
            raise ValueError(f"auto has no settings but structure; got {', '.join(self.settings)}.")


@dataclass(frozen=True)
class Tuning:
    """How learning rates are chosen."""

    seeds: tuple[int, ...] = ()
    grid: tuple[float, ...] = ()
    grids: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    share: float = 1.0
    shares: Mapping[str, float] = field(default_factory=dict)
    widen: bool = False

    def __post_init__(self) -> None:
        if self.seeds and not (
            self.grid
            and all(lr > 0 for rates in (self.grid, *self.grids.values()) for lr in rates)
            and all(0 < share <= 1 for share in (self.share, *self.shares.values()))
        ):
            raise ValueError("grid should be positive numbers and share in (0, 1].")


@dataclass(frozen=True)
class Claim:
    """A statement, in our words, with the test that decides it on the stored curves."""

    id: str
    says: str
    test: Test
    method: str
    cases: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    at: float = 1.0
    factor: float = 1.0
    level: float = 0.0
    least: int | None = None
    by: str = "the paper"


@dataclass(frozen=True)
class Costs:
    """Sizes at which queries are counted, for kind = "costs" and "complexity"; ``epsilons`` of a method replace ``epsilon``."""

    n: tuple[int, ...]
    d: tuple[int, ...]
    base_n: int
    base_d: int
    iterations: int = 0
    T: int = 0
    epsilon: tuple[float, ...] = ()
    epsilons: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A specification under one profile."""

    name: str
    profile: str = ""
    title: str = ""
    about: str = ""
    note: str = ""
    kind: ExperimentKind = "curves"
    measure: Measure = "objective"
    seeds: tuple[int, ...] = (0,)
    fewer: Mapping[str, int] = field(default_factory=dict)
    cases: tuple[Case, ...] = field(default=(), metadata={"key": "case"})
    methods: tuple[Method, ...] = field(default=(), metadata={"key": "method"})
    claims: tuple[Claim, ...] = field(default=(), metadata={"key": "claim"})
    tuning: Tuning = field(default_factory=Tuning, metadata={"key": "tune"})
    diagnose: int = 20
    max_time: float | None = None
    starts: int = 16
    others: bool = False
    costs: Costs | None = None
    source: str = ""
    count: int = 8

    @property
    def fingerprint(self) -> str:
        """Return sha256 of everything that decides the numbers; words and claims may change without a new run."""
        content = plain(dataclasses.replace(self, title="", about="", note="", claims=()))
        assert isinstance(content, dict)
        tune = content["tune"]
        assert isinstance(tune, dict)
        for table, key in ((content, "fewer"), (tune, "grids"), (content["costs"], "epsilons")):
            if isinstance(table, dict) and not table[key]:
                del table[key]  # younger than some published fingerprints
        return fingerprint(content)

    def seeds_of(self, label: str) -> tuple[int, ...]:
        """Return the seeds that a method is run with."""
        return self.seeds[: self.fewer.get(label, len(self.seeds))]

    def __post_init__(self) -> None:
        _folder_name("name", self.name)
        if (self.kind == "images") != bool(self.source):
            raise ValueError(
                "kind = 'images' goes with source = 'name of an experiment', and nothing else does."
            )
        if self.kind in ("costs", "complexity") and self.costs is None:
            raise ValueError(f"kind = {self.kind!r} needs the table costs.")
        if self.kind == "curves" and not (self.cases and (self.methods or self.others)):
            raise ValueError("It needs at least one case and one method.")
        for what, names in (
            ("case", [case.name for case in self.cases]),
            ("method label", [method.label for method in self.methods]),
        ):
            twice = [name for k, name in enumerate(names) if name in names[:k]]
            if twice:
                raise ValueError(f"There are two entries with the {what} {twice[0]!r}; give each its own.")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds should be different whole numbers; got {list(self.seeds)}.")
        if not all(1 <= count <= len(self.seeds) for count in self.fewer.values()):
            raise ValueError(
                f"fewer should be numbers from 1 to {len(self.seeds)}, as there are seeds; got {dict(self.fewer)}."
            )
        if shared := set(self.seeds) & set(self.tuning.seeds):
            raise ValueError(
                f"The seed {min(shared)} is both for tuning and reported. Tune with seeds of their own."
            )


def fingerprint(content: object) -> str:
    """Return sha256 of a plain value or a dataclass, in canonical JSON."""
    return hashlib.sha256(json.dumps(plain(content), sort_keys=True).encode()).hexdigest()[:16]


def read(path: str | Path, profile: str | None = None) -> Experiment:
    """Return the experiment in a TOML file.

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
    except FileNotFoundError as error:
        raise SpecError(f"There is no specification {path}. Write one with: zofw init {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise SpecError(f"The specification {path} cannot be read: {why}.") from error
    return parse(text, profile, where=str(path))


def parse(text: str, profile: str | None = None, *, where: str = "the text") -> Experiment:
    """Return the experiment in a TOML text; see :func:`read`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{where} is not TOML: {error}.") from error
    for key in ("profile", "case", "method"):
        kind, word = (dict, "table") if key == "profile" else (list, "list")
        if not isinstance(content.get(key, kind()), kind):
            raise SpecError(f"{where}: {key} should be a {word}; got {content[key]!r}.")
    chosen = _profile(content.pop("profile", {}), profile, where)
    there = f"{where}, profile {profile}: there is no"
    cases = _picked(content.get("case", []), chosen.get("cases"), ("name",), f"{there} case")
    methods = _picked(
        content.get("method", []), chosen.get("methods"), ("label", "name"), f"{there} method with the label"
    )
    merged = {
        **content,
        **{key: value for key, value in chosen.items() if key not in ("cases", "methods", "tune")},
        "case": [_budgeted(case, profile, where) for case in cases],
        "method": methods,
        "profile": profile or "",
    }
    if isinstance(content.get("tune", {}), dict) and isinstance(chosen.get("tune"), dict):
        merged["tune"] = {**content.get("tune", {}), **chosen["tune"]}
    return record(Experiment, merged, where)


def _profile(profiles: Mapping[str, object], profile: str | None, where: str) -> dict[str, Any]:
    """Return the table of the profile that was asked for; an empty one where there are no profiles."""
    if profile is None and not profiles:
        return {}
    if profile is None or profile not in profiles:
        asked = "no profile" if profile is None else f"the profile {profile!r}"
        raise SpecError(f"{where}: {asked} was asked for; it has {', '.join(profiles) or 'none'}.")
    chosen = profiles[profile]
    if not isinstance(chosen, dict):
        raise SpecError(f"{where}: profile.{profile} should be a table; got {chosen!r}.")
    for key in chosen:
        if key not in OF_A_PROFILE:
            raise SpecError(
                f"{where}, profile {profile} has the unknown key {key!r}; known are {', '.join(OF_A_PROFILE)}."
            )
    return chosen


def _budgeted(case: object, profile: str | None, where: str) -> object:
    """Return a case with the budget of the profile."""
    if not isinstance(case, dict) or not isinstance(case.get("budget"), dict):
        return case
    if profile not in case["budget"]:
        raise SpecError(f"{where}, {case.get('name')!r}: budget has no entry for the profile {profile!r}.")
    return {**case, "budget": case["budget"][profile]}


def _picked(tables: list[object], names: object, keys: tuple[str, ...], sentence: str) -> list[object]:
    """Return the tables of those names, or all."""
    if names is None:
        return tables

    def name(table: object) -> object:
        return next((table[key] for key in keys if key in table), None) if isinstance(table, dict) else None

    known = [name(table) for table in tables]
    for wanted in names if isinstance(names, list) else [names]:
        if wanted not in known:
            raise SpecError(f"{sentence} {wanted!r}; there is {', '.join(map(str, known))}.")
    return [table for table in tables if isinstance(names, list) and name(table) in names]
