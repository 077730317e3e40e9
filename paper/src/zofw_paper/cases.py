"""From a case of a specification to a problem, a set and a value to compare with."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from zofw.core import ConvexSet, Problem
from zofw.problems import UniversalAttack, problems
from zofw.references import reference
from zofw.sets import SETS, as_set
from zofw_paper.data import DataError, datasets, load, locate
from zofw_paper.data.store import find
from zofw_paper.records import SpecError
from zofw_paper.spec import Case, fingerprint
from zofw_paper.store import read_record, write_json

SPECIFICATIONS = ("experiments", "paper/experiments")  # folders that are searched for a name without --code


@dataclass(frozen=True)
class Code:
    """Problems and sets of one's own: what a Python file that the command line named has, by name."""

    path: str = ""

    @property
    def digest(self) -> str:
        """Return a hash of the file, "" without one: runs belong to what it said."""
        return fingerprint(Path(self.path).read_text(encoding="utf-8")) if self.path else ""

    def find(self, name: str) -> Any:
        """What the file calls so; None where it has no such name or there is no file."""
        return vars(_module(self.path, self.digest)).get(name) if self.path else None


NO_CODE = Code()


@lru_cache(maxsize=4)
def _module(path: str, digest: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"--code {path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True, eq=False)
class Built:
    """A problem over a set."""

    problem: Any
    set: ConvexSet

    @property
    def sizes(self) -> tuple[int, int, str]:
        """Return n, d and the set, as the end of a run names them."""
        return self.problem.n, self.problem.dim, repr(self.set)

    def names(self, case: Case, lr: float | None) -> dict[str, Callable[[], float]]:
        """What settings may refer to."""
        known: dict[str, Callable[[], float]] = {
            "n": lambda: float(self.problem.n),
            "dim": lambda: float(self.problem.dim),
            "budget": lambda: float(case.budget),
        }
        if inspect.getattr_static(self.problem, "L", None) is not None:
            known["L"] = lambda: float(self.problem.L)
        if lr is not None:
            known["lr"] = lambda: lr
        return known | {name: lambda value=value: value for name, value in case.parameters.items()}


@lru_cache(maxsize=2)
def _load(name: str) -> Any:
    return load(name)


def build_case(case: Case, code: Code = NO_CODE) -> Built:
    """Return the problem and the set of a case.

    Raises
    ------
    SpecError, DataError
        The case names something that does not exist, or its data cannot be had.
    """
    where = f"case {case.name!r}"
    arguments: Mapping[str, object] = case.arguments
    if case.problem in attacks:
        problem = _called(attack, f"{where}: {case.problem}", case.problem, **arguments)
    elif case.problem in problems:
        make = problems[case.problem]
        if "Z" in inspect.signature(make).parameters and case.data is None:
            raise SpecError(f"{where}: the problem {case.problem} needs data = 'name of a data set'.")
        data = _load(case.data) if case.data else ()
        problem = _called(make, f"{where}: {case.problem}", *data, **arguments)
    else:
        known = ", ".join((*problems, *attacks))
        make = _of_code(code, case.problem, f"{where}: the problem {case.problem!r} is none of {known}")
        problem = _called(make, f"{where}: {case.problem}", **arguments)
        if not isinstance(problem, Problem):
            raise SpecError(
                f"{where}: {case.problem} should return a problem of zofw.problems, such as "
                f"BlackBox(function, dim=…); it returned {type(problem).__name__}."
            )
    return Built(problem, _set(case, code))


def _of_code(code: Code, name: str, sentence: str) -> Any:
    found = code.find(name)
    if found is None:
        files = [path for folder in SPECIFICATIONS for path in Path(folder).glob("*.py")]
        here = [path for path in files if f"def {name}(" in path.read_text("utf-8")]
        more = f"no name of {code.path}" if code.path else "and no file was given with --code"
        more += f" (add --code {here[0]}, which has it)" if here else ""
        raise SpecError(f"{sentence}, {more}.")
    return found


def _called(make: Callable[..., Any], where: str, *data: object, **arguments: object) -> Any:
    try:
        return make(*data, **arguments)
    except (DataError, SpecError):
        raise
    except (TypeError, ValueError) as error:
        raise SpecError(f"{where} refused its arguments: {error}") from error


def _set(case: Case, code: Code) -> ConvexSet:
    name = str(case.set["name"])
    make: Any = (
        SETS[name] if name in SETS or not code.path else _of_code(code, name, f"There is no set {name!r}")
    )
    arguments = {key: value for key, value in case.set.items() if key != "name"}
    return as_set(
        _called(make, f"case {case.name!r}: the set {name}", **arguments) if callable(make) else make
    )


@dataclass(frozen=True)
class Attack:
    """A universal attack by name: its images, and the networks that it may attack, the first by default."""

    data: str
    networks: tuple[str, ...]


attacks = {
    "mnist-attack": Attack("mnist", ("mnist-carlini",)),
    "cifar-attack": Attack("cifar10", ("resnet20", "resnet18")),
}
WEIGHTS = {
    "mnist-carlini": "mnist-carlini-weights",
    "resnet20": "cifar10-resnet20-weights",
    "resnet18": "cifar10-resnet18-weights",
}
"""The entry of the catalogue with the weights of each network."""


@lru_cache(maxsize=1)
def attack(
    kind: str,
    split: str = "test",
    label: int | None = None,
    images: int | None = None,
    network: str = "",
    weights: str | None = None,
    device: str | None = None,
) -> UniversalAttack:
    """Return a universal attack on the correctly classified images of a split: of one class, or the first of all."""
    chosen = network or attacks[kind].networks[0]
    if chosen not in attacks[kind].networks:
        raise SpecError(
            f"{kind}: network should be one of {', '.join(attacks[kind].networks)}; got {chosen!r}."
        )
    from zofw_paper import targets

    made = targets.mnist_carlini, targets.cifar10_resnet20, targets.cifar10_resnet18
    model = dict(zip(WEIGHTS, made, strict=True))[chosen](weights)
    loaded: Any = load(attacks[kind].data, split=split)
    pixels, classes = loaded.centred(), loaded.labels
    if label is not None:
        pixels, classes = pixels[classes == label], classes[classes == label]
    if images is not None:
        enough = 2 * images  # more than are needed, for some are misclassified
        pixels, classes = pixels[:enough], classes[:enough]
    right = np.flatnonzero(targets.predict(model, pixels) == classes)[:images]
    return UniversalAttack(model, pixels[right], classes[right], device=device)


def missing_files(case: Case) -> list[str]:
    """Return files of the case's data that are not on this machine."""
    if case.problem in attacks:
        split = case.arguments.get("split")
        parts = datasets()[attacks[case.problem].data].part(
            None if split is None else str(split), default="test"
        )
        network = str(case.arguments.get("network") or attacks[case.problem].networks[0])
        found = {} if "weights" in case.arguments else locate(WEIGHTS[network])
        absent = [] if any(found.values()) else list(found)[:1]
    elif case.data in datasets():
        parts, absent = datasets()[str(case.data)].part(None), []
    else:
        return []
    return absent + [file.path for file in parts.files if find(file) is None]


@dataclass(frozen=True)
class Optimum:
    """A value to compare with, and where it is from; ``key`` names the case that it was computed for."""

    value: float
    label: str
    certified: bool
    gap: float = float("nan")
    key: Mapping[str, object] = field(default_factory=dict)


def optimum(case: Case, built: Built, path: Path, starts: int = 16) -> Optimum:
    """Return the reference value of a case, computed once and kept in a file."""
    key = {
        "problem": case.problem,
        "data": case.data,
        "arguments": dict(case.arguments),
        "set": dict(case.set),
        "starts": starts,
    }
    if path.is_file():
        kept = read_record(Optimum, path, "a reference value")
        if kept.key == key:
            return kept
    found = reference(built.problem, built.set, starts=starts)
    kept = Optimum(found.value, found.label, found.certified, found.gap, key)
    write_json(path, kept)
    return kept
