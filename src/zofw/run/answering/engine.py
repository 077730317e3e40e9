"""Who evaluates tiles: this process, or anything else that has the methods of an :class:`Engine`."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from zofw.core import EvaluationError, Problem, Query, Tile
from zofw.problems.abilities import Sums, abilities
from zofw.problems.evaluate import TilePart, cells, own_sums
from zofw.run.answering.open_answer import OpenAnswer
from zofw.run.answering.policy import blamed, within

Todo: TypeAlias = deque[tuple[OpenAnswer, Tile]]


class ExecutorError(RuntimeError):
    """The workers are gone, or cannot do what they are asked."""


class Outcome(NamedTuple):
    """Parts of an answer that are done and, if one failed, why, and what is left with it at the front."""

    answer: OpenAnswer
    parts: list[TilePart]
    left: Sequence[Tile] = ()
    error: EvaluationError | None = None
    recomputed: int = 0
    by: str = ""


class Engine(Protocol):
    """Evaluates tiles."""

    timeout: float | None

    def outcomes(self, todo: Todo) -> Iterator[Outcome | None]:
        """Work off a list of tiles, which may grow meanwhile, and what is under way from before.

        None comes now and then while nothing happens. If the caller leaves the loop, what is under
        way stays so, and comes with a later call.
        """

    def cancel(self) -> None:
        """Give up what has not begun."""

    def close(self) -> None:
        """Let go of whatever is held for this run."""


class Here:
    """Tiles evaluated in this process, one after another."""

    def __init__(self, problem: Problem, timeout: float | None = None) -> None:
        self.problem, self.timeout = problem, timeout
        self._able = abilities(problem)
        self._cancelled = False

    def outcomes(self, todo: Todo) -> Iterator[Outcome | None]:
        self._cancelled = False
        while todo and not self._cancelled:
            answer, tile = todo.popleft()
            sums, error = self.evaluate(answer.query, tile, answer.together)
            done = left = tile
            if tile.stop and sums is not None:
                reached = tile.start + len(sums.values) // (answer.query.each or 1)
                done, left = tile.cells(tile.start, reached), tile.cells(reached, tile.stop)
                if error is None and reached < tile.stop:
                    todo.appendleft((answer, left))
            yield Outcome(answer, [] if sums is None else [TilePart(done, sums)], [left], error)

    def evaluate(
        self, query: Query, tile: Tile, seconds: float = math.inf
    ) -> tuple[Sums | None, EvaluationError | None]:
        """Return a tile, or of its cells those that come before an error or the end of the time."""
        single, found = self._able.cells, []
        try:
            if single is None or not tile.stop:
                if self.timeout is None:
                    return own_sums(self._able, self.problem, query, tile), None
                return within(self.timeout, own_sums, self._able, self.problem, query, tile), None
            one = single.one if self.timeout is None else lambda x, i: within(self.timeout, single.one, x, i)
            began = time.perf_counter()
            for value in cells(one, query, tile):
                found.append(value)
                if time.perf_counter() - began >= seconds:
                    break
        except BaseException as error:
            return (Sums(np.array(found).ravel()) if found else None), blamed(error)
        return Sums(np.array(found).ravel()), None

    def cancel(self) -> None:
        self._cancelled = True

    def close(self) -> None:
        """Nothing is held."""
