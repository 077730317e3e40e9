"""Shared pieces of the suite: real data where it is, and small problems with known answers."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import zofw
from zofw.problems import BlackBox
from zofw.storage import write_whole

if os.name != "posix":  # files that kill, fork or limit processes, which only POSIX systems can
    NEEDS = re.compile(r"\bimport resource\b|os\.fork|SIGKILL|\bkillable\b|geteuid|killpg")
    HERE = Path(__file__).parent
    collect_ignore = [
        str(path) for path in HERE.rglob("*.py") if NEEDS.search(path.read_text(encoding="utf-8"))
    ]


def settle_art(home: Path) -> Path:
    """Write the file that ART writes at its first import, at once: two processes of the suite may import it together."""
    folder = (home if os.access(home, os.W_OK) else Path("/tmp")) / ".art"
    path, content = folder / "config.json", json.dumps({"ART_DATA_PATH": str(folder / "data")})
    with suppress(OSError):  # ART then does without
        if not path.exists():
            write_whole(path, lambda stream: stream.write(content.encode()))
    return path


settle_art(Path(os.path.expanduser("~")))

FUZZ = int(os.environ.get("ZOFW_FUZZ", "0"))
"""How many times more examples than in the suite, drawn at random; 0 in the suite, whose examples are always the same."""

settings.register_profile("suite", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "fuzz",
    max_examples=100 * max(1, FUZZ),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fuzz" if FUZZ else "suite")


@pytest.fixture(autouse=True)
def kernels_by_environment(monkeypatch):
    """Tests change ZOFW_KERNELS under way, which a process otherwise reads once."""
    monkeypatch.setattr(zofw.kernels, "choice", zofw.kernels.choice.__wrapped__)
    monkeypatch.setattr(zofw.kernels, "settle", lambda found: None)
    monkeypatch.setattr(zofw.kernels, "settled", None)


@dataclass(frozen=True)
class Still:
    """A method that never moves; one that is made of it says what it asks."""

    name = "still"

    @dataclass(frozen=True)
    class State:
        t: int
        x: np.ndarray

    def init(self, task, x0):
        return self.State(0, x0)


def examples(count: int) -> settings:
    """So many examples of a property in the suite, and more of them where we fuzz."""
    return settings(max_examples=count * max(1, FUZZ), suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder named by ZOFW_DATA, or a skip that says so."""
    folder = os.environ.get("ZOFW_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("ZOFW_DATA does not name a folder with the real data sets")
    return Path(folder)


def quadratic_sum(n: int = 7, dim: int = 6, seed: int = 0) -> BlackBox:
    """(1/n) Σ ½‖A_i x − y_i‖²/rows, vectorised, with smooth and different components."""
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((n, 3, dim)), rng.standard_normal((n, 3))

    def values(X: np.ndarray, batch: np.ndarray) -> np.ndarray:
        residual = np.einsum("sij,mj->msi", A[batch], X) - y[batch]
        return 0.5 * (residual**2).mean(axis=2)

    return BlackBox(values, dim=dim, n=n, vectorized=True)


def small_set(name: str, dim: int) -> object:
    """An instance of every registered set that lives in the given dimension (a perfect square for matrix sets)."""
    side = round(dim**0.5)
    rng = np.random.default_rng(1)
    build = {
        "box": lambda: zofw.Box(-np.ones(dim), 2 * np.ones(dim)),
        "capped-simplex": lambda: zofw.CappedSimplex(2.0, 1.0),
        "k-sparse": lambda: zofw.KSparse(2, 1.0),
        "group-ball": lambda: zofw.GroupBall([list(range(dim // 2)), list(range(dim // 2, dim))], 1.5),
        "nuclear-ball": lambda: zofw.NuclearBall(2.0, (side, side)),
        "spectral-ball": lambda: zofw.SpectralBall(2.0, (side, side)),
        "spectraplex": lambda: zofw.Spectraplex(side),
        "birkhoff": lambda: zofw.Birkhoff(side),
        "convex-hull": lambda: zofw.ConvexHull(rng.standard_normal((dim + 3, dim))),
        "polytope": lambda: zofw.Polytope(A_ub=np.ones((1, dim)), b_ub=[1.5], bounds=(0.0, 1.0)),
        "product": lambda: zofw.Product((zofw.L1Ball(1.0), zofw.L2Ball(1.0)), (dim // 2, dim - dim // 2)),
        "lp-ball": lambda: zofw.LpBall(1.5, 3.0),
        "simplex": lambda: zofw.Simplex(),
    }
    return build[name]() if name in build else zofw.sets()[name](1.5)


def ended_by_signal(run):
    """Return the result of a run that a signal ends, and that then ends the script."""
    with pytest.raises((KeyboardInterrupt, SystemExit)) as stop:
        run()
    return stop.value.result
