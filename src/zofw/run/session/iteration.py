"""One iteration of a run: its random numbers; begun, brought back to where it was, rehearsed; and the queries about f at the end.

Everything random derives from a few integers and the number of the iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zofw.core import Answer, Batch, Info, OutOfBudget, Purpose, Query, Seed, State, Task
from zofw.run.record.run import BudgetError, Iteration, Known, Run
from zofw.run.record.status import Status

LAST = 0xFFFFFFFF  # the redraw whose random numbers draw a sample for f at the end
NEAR_THE_END = 4  # rehearse an iteration when fewer than this many of the dearest so far can be paid
REHEARSED_QUERIES = 10_000  # a rehearsal that asks more than this is stopped
SHARE = 50  # learning f at the end takes at most this part of the budget
GROUPS = 20  # of a sample, whose means tell the standard error

StepEnd = tuple[State, Info] | Known
StepGenerator = Generator[Query, Answer, tuple[State, Info]] | Generator[Query, Answer, Known]

HashedWords = Any  # one word, or an array of them
POOL = 4  # words of the pool
AHEAD = 256  # iterations whose keys are made together
MASK = 0xFFFFFFFF
MULT_A, INIT_B, MULT_B = 0x931E8875, 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = 0xCA01F9DD, 0x4973F715
INIT_A = 0x43B0D7E5


def entropy_of(rng: Seed) -> tuple[int, ...]:
    """The integers behind a seed, a ``SeedSequence``, a ``Generator`` or ``BitGenerator`` (drawn from) or None."""
    if isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
        return tuple(int(word) for word in np.random.default_rng(rng).integers(1 << 32, size=4))
    if isinstance(rng, np.random.SeedSequence) and rng.spawn_key:
        return tuple(int(word) for word in rng.generate_state(4))
    try:
        sequence = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "rng should be a whole number of at least 0, a list of them, a numpy.random.Generator, BitGenerator or "
            f"SeedSequence, or None; got {rng!r:.60}. For a RandomState write numpy.random.default_rng(seed)."
        ) from error
    words = np.atleast_1d(np.asarray(sequence.entropy, dtype=object))
    return tuple(int(word) for word in words)


@lru_cache(maxsize=64)
def pool_of(entropy: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """NumPy's pool after the words of the entropy, padded to four, and the constant that hashes the next word."""
    words = [word >> shift & MASK for word in entropy for shift in range(0, max(1, word.bit_length()), 32)]
    pool = np.random.SeedSequence(list(entropy), spawn_key=()).pool
    hashed = POOL * POOL + POOL * max(0, len(words) - POOL)
    return tuple(int(word) for word in pool), INIT_A * pow(MULT_A, hashed, 1 << 32) & MASK


def stirred(pool: Sequence[HashedWords], constant: int, word: HashedWords) -> tuple[list[HashedWords], int]:
    """The pool and the constant after one more word, of one iteration or of many."""
    out: list[HashedWords] = []
    for old in pool:
        value = word ^ constant
        constant = constant * MULT_A & MASK
        value = value * constant & MASK
        mixed = (MIX_LEFT * old - MIX_RIGHT * (value ^ value >> 16)) & MASK
        out.append(mixed ^ mixed >> 16)
    return out, constant


class Stream:
    """The random numbers of a run: one generator, set to the beginning of whichever iteration needs it.

    Philox seeded by ``SeedSequence(entropy, spawn_key=(iteration,))``, or (iteration, redraws). The hash of the entropy
    is kept, so that only the words of the spawn key are added to it, for many iterations together; and so is the
    generator, for making one takes longer than drawing from it.
    """

    def __init__(self, entropy: Sequence[int]) -> None:
        self.pool, self.constant = pool_of(tuple(entropy))
        self.bits = np.random.Philox(0)
        self.generator = np.random.Generator(self.bits)
        self.state: Any = {**self.bits.state, "state": {"counter": np.zeros(4, np.uint64)}}
        self.first, self.keys = -AHEAD, np.empty((AHEAD, 2), np.uint64)

    def at(self, iteration: int, redraws: int = 0) -> np.random.Generator:
        """The generator of one iteration; of its j-th redraw where it was begun again. It ends the one before."""
        if redraws:
            key = self._keys_of(np.array([iteration], np.uint64), redraws)[0]
        else:
            if not 0 <= iteration - self.first < AHEAD:
                self.first = iteration - iteration % AHEAD
                self.keys = self._keys_of(np.arange(self.first, self.first + AHEAD, dtype=np.uint64))
            key = self.keys[iteration - self.first]
        self.state["state"]["key"] = key
        self.bits.state = self.state
        return self.generator

    def _keys_of(self, iterations: NDArray[np.uint64], redraws: int = 0) -> NDArray[np.uint64]:
        """Philox's keys, (len(iterations), 2), of iterations whose numbers are equally long."""
        mixed: Sequence[HashedWords]
        mixed, constant = self.pool, self.constant
        for shift in range(0, max(1, int(iterations[-1]).bit_length()), 32):
            mixed, constant = stirred(mixed, constant, iterations >> np.uint64(shift) & np.uint64(MASK))
        for shift in range(0, redraws.bit_length(), 32):
            mixed, constant = stirred(mixed, constant, redraws >> shift & MASK)
        constant, words = INIT_B, []
        for word in mixed:
            value = word ^ constant
            constant = constant * MULT_B & MASK
            value = value * constant & MASK
            words.append(value ^ value >> 16)
        return np.stack([words[0] | words[1] << 32, words[2] | words[3] << 32], axis=1)


class Iterations:
    """The generators of a run's iterations, each with what its method sees of the budget."""

    def __init__(self, run: Run, task: Task) -> None:
        self.run, self.task = run, task
        self.stream = Stream(run.entropy)

    def begin(self) -> StepGenerator:
        """The coming iteration, if it can be paid: a step of the method or, where the run is closing, the queries about f at x."""
        run, task = self.run, self.task
        paid, granted = run.nfev, run.granted
        left = math.inf if granted is None or run.closing is not None else granted - paid
        if left < NEAR_THE_END * run.dearest or (run.nit == 0 and left < math.inf):
            self._afford(left)
        task.lmos, task.paid, task.budget = 0, paid, granted
        iteration = run.open if run.closing is None else run.learning
        iteration.paid, iteration.budget = paid, granted
        return self._steps()

    def _afford(self, left: float) -> None:
        """Raise OutOfBudget where a rehearsal of the coming iteration costs more than is left."""
        least, run = self.rehearse(), self.run
        if least <= left:
            return
        if run.nit == run.nfev == 0:
            needed = least_budget(run.n, least) if run.pays else least
            raise BudgetError(run.limits.budget or 0, needed, needed - least, run.method.name)
        raise OutOfBudget

    def again(self, iteration: Iteration) -> StepGenerator:
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

    def _steps(self) -> StepGenerator:
        run = self.run
        if run.closing is not None:
            return learn(run, lambda: self.stream.at(run.nit, LAST))
        steps: StepGenerator = run.method.step(self.task, run.state, self.stream.at(run.nit, run.redraws))
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


def cost_of_value(n: int, budget: int) -> int:
    """Queries that f at one point may take: n, or a sample of a fiftieth of the budget where that is less."""
    most = max(2, budget // SHARE)
    return n if n <= most else most


def least_budget(n: int, iteration: int) -> int:
    """The least budget that pays for an iteration beside f at one point."""
    budget = iteration + 1
    while budget - cost_of_value(n, budget) < iteration:
        budget = iteration + cost_of_value(n, budget)
    return budget


def learn(run: Run, sample: Callable[[], np.random.Generator]) -> Generator[Query, Answer, Known]:
    """f at x: the mean over all components or, where that is dear, over a sample whose groups tell its error."""
    x = run.x.copy()
    size = cost_of_value(run.n, run.limits.budget or run.nfev)
    if size == run.n:
        answer = yield Query(x, Batch(run.n), purpose=Purpose.RESULT)
        return Known(x, float(answer.values[0, 0]))
    drawn = sample().choice(run.n, size, replace=False)
    groups = np.array_split(drawn, min(GROUPS, size))
    means = []
    for indices in groups:
        answer = yield Query(x, Batch(run.n, indices), purpose=Purpose.RESULT)
        means.append(float(answer.values[0, 0]))
    weights = np.array([len(indices) for indices in groups]) / size
    mean = float(weights @ means)
    spread = float(weights @ (np.array(means) - mean) ** 2) / (len(groups) - 1)
    return Known(x, mean, math.sqrt(spread * (1.0 - size / run.n)))


def ending_status(info: Info, gap_tol: float | None, method: str) -> Status | None:
    """How an iteration ends a run by what it found, where it does; a bound above the tolerance never converges."""
    if not isinstance(info, Info):
        raise TypeError(
            f"A step returns (state, Info(…)); {method} returned a {type(info).__name__} beside its state. "
            "Give its gap as Info(gap=…), other numbers as Info(numbers={…})."
        )
    within = gap_tol is not None and info.bound is not None and info.bound <= gap_tol
    if within or (gap_tol is None and info.ending is not None and info.ending.converged):
        return Status.CONVERGED
    if info.ending is not None:
        return Status.STALLED
    if gap_tol is not None and info.bound is None and info.gap is not None and info.gap <= gap_tol:
        return Status.ESTIMATED
    return None
