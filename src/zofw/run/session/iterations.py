"""Iterations as generators of queries: how one is priced, begun, and brought back from its answers.

An iteration is a pure function of the state before it, its random numbers and its answers. The random
numbers derive from (seed, iteration).
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TypeAlias

import numpy as np

from zofw.core import Answer, Info, OutOfBudget, Query, State, Task, offers
from zofw.run.record.run import BudgetError, Iteration, Known, Run
from zofw.run.session.random_streams import Stream
from zofw.run.session.stated import check_first
from zofw.run.session.stopping import learn, least_budget

LAST = 0xFFFFFFFF  # the redraw whose random numbers draw a sample for f at the end
NEAR_THE_END = 4  # rehearse an iteration if fewer than this many of the dearest so far can be paid
REHEARSED_QUERIES = 10_000  # a rehearsal that asks more than this is stopped

StepEnd: TypeAlias = tuple[State, Info] | Known
MethodSteps: TypeAlias = Generator[Query, Answer, tuple[State, Info]]
Steps: TypeAlias = MethodSteps | Generator[Query, Answer, Known]


class Iterations:
    """The iterations of one run, each a step of its method or, at the end, the queries about f at x."""

    def __init__(self, run: Run, task: Task) -> None:
        self.run, self.task = run, task
        self._stream = Stream(run.entropy)

    def begin(self) -> Steps:
        """Return the coming iteration, or raise OutOfBudget if it cannot be paid."""
        run = self.run
        paid, granted, closing = run.nfev + len(run.pending), run.granted, run.closing is not None
        self.task.workers = run.workers
        if granted is not None and not closing:
            left = granted - paid
            if left < NEAR_THE_END * run.dearest or run.nit == 0:
                try:
                    self._afford(left)
                except OutOfBudget:
                    if not run.release():
                        raise
                    granted = run.granted
                    self._afford(left + run.reserve)
        iteration = run.learning if closing else run.open
        iteration.paid, iteration.budget, iteration.failures = paid, granted, len(run.failures)
        iteration.workers = run.workers
        self._show(iteration)
        return self._steps()

    def rebuild(self, iteration: Iteration) -> Steps:
        """Return an iteration as it was before the last of its answers."""
        self._show(iteration)
        steps = self._steps()
        query = next(steps)
        for answer in iteration.answers[:-1]:
            self.task.paid += query.cost
            query = steps.send(answer)
        self.task.paid += query.cost
        return steps

    def _show(self, iteration: Iteration) -> None:
        """Put what an iteration may see of the run into its task."""
        task, failures = self.task, self.run.failures
        task.lmos, task.paid, task.budget = 0, iteration.paid, iteration.budget
        task.workers = iteration.workers
        if len(task.failed) != iteration.failures:
            task.failed = tuple((one.x, one.component) for one in failures[: iteration.failures])

    def _afford(self, left: float) -> None:
        """Raise OutOfBudget if the iteration, by its stated price or by a rehearsal, costs more than is left."""
        run = self.run
        if run.nit and offers(run.method, "most") and run.method.most(self.task, run.state) <= left:
            return
        least = self.rehearse()
        if least <= left:
            return
        if run.nit == run.nfev == 0:
            needed = least_budget(run.n, least) if run.reserve else least
            sized = not {"batch_size", "directions"}.isdisjoint(vars(run.method))
            raise BudgetError(run.limits.budget or 0, needed, needed - least, run.method.name, sized)
        raise OutOfBudget

    def rehearse(self) -> int:
        """Return the price of the coming iteration, asked of a copy that receives zeros."""
        task, cost = self.task, 0
        run = self.run
        lmos, task.paid, task.budget = task.lmos, run.nfev + len(run.pending), run.granted
        steps = self._steps()
        try:
            with np.errstate(all="ignore"):
                query = next(steps)
                for _ in range(REHEARSED_QUERIES):
                    cost += query.cost
                    task.paid += query.cost
                    spread = np.zeros((len(query.anchors), query.count)) if query.variance else None
                    query = steps.send(Answer(np.zeros((len(query.anchors), query.width)), spread))
        except StopIteration:
            pass
        finally:
            steps.close()
            task.lmos = lmos
        return cost

    def _steps(self) -> Steps:
        run = self.run
        if run.closing is not None:
            return learn(run, lambda: self._stream.at(run.nit, LAST), self.task.set)

        task, rng = self.task, self._stream.at(run.nit, run.redraws)
        stated, step = run.stated, run.method.step
        if run.nit or stated is None:
            begun: MethodSteps = step(task, run.state, rng)
            return begun
        without = partial(run.method.init, task, stated.x)
        return check_first(stated, run.n, run.state, without, lambda state: step(task, state, rng))
