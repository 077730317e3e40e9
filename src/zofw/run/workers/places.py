"""Where a problem lives on a dask cluster: all of it on every worker, or each of its parts on a few."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from zofw.problems.sharded import Loader, Sharded

logger = logging.getLogger("zofw")

Scatter = Callable[[Any, list[str] | None], Any]


@dataclass(eq=False)
class Place:
    """A copy of a part: its future, the worker that has or builds it (None: any), and the tasks under way there."""

    part: int
    future: Any
    worker: str | None = None
    tasks: set[Any] = field(default_factory=set)

    @property
    def workers(self) -> list[str] | None:
        """To whom tasks are tied."""
        return None if self.worker is None else [self.worker]


class Replicated:
    """The whole problem on every worker."""

    def __init__(self, problem: Any, scatter: Scatter) -> None:
        self._problem, self._scatter = problem, scatter
        self._place = Place(0, scatter(problem, None))

    def find(self, part: int | None) -> Place:
        """Return a copy of a part, for one more task."""
        return self._place

    def lose(self, place: Place) -> None:
        """Replace a copy whose data are gone, unless that has been done."""
        if place is self._place:
            self._place = Place(0, self._scatter(self._problem, None))

    def look(self, alive: Collection[str]) -> None:
        """Nothing: dask gives the tasks of a worker that is gone to another, and all have the problem."""


class Copies:
    """Copies of the parts, each sent to, or built on, the worker with the least to hold.

    Tasks are tied to the worker that has their part, so that a part is never moved after them; what is tied to a worker
    that is gone would wait for ever, and is cancelled here, to be sent again.
    """

    def __init__(self, client: Any, problem: Sharded, scatter: Scatter) -> None:
        self._client, self._problem, self._scatter = client, problem, scatter
        self._load: Counter[str] = Counter()  # components on each worker
        self._places: list[list[Place]] = [[] for _ in problem.parts]
        alive = client.nthreads()
        copies = min(problem.copies, max(1, len(alive)))
        for number in sorted(range(len(problem.parts)), key=lambda p: -problem.sizes[p]):
            for _ in range(copies):
                self._settle(number, alive)

    def _settle(self, number: int, alive: Collection[str]) -> None:
        taken = {place.worker for place in self._places[number]}
        free = sorted(set(alive) - taken) or sorted(alive)
        place = Place(number, None, min(free, key=lambda worker: self._load[worker], default=None))
        if place.worker is not None:
            self._load[place.worker] += self._problem.sizes[number]
        loader = self._problem.loader(number)
        if loader is None:
            place.future = self._scatter(self._problem.part(number), place.workers)
        else:
            key = f"zofw-part-{number}-{uuid.uuid4().hex}"
            place.future = self._client.submit(build, loader, key=key, pure=False, workers=place.workers)
        self._places[number].append(place)

    def find(self, part: int | None) -> Place:
        return min(self._places[part or 0], key=lambda place: len(place.tasks))

    def lose(self, place: Place) -> None:
        places = self._places[place.part]
        if place in places:
            places.remove(place)
            if place.worker is not None:
                self._load[place.worker] -= self._problem.sizes[place.part]
            self._settle(place.part, self._client.nthreads())

    def look(self, alive: Collection[str]) -> None:
        gone = [place for places in self._places for place in places if alive and place.worker not in alive]
        for place in gone:
            logger.info("Part %d was on %s, which is gone; it is built again.", place.part, place.worker)
            self.lose(place)
            if place.tasks:
                self._client.cancel(list(place.tasks), force=True)


def build(loader: Loader) -> Any:
    """Return a part, on the worker where it will live."""
    return loader()
