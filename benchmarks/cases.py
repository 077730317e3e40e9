"""The cases: what zofw does, beside what its transcription does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

import zofw
from benchmarks import transcription
from zofw.problems import Logistic, evaluate
from zofw_paper.data import load

LAWS = {
    "Rademacher": zofw.directions.Rademacher(),
    "Gaussian": zofw.directions.Gaussian(),
}
MU = 1e-4
RADIUS = 10.0


@lru_cache(maxsize=1)
def samples(name):
    """Z and y of a data set."""
    return load(name)


def signed(name):
    """The rows y_i z_i of a logistic problem."""
    Z, y = samples(name)
    return sp.csr_array(Z.multiply(y[:, None]))


def start(dim):
    """A point inside the ball without zeros, where both sides begin.

    From 0 the first iterates stay on one or two coordinates, which few rows of sparse data have: differences of slopes are then
    exactly zero, and there is nothing to combine.
    """
    x = np.random.default_rng(0).standard_normal(dim)
    return 0.5 * RADIUS * x / np.abs(x).sum()


@dataclass
class Ours:
    """A run of zofw one iteration at a time."""

    problem: object
    method: object
    session: object = field(default=None, repr=False)

    def __post_init__(self):
        self.session = zofw.Session(
            zofw.L1Ball(RADIUS),
            dim=self.problem.dim,
            n=self.problem.n,
            method=self.method,
            rng=0,
            max_iter=10**9,
            diagnose=0,
            x0=start(self.problem.dim),
        )

    def __call__(self):
        done = self.session.nit
        while self.session.nit == done:
            query = self.session.ask()
            self.session.tell(query, evaluate(self.problem, query))

    def check_work(self, tries=5):
        """Refuse a measurement of iterations that had nothing to do: most of a few more must change most of the estimate."""
        changed = 0
        for _ in range(tries if hasattr(self.session.state, "g") else 0):
            before = self.session.state.g
            self()
            changed += 2 * np.count_nonzero(self.session.state.g != before) > len(before)
        if hasattr(self.session.state, "g") and 2 * changed <= tries:
            raise AssertionError(
                f"Of {tries} iterations {changed} changed most entries of the estimate; the others found differences of exactly "
                "zero and combined no directions. Such iterations are no measure: start the run elsewhere."
            )

    def share(self, iterations):
        """Part of the time of a few more iterations that is spent in the oracle."""
        begin, oracle, last = time.perf_counter(), 0.0, self.session.nit + iterations
        while self.session.nit < last:
            query = self.session.ask()
            asked = time.perf_counter()
            answer = evaluate(self.problem, query)
            oracle += time.perf_counter() - asked
            self.session.tell(query, answer)
        return oracle / (time.perf_counter() - begin)


def dvr(b, law, refresh):
    """ZSFW-DVR that only refreshes or never does."""
    p = 1.0 if refresh else 1e-15
    return zofw.ZSFWDVR(
        batch_size=200, directions=b, refresh_probability=p, radius=MU, law=law, initial="zero"
    )


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    data: str
    least: float
    b: int = 0
    law: str = "Rademacher"
    refresh: bool = False
    method: str = "zsfw-dvr"
    rounds: int = 15
    repeats: tuple[int, int] = (1, 1)
    memory: float | None = None

    def ours(self):
        """zofw's side."""
        problem = Logistic(*samples(self.data))
        if self.method == "zsfw-dvr":
            return Ours(problem, dvr(self.b, LAWS[self.law], self.refresh))
        if self.method == "zo-fw":
            return Ours(problem, zofw.papers.ZOFW(radius=MU))
        return Ours(problem, zofw.papers.AccSZOFW(step_size=0.01, radius=MU))

    def theirs(self):
        """The transcription's side."""
        A, loss = signed(self.data), transcription.logistic
        if self.method == "zsfw-dvr":
            other = transcription.ZSFWDVR(A, loss, batch_size=200, directions=self.b, mu=MU, radius=RADIUS)
            other.x = other.before = start(A.shape[1])
            return lambda: other.step(self.refresh)
        if self.method == "zo-fw":
            return transcription.ZOFW(A, loss, mu=MU, radius=RADIUS).step
        epoch = int(np.ceil(np.sqrt(A.shape[0])))
        return transcription.AccSZOFW(A, loss, epoch=epoch, mu=MU, eta=0.01, radius=RADIUS).step


CASES = [
    Case("rcv1 difference, Rademacher", "rcv1-subsets", 25.0, 400, memory=10.0),
    Case("rcv1 difference, Gaussian", "rcv1-subsets", 5.0, 400, "Gaussian"),
    Case("rcv1 refresh, Rademacher", "rcv1-subsets", 4.0, 400, refresh=True, rounds=5),
    Case("rcv1 refresh, Gaussian", "rcv1-subsets", 4.0, 400, "Gaussian", refresh=True, rounds=5),
    Case("a9a iteration, Rademacher", "a9a", 4.0, 20, repeats=(400, 400), rounds=15),
    Case("a9a iteration, Gaussian", "a9a", 4.0, 20, "Gaussian", repeats=(400, 400), rounds=15),
    Case("w8a iteration, Rademacher", "w8a", 4.0, 30, repeats=(400, 400), rounds=15),
    Case("w8a iteration, Gaussian", "w8a", 4.0, 30, "Gaussian", repeats=(400, 400), rounds=15),
    Case("w8a zo-fw gradient", "w8a", 4.0, method="zo-fw", rounds=5),
    Case("a9a acc-szofw epoch", "a9a", 4.0, method="acc-szofw", repeats=(181, 181), rounds=5),
]
