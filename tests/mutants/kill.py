"""Run the fast suite against every mutant: ``make mutants``, or ``python tests/mutants/kill.py 3 17`` for some of them.

A mutant is killed by the first test of the fast suite that fails with it. Tests are tried in the order in which they are likely to
fail: the one that killed it last time, those about its file, then the whole fast suite, which alone can say that a mutant survives.
Each try is a fork of one process that has imported the libraries, not zofw. Verdicts are kept in ``.mutants.json``: a run that was
stopped goes on where it was, as long as no file of ``src`` or ``tests`` has changed. At the end the tests that killed are run without
a mutant, and have to pass. Ends with the share that was killed and the names of the survivors; exit code 1 below 95 %.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import re
import resource
import sys
import time
from pathlib import Path

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "zofw"
KEPT = ROOT / ".mutants.json"
sys.path[:0] = [str(HERE), str(ROOT / "src")]

from mutants import MUTANTS  # noqa: E402

FAST = next(
    line
    for line in (ROOT / "Makefile").read_text().replace("\\\n", " ").splitlines()
    if line.startswith("FAST :=")
).split()[2:]
LEAST = 0.95
PATIENCE = (
    60,
    180,
)  # seconds of processor time for some tests, and for the fast suite, which takes one minute: a mutant may hang
LIBRARIES = ("numpy", "scipy.sparse.linalg", "scipy.optimize", "scipy.special", "numba", "pytest")


def likely(file: str) -> list[str]:
    """Tests that are about the file."""
    room, _, rest = file.partition("/")
    if room in ("algorithms", "papers"):
        folder = rest.partition("/")[0].removesuffix(".py")
        own = ROOT / "tests" / "algorithms" / f"test_{folder}.py"
        tests = [str(own.relative_to(ROOT))] if own.exists() else []
        names = re.findall(r'methods\.register\("([^"]+)"\)', (SOURCE / file).read_text())
        golden = [f"tests/golden/test_golden.py::test_golden[{name}]" for name in names] or ["tests/golden"]
        constants = ["tests/theory/test_schedules.py"] if "dvr" in file else []
        return [*constants, *tests, *golden]  # what knows the paper first, then what knows the last run
    return {
        "sets": ["tests/sets/test_sets_laws.py", "tests/sets/test_sets_oracles.py"],
        "directions": ["tests/directions/test_laws.py", "tests/theory/test_moments.py"],
        "schedules.py": ["tests/theory/test_schedules.py", "tests/theory/test_lemmas.py", "tests/algorithms"],
        "run": ["tests/run/test_session.py", "tests/golden"],
        "atoms.py": ["tests/test_atoms.py"],
        "differences.py": ["tests/test_differences.py"],
        "extend": ["tests/conformance/test_laws_bite.py"],
    }.get(room, ["tests/algorithms/test_zsfw_dvr.py", "tests/golden", "tests/run/test_session.py"])


class Changed(importlib.machinery.SourceFileLoader):
    """Reads one file with the mutant's text in it, and keeps no byte code of it."""

    old: str
    new: str

    def get_code(self, fullname: str):
        text = Path(self.path).read_text(encoding="utf-8")
        assert text.count(self.old) == 1
        return compile(text.replace(self.old, self.new), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Lets a mutant take the place of its file, in memory; finds nothing else."""

    def __init__(self, number: int) -> None:
        self.file, self.old, self.new = MUTANTS[number]
        self.module = "zofw." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(self, fullname: str, path, target=None):
        if fullname != self.module:
            return None
        loader = Changed(fullname, str(SOURCE / self.file))
        loader.old, loader.new = self.old, self.new
        package = loader.path.endswith("__init__.py")
        spec = importlib.machinery.ModuleSpec(fullname, loader, origin=loader.path, is_package=package)
        if package:
            spec.submodule_search_locations = [str(Path(loader.path).parent)]
        spec.has_location = True
        return spec


class First:
    """A pytest plugin that writes the name of the first test that fails."""

    def __init__(self, end: int) -> None:
        self.end = end

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            os.write(self.end, f"{report.nodeid}\n".encode())

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            os.write(self.end, f"{report.nodeid}: not collected\n".encode())


def killer(number: int | None, tests: list[str]) -> str | None:
    """The first of the tests that fails with a mutant, or with none; None if all pass."""
    seconds = PATIENCE[tests is FAST]
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        with contextlib.suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            os.chdir(ROOT)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
            if number is not None:
                sys.meta_path.insert(0, Finder(number))
            command = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:xdist", "-m", "not slow", *tests]
            code = importlib.import_module("pytest").main(command, plugins=[First(theirs)])
            module = sys.modules.get("zofw")
            if module is None or not module.__file__.startswith(str(SOURCE)):
                code = 71
        os._exit(int(code))
    os.close(theirs)
    with os.fdopen(ours) as lines:
        failed = lines.read().splitlines()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        return None
    if code < 0:
        return f"signal {-code}: more than {seconds} s of processor time, or a crash"
    if not failed:
        raise SystemExit(f"pytest ended with {code} on mutant {number} and {tests}, without a failing test.")
    return failed[0]


def tree() -> str:
    """What the verdicts are about: a digest of every file that could change them."""
    digest = hashlib.sha256((ROOT / "Makefile").read_bytes() + (ROOT / "pyproject.toml").read_bytes())
    for path in sorted(p for room in ("src", "tests") for p in (ROOT / room).rglob("*") if p.is_file()):
        if "__pycache__" not in path.parts and path.parent != HERE:
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def attempt(number: int, last: str | None) -> str | None:
    """The test that kills a mutant, or None if the fast suite does not notice it."""
    if last and "::" in last and last.startswith("tests/") and (ROOT / last.partition("::")[0]).exists():
        with contextlib.suppress(SystemExit):  # a test that is no more
            if found := killer(number, [last]):
                return found
    return killer(number, likely(MUTANTS[number][0])) or killer(number, FAST)


def main(numbers: list[int]) -> int:
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    now = tree()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    survivors, killers = [], set()
    for number in numbers:
        name = "{}: {} -> {}".format(*MUTANTS[number])
        begun, last = time.monotonic(), kept.get(name, {})
        found = last["killer"] if last.get("tree") == now else attempt(number, last.get("killer"))
        kept[name] = {"tree": now, "killer": found}
        KEPT.write_text(json.dumps(kept, indent=1))
        if found is None:
            survivors.append(number)
        else:
            killers.add(found)
        verdict = f"killed by {found}" if found else "SURVIVED"
        sys.stdout.write(f"{number:3d}  {name}\n     {verdict}, {time.monotonic() - begun:.0f} s\n")
        sys.stdout.flush()
    innocent = sorted({test for test in killers if "::" in test})
    if innocent and (wrong := killer(None, innocent)):
        sys.stdout.write(f"{wrong} fails without a mutant: what it killed proves nothing\n")
        return 1
    killed = 1.0 - len(survivors) / len(numbers)
    names = "; ".join(f"{number} {MUTANTS[number][0]}" for number in survivors) or "none"
    sys.stdout.write(
        f"{len(numbers) - len(survivors)} of {len(numbers)} killed, {killed:.0%}; survivors: {names}\n"
    )
    return int(killed < LEAST)


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]] or list(range(len(MUTANTS)))))
