"""Skeletons: code, test and page, written into this library or another project."""

from __future__ import annotations

import re
from pathlib import Path

KINDS = {"method": "Forgetful", "set": "Corner", "law": "HalfSigns", "problem": "Distances"}
ROOMS = {"method": "papers", "set": "sets", "law": "directions", "problem": "problems"}
SKELETONS = Path(__file__).parent / "skeletons"
GROUP = '[project.entry-points."zofw.{kind}s"]\n{name} = "{module}:{cls}"'


def new(kind: str, name: str, folder: Path) -> tuple[list[Path], list[str]]:
    """Write the skeleton of a method, a set, a law or a problem under a name such as
    ``my-method``.

    In a checkout of this library the files go into their rooms and a method gets its line in
    the catalogue; anywhere else they go into ``folder``. The files written are returned, and a
    sentence for each remaining step.

    Raises
    ------
    ValueError
        The kind or the name is not one, or a file of that name exists.
    """
    if kind not in KINDS:
        raise ValueError(f"There are skeletons of {', '.join(KINDS)}; got {kind!r}.")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(
            f"A name has small letters, digits and single hyphens, as in my-{kind}; got {name!r}."
        )
    module, cls = name.replace("-", "_"), "".join(part.capitalize() for part in name.split("-"))
    ours = (folder / "src" / "zofw" / ROOMS[kind]).is_dir()
    texts = dict(_texts(kind, name, module, cls, ours))
    for path in texts:
        if (folder / path).exists():
            raise ValueError(f"{folder / path} exists; take another name, or remove it.")
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return [folder / path for path in texts], _next(kind, name, module, cls, ours, folder)


def _texts(kind: str, name: str, module: str, cls: str, ours: bool) -> list[tuple[str, str]]:
    """Return the text of each file with its path within the folder."""
    old = KINDS[kind]
    code = _renamed((SKELETONS / f"my_{kind}.py").read_text(encoding="utf-8"), old, cls, name)
    if not ours:
        return [(f"{module}.py", code), (f"test_{module}.py", _test(kind, module, cls))]
    room = ROOMS[kind]
    if kind == "method":
        code = code.replace("@dataclass", f'@methods.register("{name}")\n@dataclass', 1)
        code = code.replace(f'    name = "{name}"\n', "").replace("Method, at\n", "Method, at, methods\n")
    texts = [
        (f"src/zofw/{room}/{module}.py", code),
        (
            f"tests/{'algorithms' if kind == 'method' else room}/test_{module}.py",
            _test(kind, f"zofw.{room}.{module}", cls),
        ),
    ]
    if kind == "method":
        page = _renamed((SKELETONS / "my_method.md").read_text(encoding="utf-8"), old, cls, name)
        texts.append((f"docs/methods/{name}.md", page))
    return texts


def _renamed(text: str, old: str, cls: str, name: str) -> str:
    return text.replace(old, cls).replace(old.lower(), name)


TRANSCRIPTION = '''

def test_transcription() -> None:
    """The paper's box once more: dense, one direction and one component at a time, sharing no code with the method."""
    # {see}
    pytest.fail("Write the box of the paper here once more, and compare its first iterations.")
'''


def _test(kind: str, module: str, cls: str) -> str:
    """Return the test file; that of a method fails until its transcription is written."""
    more = ", dim=6" if kind == "set" else ""
    home = "zofw" if kind == "set" else "zofw.extend"
    imports = [f"from {module} import {cls}", f"from {home} import check_{kind}"]
    ours = module.startswith("zofw.")  # others stand by themselves, before zofw
    see = "An example: tests/algorithms/test_zo_sfw.py." if ours else f"Compare with {cls}, one seed."
    blocks = ["import pytest"] if kind == "method" else []
    blocks += ["\n".join(sorted(imports))] if ours else imports
    return (
        f'"""{cls} keeps the laws of a {kind}; what its paper says is compared here."""\n\n'
        + "\n\n".join(blocks)
        + f"\n\n\ndef test_laws() -> None:\n    check_{kind}({cls}(){more}).raise_if_failed()\n"
        + (TRANSCRIPTION.format(see=see) if kind == "method" else "")
    )


def _next(kind: str, name: str, module: str, cls: str, ours: bool, folder: Path) -> list[str]:
    """Return the remaining steps."""
    if not ours:
        entry = GROUP.format(kind=kind, name=name, module=module, cls=cls)
        return [
            f"Try it: zofw check {kind} {module}",
            f"To be found by its name wherever your package is installed, add to pyproject.toml:\n{entry}",
        ]
    if kind == "method":
        _enter(folder / "src" / "zofw" / "papers" / "__init__.py", module, cls)
        return [f"Try it: zofw check method {name}", f"Record its golden run: make golden NAME={name}"]
    return [
        f"Enter it: decorate {cls} as its neighbours in src/zofw/{ROOMS[kind]} are, and import it in its __init__.py and in "
        "src/zofw/__init__.py.",
        f"Try it: zofw check {kind} zofw.{ROOMS[kind]}.{module}",
    ]


def _enter(catalogue: Path, module: str, cls: str) -> None:
    """Add a line to the catalogue, before the first line of a later module."""
    lines = catalogue.read_text(encoding="utf-8").splitlines()
    home = f"zofw.papers.{module}"
    later = (k for k, line in enumerate(lines) if line.startswith("from ") and line.split()[1] > home)
    lines.insert(next(later, len(lines)), f"from {home} import {cls} as {cls}")
    catalogue.write_text("\n".join([*lines, ""]), encoding="utf-8")
