"""The style of the house, checked on the source: layers, names, and what no file may contain."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import zofw

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "zofw"
FILES = sorted(SOURCE.rglob("*.py"))
PAPER = sorted((ROOT / "paper" / "src").rglob("*.py"))
ROOMS = [
    "registry", "extras", "deprecations", "storage", "arrays", "atoms", "core", "outer", "schedules", "sets", "kernels", "directions", "differences",
    "problems", "algorithms", "papers", "references", "run", "residuals", "desk", "data", "comparison", "adapters", "extend", "cli", "__main__",
]  # fmt: skip
FORBIDDEN = {room: {"problems", "sets", "run"} for room in ("algorithms", "papers")}
LONGEST = 450  # lines of a source file
UNTYPED = 225  # lines that say Any
PROBES = 27  # calls of hasattr and getattr
TOP_LEVEL = 45  # names of zofw.__all__
MANNERED = 10  # occurrences of benchmarks.house.STRICTEST in src and pages; lower it as they go


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Rooms of zofw that a file imports at its top level, types aside."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("zofw"):
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("zofw.")}
    return found


def test_every_file_is_in_order():
    for path in FILES + PAPER:
        try:
            in_order(path)
        except AssertionError as reason:
            pytest.fail(f"{path.relative_to(ROOT)}: {reason}")


def in_order(path):
    text = path.read_text()
    tree = ast.parse(text)
    if path.name not in ("__init__.py", "__main__.py") or text.strip():
        assert ast.get_docstring(tree), "every module says what it is"
    assert len(text.splitlines()) <= LONGEST, "too long a room"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "eval", "exec"}, f"{node.func.id} at line {node.lineno}"
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"bare except at line {node.lineno}"
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert not modules & {"pickle", "random", "marshal", "shelve"}
    assert not re.search(r"np\.random\.(seed|rand|randn|normal|choice|uniform)\(", text), (
        "no global randomness"
    )
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text)
    assert "/work/" not in text and "shared/" not in text


def test_pages_at_the_root_are_for_readers():
    """A note to oneself is not left beside the README."""
    pages = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"}
    assert {path.name for path in ROOT.glob("*.md")} == pages


def test_no_commented_out_code():
    for path in FILES + PAPER:
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type != tokenize.COMMENT:
                continue
            body = token.string.lstrip("# ").strip()
            if re.match(
                r"(def |return\b|import |from \w+ import|for \w+ in |if .*:$|\w+ = \w+\(|\w+\(.*\)$)", body
            ):
                pytest.fail(f"{path.name}:{token.start[0]} looks like commented-out code: {token.string}")


def test_signatures_say_what_they_take():
    lines = [line for path in FILES for line in path.read_text().splitlines()]
    assert sum(bool(re.search(r"\bAny\b", line)) for line in lines) <= UNTYPED
    assert sum(len(re.findall(r"\b(?:has|get)attr\(", line)) for line in lines) <= PROBES


def test_prose_keeps_to_plain_words():
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.house import mannered, pages
    finally:
        sys.path.remove(str(ROOT))
    words = mannered([*FILES, *pages()])
    assert words.total() <= MANNERED, (
        f"{words}; the section Words of docs/house.md says what to write instead"
    )


def test_one_name_stands_for_one_class():
    """A class has its name to itself, beyond its room; every method calls its state State."""
    rooms: dict[str, set[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                rooms.setdefault(node.name, set()).add(room(path))
    assert {name for name, found in rooms.items() if len(found) > 1} <= {"State"}


def test_rooms_import_only_rooms_below_them():
    for path in FILES:
        here = room(path)
        if here == "__init__":
            continue
        assert here in ROOMS, f"{here} is a room nobody has put in order"
        for other in imported(path):
            assert other in ROOMS and ROOMS.index(other) <= ROOMS.index(here), f"{path} imports {other}"
            assert other not in FORBIDDEN.get(here, set()), f"{path} imports {other}"


def test_the_library_never_imports_the_paper():
    for path in FILES:
        assert not re.search(r"^\s*(from|import) zofw_paper\b", path.read_text(), re.M), path


def seconds_to_import(modules: str) -> tuple[float, str]:
    """Process time of an import in a new interpreter, and the extras it brought along."""
    code = (
        f"import sys, time; t = time.process_time(); import {modules}; t = time.process_time() - t\n"
        "extras = 'torch sklearn matplotlib pandas plotly typer rich numba tqdm dask scipy'.split()\n"
        "sys.stdout.write(f'{t} {[m for m in extras if m in sys.modules]}')"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    seconds, _, brought = out.splitlines()[-1].partition(" ")
    return float(seconds), brought


def test_importing_is_quick_and_brings_no_extra():
    ours, told, base = 9.0, 9.0, 9.0
    for _ in range(4):  # interleaved: a busy machine slows all sides
        seconds, brought = seconds_to_import("zofw")
        assert brought == "[]"
        ours, base = min(ours, seconds), min(base, seconds_to_import("scipy.optimize")[0])
        told = min(
            told,
            seconds_to_import(
                "sys; sys.argv = ['zofw', '--version']; import zofw.cli.__main__ as m; m.main()"
            )[0],
        )
    assert ours < 1.1 * base, f"import zofw takes {ours:.2f} s, import scipy.optimize {base:.2f} s"
    assert told < 1.5 * base, f"zofw --version takes {told:.2f} s, import scipy.optimize {base:.2f} s"


def test_what_is_exported_exists():
    assert len(zofw.__all__) <= TOP_LEVEL
    for name in zofw.__all__:
        assert getattr(zofw, name) is not None
    homes = {zofw.papers: zofw.methods(), zofw: zofw.sets(), zofw.directions: zofw.laws()}
    for home, registry in homes.items():
        for cls in registry.values():
            found = vars(home).get(cls.__name__) or vars(zofw).get(cls.__name__)
            assert found is cls, f"{cls.__name__} is registered; import it in {home.__name__}/__init__.py."


def test_pages_name_files_that_exist():
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/extend/*.md"), ROOT / "CONTRIBUTING.md"]
    for page in pages:
        for name in re.findall(r"(?<![\w/])(?:\w+/)+\w+\.(?:py|toml)\b", page.read_text()):
            homes = (ROOT, ROOT / "src" / "zofw", ROOT / "tests", page.parent)
            assert "my_" in name or any((home / name).exists() for home in homes), (
                f"{page.relative_to(ROOT)} names {name}, which is no file."
            )
