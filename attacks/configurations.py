"""Random configurations of a whole run, each compared with everything that is promised of it.

    python -m attacks.configurations --count 10000 --out configurations.jsonl     # resumable
    python -m attacks.configurations --number 123                                  # one of them again, in words

A configuration is a seed and a number: method, set, sizes, function, budget, executor, on_error, timeout, interruption and
resumption, inside, resolution, known points, diagnosis. The components are written here, so that their values, minimum and
Frank-Wolfe gap are known without the library.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import zofw
from attacks import Finding, until
from attacks.functions import KINDS, Function, Own
from attacks.victim import METHODS, differences, killed
from zofw.sets import as_set

OF = "random configurations: see attacks/configurations.py"
PROMISES = {
    "ends": "Every run ends with a result, or with an error that names what failed",
    "budget": "The budget is never exceeded, and `nfev` is the number of calls",
    "members": "x is a member; with `inside=True` every evaluated point is",
    "bits": "Executors, interruptions and resumptions change no bit",
    "best": "No point of the set that was paid for whole, or known, is lower than x",
    "fun": "`fun` is f(x)",
    "status": "The status is true",
    "converged": "CONVERGED bounds the true gap, where f is convex",
    "failures": "No failed evaluation is bought twice, and no run dies of it",
}
SECONDS = 120  # of processor time of one configuration: more of it is a run that hangs
SLOW = 4  # one configuration in so many may have a pool or a time-out, which wait for threads
QUICK = 100  # evaluations that a killed process may pay again: as many as take 0.1 ms
DEFAULTS = ("explore-correct", "interpolation", "ridge-newton", "auto")


class Late(BaseException):
    """A configuration that does not end."""


def regions(rng: np.random.Generator, dim: int) -> Any:
    """A set of one of fourteen kinds, of any size."""
    r = float(10 ** rng.uniform(-1, 1))
    V = r * rng.standard_normal((dim + 3, dim))
    half = max(dim // 2, 1)
    kinds: list[Callable[[], Any]] = [
        lambda: zofw.L1Ball(r), lambda: zofw.L2Ball(r), zofw.Simplex, lambda: zofw.Box(-r, 2 * r), lambda: zofw.LinfBall(r),
        lambda: zofw.Box(-r * rng.random(dim) - 0.01, r * rng.random(dim) + 0.01), lambda: zofw.CappedSimplex(1.0, 0.8),
        lambda: zofw.KSparse(min(2, dim), r), lambda: zofw.LpBall(r, 3.0), lambda: zofw.ConvexHull(V),
        lambda: Own(zofw.ConvexHull(V)), lambda: zofw.Polytope(A_ub=np.ones((1, dim)), b_ub=[1.5 * r], bounds=(0.0, r)),
        lambda: zofw.GroupBall([list(range(half)), list(range(half, dim))], r),
        lambda: zofw.Product((zofw.L1Ball(r), zofw.Simplex()), (half, dim - half)),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]()


@dataclass
class Configuration:
    """What is drawn for one run; everything else follows from the seed and the number."""

    seed: int
    number: int
    method: str = ""
    n: int = 1
    dim: int = 2
    kind: str = ""
    budget: int = 1
    workers: int = 0
    spelt: str = ""
    vectorized: bool = False
    failing: str = ""
    share: float = 0.0
    on_error: str = "raise"
    timeout: float | None = None
    interruption: str = ""
    at: int = 0
    checkpoint: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = self.rng
        self.method = str(rng.choice(DEFAULTS if rng.random() < 0.4 else METHODS))
        self.n, self.dim = int(rng.choice([1, 1, 1, 2, 7, 30])), int(rng.integers(2, 9))
        self.kind = str(rng.choice(list(KINDS)))
        self.budget = int(10 ** rng.uniform(0.5, 2.2) * (self.n + self.dim))
        self.workers = int(rng.choice([0, 0, 0, 1, 3]))
        self.vectorized = bool(rng.random() < 0.2)
        self.timeout = 60.0 if rng.random() < 0.15 else None
        self.options = {"rng": int(rng.integers(1000)), "inside": bool(rng.random() < 0.4)}
        if rng.random() < 0.25:
            self.failing = str(rng.choice(["raises", "nan", "inf", "once"]))
            self.share = float(rng.choice([0.01, 0.1, 0.25]))
            self.on_error = str(rng.choice(["raise", "skip", "retry"]))
        elif rng.random() < 0.35:
            self.interruption = str(rng.choice(["signal", "death"]))
        self.at = int(rng.integers(1, max(2, self.budget)))
        self.checkpoint = bool(self.interruption) or self.failing == "once" or bool(rng.random() < 0.2)
        if rng.random() < 0.2:
            self.options["resolution"] = float(10 ** rng.uniform(-4, -1))
        if rng.random() < 0.3:
            self.options["diagnose"] = int(rng.choice([0, 3]))
        if rng.random() < 0.2:
            self.options["max_iter"] = int(rng.integers(1, 30))
        self._known, self._start = bool(rng.random() < 0.15), bool(rng.random() < 0.2)
        if self.number % SLOW != 2:
            self.workers, self.timeout = 0, None
        self.spelt = str(rng.choice(["workers", "executor"])) if self.workers else ""

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.number])

    @cached_property
    def region(self) -> Any:
        return regions(np.random.default_rng([self.seed, self.number, 1]), self.dim)

    @cached_property
    def members(self) -> np.ndarray:
        """Forty points of the set: mixtures of three vertices each."""
        rng, lmo = np.random.default_rng([self.seed, self.number, 2]), as_set(self.region).lmo
        vertices = np.array([lmo(rng.standard_normal(self.dim)) for _ in range(12)])
        return np.array([rng.dirichlet(np.ones(3)) @ vertices[rng.integers(12, size=3)] for _ in range(40)])

    def function(self) -> Function:
        """Components that write down every call."""
        rng = np.random.default_rng([self.seed, self.number, 3])
        start = self.members[7] if self._start else as_set(self.region).initial_point(self.dim)
        return Function(self.kind, self.n, self.members, rng, self.failing, self.share, start)

    @cached_property
    def given(self) -> dict[str, Any]:
        """Keywords of `minimize`."""
        retry = zofw.Retry(1, backoff=0.0)
        given = self.options | {"method": self.method, "budget": self.budget, "timeout": self.timeout}
        given["on_error"] = {"raise": "raise", "skip": "skip", "retry": retry}[self.on_error]
        if self._known:
            f = self.function()
            given["known"] = (self.members[:5], [f.mean(x) for x in self.members[:5]])
        elif self._start:
            given["x0"] = self.members[7]
        return given

    def __str__(self) -> str:
        drawn = {one.name: getattr(self, one.name) for one in fields(self)}
        return ", ".join(f"{name}={value!r}" for name, value in drawn.items() if value not in ("", 0, None))


@dataclass
class Trial:
    """A configuration, run to its end, and the promises that it broke."""

    of: Configuration
    broken: list[tuple[str, str]] = field(default_factory=list)
    ended: str = ""
    why: str = ""

    def hold(self, promise: str, holds: bool, what: str | Callable[[], str]) -> None:
        if not holds:
            self.broken.append((promise, what if isinstance(what, str) else what()))

    def run(self) -> Trial:
        """Run it, and compare what came out with what is promised."""
        f = self.of.function()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), patience():
                warnings.simplefilter("ignore")
                result = self.solve(f)
                if result is not None:
                    self.ended = result.status.name
                    self.judge(f, result)
        except Late:
            self.ended = "hangs"
            self.broken.append(("ends", f"it takes more than {SECONDS} s, after {f.calls} calls"))
        except Exception as error:
            self.ended = type(error).__name__
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            self.broken.append(("ends", f"{type(error).__name__} {error} at {place}, {f.calls} calls"))
        return self

    def solve(self, f: Function) -> zofw.Result | None:
        """The result, after interruptions and resumptions; None for a refusal, or for an error as it should be."""
        of = self.of
        with tempfile.TemporaryDirectory() as folder, pool(of.workers) as executor:
            given = of.given | ({of.spelt: executor} if executor else {})
            if of.checkpoint:
                given |= {"checkpoint": Path(folder) / "run.npz", "resume": "auto"}
            try:
                if of.interruption:
                    self.interrupt(f, given)
                return zofw.minimize(f.problem(of.vectorized), of.region, **given)
            except (zofw.BudgetError, ValueError, TypeError) as error:
                if isinstance(error, zofw.FileError):
                    raise
                self.ended = "refused"
                self.why = str(error)
                allowed = QUICK if of.interruption == "death" else 0
                self.hold("ends", f.calls <= allowed, f"{f.calls} calls before «{error}»")
                return None
            except zofw.EvaluationError as error:
                alive = of.on_error == "skip" and not of.vectorized and bool(f.parts)
                self.hold("ends", bool(of.failing) and not alive, f"«{error}»")
                if of.failing != "once" or not of.checkpoint:
                    self.ended = "EvaluationError"
                    diagnosed = (
                        f.n * f.calls if of.options.get("diagnose") == 3 else 0
                    )  # which is not charged
                    least = of.budget if of.vectorized else min(f.calls, of.budget)  # a tile is charged whole
                    exact = (error.paid or 0) <= least and f.calls <= of.budget + diagnosed
                    self.hold("budget", exact, f"{f.calls} calls, {error.paid} paid")
                    return None
            return zofw.minimize(f.problem(of.vectorized), of.region, **given)

    def interrupt(self, f: Function, given: dict[str, Any]) -> None:
        """The beginning of the run: until a signal, or a death of the process, at one of its calls."""
        of = self.of
        if of.interruption == "signal":
            f.at[of.at] = lambda: signal.raise_signal(signal.SIGINT)
            before = signal.signal(signal.SIGINT, lambda number, frame: None)  # the program goes on
            try:
                zofw.minimize(f.problem(of.vectorized), of.region, **given)
            finally:
                signal.signal(signal.SIGINT, before)
                f.at.clear()
        elif not of.workers:
            with killed(given["checkpoint"]) as die:
                f.at[of.at] = die
                zofw.minimize(f.problem(of.vectorized), of.region, **given)
            f.at.clear()

    def judge(self, f: Function, result: zofw.Result) -> None:
        of = self.of
        paid, again = (
            result.nfev + result.ndiagnosis,
            QUICK * (1 + of.vectorized) * (of.interruption == "death"),
        )
        tiles = of.vectorized and bool(of.failing)  # a tile that fails is charged whole
        self.hold(
            "budget",
            f.calls <= paid + again
            and (paid <= f.calls or tiles)
            and sum(result.ledger.values()) == result.nfev <= of.budget,
            lambda: (
                f"{f.calls} calls, nfev {result.nfev}, {result.ndiagnosis} diagnosed, ledger {result.ledger}"
            ),
        )
        region = as_set(getattr(of.region, "hull", of.region))
        for name, x in (("x", result.x), ("last", result.last)):
            self.hold("members", region.contains(x, 1e-9), lambda name=name, x=x: f"{name} = {x} is outside")
        if of.options["inside"]:
            out = [x for x in f.points if not region.contains(x, 1e-9)]
            self.hold("members", not out, lambda: f"{len(out)} of {len(f.points)} outside, as {out[0]}")
        self.statuses(f, result)
        self.compare(f, result)
        if of.failing:
            self.failures(f, result)
        elif (of.interruption or of.workers) and not (of.workers > 1 and of.spelt == "workers" and of.n == 1):
            self.bits(result)  # values that are used as they come need not come in the same order twice

    def statuses(self, f: Function, result: zofw.Result) -> None:
        of, status = self.of, result.status
        true = {
            "MAX_ITER": result.nit == of.options.get("max_iter"),
            "CONVERGED": result.success,
            "BUDGET": result.nfev > 0,
            "STALLED": True,
            "INTERRUPTED": of.on_error == "skip" and "evaluations failed" in result.message,
        }
        self.hold(
            "status", true.get(status.name, False), lambda: f"{status.name} after {result.nit} iterations"
        )
        self.hold("status", result.success == (status.name == "CONVERGED"), lambda: f"success, {status.name}")
        gap = f.gap(of.region, result.x)
        if status.name == "CONVERGED" and gap is not None:
            stated = result.trace["bound"] if "bound" in result.trace.names else []
            start = f.gap(of.region, as_set(of.region).initial_point(of.dim))
            bound = float(stated[-1]) if len(stated) else max(1e-6 * start, 1e-300)
            slack = 1e-9 * (abs(bound) + 1e-3 * abs(f.mean(result.x)) + 1e-3 * start)
            self.hold(
                "converged", gap <= bound + slack, lambda: f"a gap of {gap:.3g}, where {bound:.3g} is stated"
            )

    def compare(self, f: Function, result: zofw.Result) -> None:
        """f at x with the value that is stated, and with every value of a whole sum that was paid for, or known."""
        of, region, here = self.of, as_set(self.of.region), f.mean(result.x)
        scale = 1e-9 * (abs(here) + max(abs(f.mean(x)) for x in of.members))
        exact = not np.isnan(result.fun) and (not result.fun_error or np.isnan(result.fun_error))
        sampled = "fun is the mean of" in result.message
        if exact and not sampled:
            self.hold(
                "fun", abs(result.fun - here) <= scale, lambda: f"fun {result.fun:.9g}, f(x) {here:.9g}"
            )
        if result.status.name == "CONVERGED":
            return  # within a bound, which is compared
        own = isinstance(of.region, Own)  # whose members the library does not know
        alone, apart = f.n == 1, of.vectorized or of.workers
        whole = {} if own else f.whole if alone else {} if apart else f.together
        paid = [(v, x) for x, v in whole.items() if region.contains(np.frombuffer(x), 1e-9)]
        paid += [(v, np.asarray(x).tobytes()) for x, v in zip(*of.given.get("known", ((), ())), strict=True)]
        unknown = np.isnan(result.fun) and not (alone and of.options.get("diagnose") != 0)
        unknown |= sampled and np.isnan(result.fun_error)  # then none is known to be lower
        if paid and not unknown:
            least, at = min(paid)
            self.hold(
                "best", here <= least + scale + 6 * sampled * result.fun_error,
                lambda: f"f(x) = {here:.9g}, and {least:.9g} is known of {np.frombuffer(at)}",
            )  # fmt: skip

    def failures(self, f: Function, result: zofw.Result) -> None:
        most = 2 if self.of.on_error == "retry" else 1  # a failure that passes is not one of a point
        worst = max(f.failed.values(), default=0)
        if not self.of.vectorized:
            self.hold("failures", worst <= most, f"one failing evaluation was bought {worst} times")
        alive = np.isfinite(result.fun) or not f.whole or self.of.options.get("diagnose") == 0
        self.hold("failures", alive, lambda: f"fun is {result.fun} after {result.nfev} evaluations")

    def bits(self, result: zofw.Result) -> None:
        """The same as undisturbed, and as in one process where the method does not ask for as many points as there are workers."""
        of = self.of
        with pool(of.workers if of.spelt == "workers" else 0) as executor:
            given = of.given | ({"workers": executor} if executor else {})
            whole = zofw.minimize(of.function().problem(of.vectorized), of.region, **given)
        other = differences(result, whole)
        self.hold("bits", not other, lambda: f"other than undisturbed: {other}")


class patience:
    """An alarm for what does not end."""

    def __enter__(self) -> None:
        def late(number: int, frame: object) -> None:
            raise Late

        self.before = [signal.signal(number, late) for number in (signal.SIGALRM, signal.SIGPROF)]
        signal.alarm(10 * SECONDS)  # waits too, on a busy machine
        signal.setitimer(signal.ITIMER_PROF, SECONDS)

    def __exit__(self, *error: object) -> None:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        for number, handler in zip((signal.SIGALRM, signal.SIGPROF), self.before, strict=True):
            signal.signal(number, handler)


class pool:
    """Threads, or None for no workers."""

    def __init__(self, workers: int) -> None:
        self.threads = ThreadPoolExecutor(workers) if workers else None

    def __enter__(self) -> Executor | None:
        return self.threads

    def __exit__(self, *error: object) -> None:
        if self.threads is not None:
            self.threads.shutdown()


def attack(seconds: float, rng: np.random.Generator) -> list[Finding]:
    """The short form, for the table of all attacks."""
    found = {name: Finding(promise, OF) for name, promise in PROMISES.items()}
    seed = int(rng.integers(2**31))
    for number in until(seconds):
        count(found, Trial(Configuration(seed, number)).run())
    return list(found.values())


def count(found: dict[str, Finding], trial: Trial) -> None:
    broken = dict(trial.broken)
    for name, finding in found.items():
        finding.check(
            name not in broken, f"--seed {trial.of.seed} --number {trial.of.number}: {broken.get(name)}"
        )


def rows(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text().splitlines() if path.exists() else ())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="only this one")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("configurations.jsonl"))
    chosen = parser.parse_args()
    if chosen.number is not None:
        trial = Trial(Configuration(chosen.seed, chosen.number)).run()
        print(
            trial.of, trial.of.region, trial.ended, *(f"BROKEN {p}: {w}" for p, w in trial.broken), sep="\n"
        )
        return int(bool(trial.broken))
    done = {row["number"] for row in rows(chosen.out) if row["seed"] == chosen.seed}
    with chosen.out.open("a") as file:
        for number in range(chosen.first, chosen.first + chosen.count):
            if number not in done:
                trial = Trial(Configuration(chosen.seed, number)).run()
                row = {
                    "seed": chosen.seed,
                    "number": number,
                    "method": trial.of.method,
                    "ended": trial.ended,
                    "why": trial.why[:200],
                }
                file.write(json.dumps(row | {"broken": trial.broken}) + "\n")
                file.flush()
    every = list(rows(chosen.out))
    print(Counter(row["ended"] for row in every))
    print(Counter(name for row in every for name in dict(row["broken"])), f"of {len(every)}")
    return int(any(row["broken"] for row in every))


if __name__ == "__main__":
    sys.exit(main())
