"""``zofw new`` and ``zofw check``: skeletons, and the laws that they keep."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import zofw
from zofw.cli.console import CommandError, Json, console, print_result

KINDS = ("method", "set", "law", "problem")
HAS = {"method": ("init", "step"), "set": ("lmo",), "law": ("draw", "scale"), "problem": ("values",)}
KindArgument = Annotated[str, typer.Argument(help=f"The kind: {', '.join(KINDS)}.")]


def new_(
    kind: KindArgument,
    name: Annotated[str, typer.Argument(help="A name such as my-method.")],
    folder: Annotated[
        Path, typer.Option("--folder", "-f", help="The folder of your project, or a checkout of zofw.")
    ] = Path(),
) -> None:
    """Write the skeleton of a method, set, law or problem, with its test.

    [dim]Example:[/dim]  zofw new method my-method
    """
    from zofw.extend.new import new

    try:
        files, remaining = new(kind, name, folder)
    except ValueError as error:
        raise CommandError(str(error)) from error
    for path in files:
        console().print(f"wrote {path}", soft_wrap=True)
    for sentence in remaining:
        console().print(Text(sentence), soft_wrap=True)


def check_(
    kind: KindArgument,
    path: Annotated[
        str, typer.Argument(help="A registered name, FILE.py, module, module:object or package.object.")
    ],
    dim: Annotated[
        int, typer.Option("--dim", "-d", min=1, help="The dimension in which a set is tested.")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Test a method, set, law or problem; exit code 1 if a test fails.

    [dim]Example:[/dim]  zofw check method my_package.my_method
    """
    if kind not in KINDS:
        raise CommandError(f"zofw check knows {', '.join(KINDS)}; got {kind!r}.")
    found = _found(kind, path)
    check = vars(zofw.extend).get(f"check_{kind}")
    report = zofw.check_set(found, dim) if check is None else check(found)
    findings = [{"law": f.law, "ok": f.ok, "why": f.why} for f in report.findings]
    print_result(as_json, {"ok": report.ok, "subject": report.subject, "laws": findings}, Text(str(report)))
    if not report.ok:
        raise typer.Exit(1)


def _found(kind: str, path: str) -> Any:
    """Return what a registered name, ``module:object`` or the one class of a module gives."""
    registries = {"method": zofw.methods, "set": zofw.sets, "law": zofw.laws}
    registry = registries[kind]() if kind in registries else zofw.problems.problems
    if path in registry:
        return path if kind == "method" else _made(registry[path], path)
    module, _, name = path.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        try:
            found: Any = _of_file(module) if module.endswith(".py") else importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, name = module.rpartition(".")
            if not module:
                raise
            found = importlib.import_module(module)
        found = attrgetter(name)(found) if name else found
    except (ImportError, AttributeError, FileNotFoundError) as error:
        said = (
            f"there is no file {module}" if isinstance(error, FileNotFoundError) else str(error).rstrip(".?")
        )
        raise CommandError(
            f"{path!r} names neither a registered {kind} nor something to import: {said}."
        ) from error
    finally:
        sys.path.remove(str(Path.cwd()))
    return _made(_only(kind, found, path) if inspect.ismodule(found) else found, path)


def _of_file(path: str) -> Any:
    """Return the module that a file is."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _only(kind: str, module: Any, path: str) -> Any:
    """The one class of a module that looks like what is sought."""
    own = [cls for _, cls in inspect.getmembers(module, inspect.isclass) if cls.__module__ == module.__name__]
    fitting = [cls for cls in own if all(hasattr(cls, name) for name in HAS[kind])]
    if len(fitting) != 1:
        names = ", ".join(cls.__name__ for cls in fitting) or "none"
        raise CommandError(
            f"The module {path} should have one class of a {kind}, or name it as {path}:Name; it has {names}."
        )
    return fitting[0]


def _made(found: Any, path: str) -> Any:
    if not isinstance(found, type):
        return found
    try:
        return found()
    except TypeError as error:
        raise CommandError(
            f"{path} cannot be made without arguments ({error}); name an object of it instead."
        ) from error


WRITING_YOUR_OWN: dict[str, Callable[..., None]] = {"new": new_, "check": check_}
