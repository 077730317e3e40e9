"""One iteration of a run: begun, brought back to where it was, rehearsed."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from zofw.core import Answer, Info, Query, State, Task
from zofw.run.record.run import Iteration, Known, Run
from zofw.run.session.known import learn
from zofw.run.session.seeds import Stream

REHEARSED_QUERIES = 10_000  # a rehearsal that asks more than this is stopped

Ended = tuple[State, Info] | Known
Steps = Generator[Query, Answer, tuple[State, Info]] | Generator[Query, Answer, Known]


class Iterations:
    """The generators of a run's iterations, each with what its method sees of the budget."""

    def __init__(self, run: Run, task: Task) -> None:
        self.run, self.task = run, task
        self.stream = Stream(run.entropy)

    def begin(self) -> tuple[Steps, Iteration]:
        """The coming iteration: a step of the method or, where the run is closing, the queries about f at x."""
        run, task = self.run, self.task
        task.lmos, task.paid, task.budget = 0, run.nfev, run.granted
        return self._steps(), Iteration(paid=task.paid, budget=task.budget)

    def again(self, iteration: Iteration) -> Steps:
        """An iteration brought to where it was before the last of the answers it has had."""
        task = self.task
        task.lmos, task.paid, task.budget = 0, iteration.paid, iteration.budget
        steps = self._steps()
        query = next(steps)
        for answer in iteration.answers[:-1]:
            task.paid += query.cost
            query = steps.send(answer)
        task.paid += query.cost
        return steps

    def _steps(self) -> Steps:
        run = self.run
        if run.closing is not None:
            return learn(run, self.stream)
        steps: Steps = run.method.step(self.task, run.state, self.stream.at(run.nit, run.redraws))
        return steps

    def rehearse(self) -> int:
        """Cost of the coming iteration, asked of a copy that is told zeros; nothing is evaluated."""
        task, cost = self.task, 0
        lmos, task.paid, task.budget = task.lmos, self.run.nfev, self.run.granted
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
