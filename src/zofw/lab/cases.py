"""From a case of a specification to a problem, a set and a value to compare with."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from zofw import problems
from zofw.core import Array
from zofw.data import DataError, datasets, load, locate
from zofw.data.store import find
from zofw.files import write_whole
from zofw.lab.spec import Case, SpecError
from zofw.problems import mean_value
from zofw.run.reference import reference
from zofw.sets import SETS, as_set

__all__ = ["Built", "build_case", "find_object", "missing_files", "optimum"]

LINEAR = {
    "logistic": problems.Logistic,
    "correntropy": problems.Correntropy,
    "least-squares": problems.LeastSquares,
}
ATTACKS = {
    "mnist-attack": ("mnist", "mnist-carlini-weights"),
    "cifar-attack": ("cifar10", "cifar10-resnet20-weights"),
}

NETWORKS = {"mnist-carlini": "mnist_carlini", "resnet20": "cifar10_resnet20", "resnet18": "resnet18"}


@dataclass(frozen=True, eq=False)
class Built:
    """A problem over a set."""

    problem: Any
    set: Any

    @property
    def value(self) -> Callable[[Array], float]:
        found: Callable[[Array], float] = getattr(
            self.problem, "value", lambda x: mean_value(self.problem, x)
        )
        return found

    def names(self, case: Case, lr: float | None) -> dict[str, Callable[[], float]]:
        """What settings may refer to."""
        known: dict[str, Callable[[], float]] = {
            "n": lambda: float(self.problem.n),
            "dim": lambda: float(self.problem.dim),
            "budget": lambda: float(case.budget),
        }
        if hasattr(type(self.problem), "L"):
            known["L"] = lambda: float(self.problem.L)
        if lr is not None:
            known["lr"] = lambda: lr
        return known | {name: lambda value=value: value for name, value in case.parameters.items()}


@contextmanager
def _folder_first(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder or ".")
    try:
        yield
    finally:
        sys.path.remove(folder or ".")


def find_object(path: str, folder: str = "") -> Any:
    """What ``module:name`` names, looking in ``folder`` first."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise SpecError(f"{path!r} should be written module:name.")
    try:
        with _folder_first(folder):
            found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise SpecError(f"{path!r}: the module {module!r} cannot be imported ({error}).") from error
    except AttributeError:
        raise SpecError(f"{path!r}: the module {module!r} has no {name!r}.") from None
    return found


@lru_cache(maxsize=2)
def _load(name: str) -> Any:
    return load(name)


def build_case(case: Case, folder: str = "") -> Built:
    """The problem and the set of a case.

    Raises
    ------
    SpecError, DataError
        The case names something that does not exist, or its data cannot be had.
    """
    if case.problem in LINEAR:
        if case.data is None:
            raise SpecError(
                f"case {case.name!r}: the problem {case.problem} needs data = 'name of a data set'."
            )
        problem = _made(case, LINEAR[case.problem], *_load(case.data))
    elif case.problem in ATTACKS:
        problem = _made(replace(case, arguments={}), lambda: _attack(case.problem, **case.arguments))
    elif ":" in case.problem:
        problem = _made(case, find_object(case.problem, folder))
        if not hasattr(problem, "values"):
            raise SpecError(
                f"case {case.name!r}: {case.problem} should return a problem of zofw.problems, such as "
                f"BlackBox(function, dim=…); it returned {type(problem).__name__}."
            )
    else:
        known = ", ".join((*LINEAR, *ATTACKS))
        raise SpecError(
            f"case {case.name!r}: the problem {case.problem!r} is none of {known}, and not of the form module:function."
        )
    return Built(problem, _set(case, folder))


def _made(case: Case, make: Callable[..., Any], *data: Any) -> Any:
    try:
        return make(*data, **case.arguments)
    except (DataError, SpecError):
        raise
    except (TypeError, ValueError) as error:
        raise SpecError(f"case {case.name!r}: {case.problem} refused its arguments: {error}") from error


def _set(case: Case, folder: str) -> Any:
    if "object" in case.set:
        found = find_object(str(case.set["object"]), folder)
        return as_set(found() if isinstance(found, type) else found)
    arguments = {name: value for name, value in case.set.items() if name != "name"}
    cls = SETS[case.set["name"]]
    try:
        return cls(**arguments)
    except (TypeError, ValueError) as error:
        raise SpecError(
            f"case {case.name!r}: the set {case.set['name']} refused its arguments: {error}"
        ) from error


@lru_cache(maxsize=1)
def _attack(
    kind: str,
    split: str = "test",
    label: int | None = None,
    images: int | None = None,
    network: str = "",
    weights: str | None = None,
    device: str | None = None,
) -> Any:
    """A universal attack on the correctly classified images of a split: of one class, or the first of all."""
    name, _ = ATTACKS[kind]
    chosen = network or ("mnist-carlini" if kind == "mnist-attack" else "resnet20")
    if chosen not in NETWORKS or (chosen == "resnet18" and weights is None):
        raise SpecError(
            f"{kind}: network should be one of {', '.join(NETWORKS)}, resnet18 with weights; got {chosen!r}."
        )
    from zofw import targets

    model = getattr(targets, NETWORKS[chosen])(weights)
    loaded: Any = load(name, split=split)
    pixels, classes = loaded.centred(), loaded.labels
    if label is not None:
        pixels, classes = pixels[classes == label], classes[classes == label]
    if images is not None:
        enough = 2 * images  # more than are needed, for some are misclassified
        pixels, classes = pixels[:enough], classes[:enough]
    right = np.flatnonzero(targets.predict(model, pixels) == classes)[:images]
    return problems.UniversalAttack(model, pixels[right], classes[right], device=device)


def missing_files(case: Case) -> list[str]:
    """Files of the case's data that are not on this machine."""
    if case.problem in ATTACKS:
        name, weights = ATTACKS[case.problem]
        parts, found = datasets()[name].part(case.arguments.get("split"), default="test"), locate(weights)
        absent = [] if any(found.values()) else list(found)[:1]
    elif case.data in datasets():
        parts, absent = datasets()[str(case.data)].part(None), []
    else:
        return []
    return absent + [file.path for file in parts.files if find(file) is None]


def optimum(case: Case, built: Built, path: Path, starts: int = 16) -> dict[str, Any]:
    """The reference value of a case, computed once and kept in a file."""
    key = {
        "problem": case.problem,
        "data": case.data,
        "arguments": dict(case.arguments),
        "set": dict(case.set),
        "starts": starts,
    }
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if kept.get("key") == key:
            return kept
    found = reference(built.problem, built.set, starts=starts)
    kept = {
        "key": key,
        "value": found.value,
        "gap": found.gap,
        "certified": found.certified,
        "label": found.label,
    }
    write_whole(path, lambda stream: stream.write(json.dumps(kept, indent=1).encode()))
    return kept
