"""``python -m benchmarks.clock``: time to a gap on a simulated clock, with durations of evaluations that vary.

Durations are log-normal with mean 1; the 90 % quantile is ``--factor`` times the 10 % quantile. A run in order waits for all points
of a round; one that is not uses every value as it comes. Reported are medians of the time of one worker over that of W, and of the
time over busy time / W.
"""

from __future__ import annotations

import argparse
import heapq
import math

import numpy as np

import zofw
from benchmarks.planted import Instance
from benchmarks.rounds import GAPS, MOST, NOISY_GAPS, cells
from zofw.core import Answer, Late, Task


class Clock:
    """W workers that take points in order, and a heap of the ends of evaluations."""

    def __init__(self, instance: Instance, workers: int, factor: float) -> None:
        self.problem, self.free, self.now, self.busy = instance.build(), workers, 0.0, 0.0
        self.rng = np.random.default_rng(instance.seed + workers)
        self.sigma = math.log(factor) / (2 * 1.2816)
        self.waiting: list[tuple[int, int, np.ndarray]] = []
        self.running: list[tuple[float, int, int, np.ndarray]] = []
        self.number = 0
        self.gaps = NOISY_GAPS if instance.noise else GAPS
        self.noise = instance.noise * self.problem.scale
        self.reached: list[float | None] = [None] * len(self.gaps)
        self.evaluations = 0

    def duration(self) -> float:
        return float(np.exp(self.sigma * self.rng.standard_normal() - self.sigma**2 / 2))

    def start(self) -> None:
        while self.waiting and self.free:
            query, row, x = self.waiting.pop(0)
            seconds = self.duration()
            self.busy += seconds
            self.free -= 1
            heapq.heappush(self.running, (self.now + seconds, query, row, x))

    def next(self) -> tuple[int, int, float]:
        """The next value that comes."""
        self.now, query, row, x = heapq.heappop(self.running)
        self.free += 1
        self.evaluations += 1
        self.start()
        if not self.noise:
            self.note(self.problem.gap(x))
        return query, row, self.problem(x) + self.noise * self.rng.standard_normal()

    def note(self, gap: float) -> None:
        for k, goal in enumerate(self.gaps):
            if self.reached[k] is None and gap <= goal:
                self.reached[k] = self.now

    def answer(self, query) -> Answer:
        self.number += 1
        values, late, come = np.full(len(query.anchors), np.nan), [], 0
        self.waiting += [(self.number, row, np.array(x)) for row, x in enumerate(query.anchors)]
        self.start()
        while np.isnan(values).any() and (query.enough is None or come < query.enough):
            number, row, value = self.next()
            come += 1
            if number == self.number:
                values[row] = value
            else:
                late.append(Late(number, row, value))
        return Answer(values[:, None], None, self.number, tuple(late))


def run(instance: Instance, workers: int, in_order: bool, factor: float, seed: int = 0) -> Clock:
    clock = Clock(instance, workers, factor)
    problem, method = clock.problem, zofw.Interpolation()
    task = Task(problem.set, instance.dim, workers=workers, in_order=in_order)
    state, t = method.init(task, problem.x0), 0
    most = 3 * MOST * instance.dim
    while None in clock.reached and clock.evaluations < most:
        step = method.step(task, state, np.random.default_rng([seed, t]))
        try:
            query = next(step)
            while True:
                query = step.send(clock.answer(query))
        except StopIteration as end:
            state, info = end.value
        if info.ending is not None:
            break
        if instance.noise:
            clock.note(problem.gap(state.x))
        t += 1
    return clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", default="smooth")
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--factors", default="1,3,10")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    todo = list(cells(chosen.kind, chosen.dim, chosen.draw))[:: chosen.every]
    for factor in map(float, chosen.factors.split(",")):
        one = [run(i, 1, True, factor).reached for i in todo]
        for in_order in (True, False):
            found = [run(i, chosen.workers, in_order, factor) for i in todo]
            ratio = [
                [
                    np.nan if a is None else 0.0 if b is None else a / b
                    for a, b in zip(x, c.reached, strict=True)
                ]
                for x, c in zip(one, found, strict=True)
            ]
            if chosen.verbose:
                for i, r, c in zip(todo, ratio, found, strict=True):
                    print(i.key, np.round(r, 2), c.evaluations)
            busy = np.median([c.now * chosen.workers / c.busy for c in found])
            print(
                f"factor {factor:4.0f}  {'in order' if in_order else 'as they come':12s} sooner "
                f"{' / '.join(f'{x:.2f}' for x in np.nanmedian(ratio, axis=0))}   time over busy / W {busy:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
