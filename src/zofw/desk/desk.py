"""A session whose evaluations are asked for one by one, answered in any order, in part, twice or not at all."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from zofw.core import Array, Indices
from zofw.desk.files import load
from zofw.desk.folder import NAME, DeskFolder, Look, settled, stamp
from zofw.desk.reply import AnswerError, Reply, Told
from zofw.desk.request import Request
from zofw.desk.round import Round, check_counts, owed_rounds
from zofw.run import Session
from zofw.run.files.documents import FileError
from zofw.run.record.run import FAILED
from zofw.run.session.events import Failed, Part
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result

logger = logging.getLogger("zofw")

KEPT = 20  # closed queries whose values are at hand; a folder has all of them
FIELDS_BYTES, REASON_BYTES, COORDINATE_BYTES = 1 << 16, 1 << 10, 32  # of an answer, at most
SHOWN = 1000  # coordinates of x in a status file


class Desk:
    """Requests out, answers in: a run whose evaluations people or programs make, in any order and over days.

    Each query is split into single evaluations f_i(x), and the desk asks for these in requests. In whatever order and portions
    the values come back, the run has the same bits and the same ledger as ``minimize`` with the same seed and a function of one
    point and component.

    Parameters
    ----------
    session
        The run.
    size
        Evaluations in a request.
    merge
        Ask once for an evaluation that a query repeats, as a batch drawn with replacement does, and use its value for all. Use it
        if the same evaluation gives the same value. The ledger charges what ``minimize`` charges; ``spared`` counts the
        evaluations that were saved.
    folder, at_once
        Where requests and answers are exchanged as files, and how many requests may lie there at a time; :meth:`open` makes
        such a desk.

    Notes
    -----
    Open evaluations never exceed what is left of the budget. A value that comes twice is ignored where it is the same, and
    refused where it differs: the first one counts. A desk is for one thread.

    Examples
    --------
    >>> import zofw
    >>> session = zofw.Session(zofw.Simplex(), dim=3, budget=40, rng=0)
    >>> desk = zofw.Desk(session)
    >>> while requests := desk.requests():
    ...     for request in reversed(requests):
    ...         news = desk.tell(request.id, [float((x**2).sum()) for x, component in request])
    >>> desk.result().nfev <= 40, desk.result().x.round(3).tolist()
    (True, [0.333, 0.333, 0.333])
    """

    def __init__(
        self,
        session: Session,
        *,
        size: int = 1,
        merge: bool = False,
        folder: DeskFolder | None = None,
        at_once: int = 1000,
    ) -> None:
        check_counts(size=size, at_once=at_once)
        if not isinstance(session, Session):
            raise TypeError(
                f"A desk needs a session, as in zofw.Desk(zofw.Session(set, dim=…, budget=…)); got {type(session).__name__}."
            )
        self.session, self.size, self.merge = session, size, merge
        self.folder, self.at_once = folder, at_once
        self.spared = 0  # since it was opened
        self._round: Round | None = None
        label = (lambda number: None) if folder is None else folder.label
        self._owed = owed_rounds(session.run, size, label)
        self._past: deque[Round] = deque(maxlen=KEPT)
        self._turn()
        self._publish()

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        set: SetLike | None = None,
        *,
        size: int | None = None,
        merge: bool | None = None,
        at_once: int = 1000,
        **settings: Any,
    ) -> Desk:
        """A desk in a folder: the one that is there, continued bit for bit, or a new one.

        Parameters
        ----------
        folder
            Requests are put into ``requests/``, answers are looked for in ``answers/``; see :meth:`read` and :meth:`run`.
        set, settings
            What :class:`~zofw.Session` takes. To continue they may be left out; what is given again must agree, but for
            limits, which replace the saved ones. A set or method of your own has to be given again.
        size, merge, at_once
            As above; the first two cannot change.
        """
        if set is None and not (Path(folder) / "desk.json").exists():
            raise FileNotFoundError(
                f"There is no desk in {folder}. To begin one, give a set, dim=… and budget=…."
            )
        check_counts(size=1 if size is None else size, at_once=at_once)
        place = DeskFolder(folder)
        try:
            if place.begun:
                session = place.resume(set, settings)
                made = place.settle(size=size, merge=merge)
            else:
                session = Session(set, **settings)
                session.ask()
                made = {"size": 1 if size is None else size, "merge": bool(merge)}
                place.begin(session, made)
            return cls(session, folder=place, at_once=at_once, **made)
        except BaseException:
            place.close()
            raise

    # ------------------------------------------------------------------ asking

    def __repr__(self) -> str:
        run, budget = self.session.run, self.session.run.limits.budget
        where = "in memory" if self.folder is None else f"in {self.folder.path}"
        spent = f"{self.session.nfev:,} evaluations" + ("" if budget is None else f" of {budget:,}")
        requests = self.requests()
        count = f"{len(requests):,} request{'s' * (len(requests) != 1)} open"
        state = f"{count}, for {requests[0].purpose}" if requests else f"ended ({run.status.name})"
        return f"Desk({run.method.name} on {self.session.task.set!r}, {where}: {spent}, {state})"

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._round is None and not self._owed

    def requests(self, limit: int | None = None) -> list[Request]:
        """Open requests, in the order in which the run would like them; at most ``limit``; none when it has ended."""
        requests = itertools.chain.from_iterable(round.open() for round in self._open)
        return list(itertools.islice(requests, limit))

    @property
    def _open(self) -> list[Round]:
        return [*self._owed, *([] if self._round is None else [self._round])]

    def _turn(self) -> None:
        """Answer the session as soon as its query is complete, and unfold the next one."""
        session = self.session
        while (query := session.ask()) is not None:
            if self._round is None:
                self._round = Round(query, session.number, session.run.identity, self.size, self.merge)
                self._recall(self._round)
                continue
            if self._round.query is query:
                if not self._round.complete:
                    break
                self.spared += self._round.whole.units - len(self._round)
                session.tell(query, self._round.answer())
            self._set_aside()
        owed = {one.query for one in session.run.pending}
        self._past += [round for round in self._owed if round.number not in owed]
        self._owed = [round for round in self._owed if round.number in owed]
        if query is None:
            self._set_aside()
            session.keep()

    def _set_aside(self) -> None:
        """The open query is answered, withdrawn, or continued without some of its values."""
        round, self._round = self._round, None
        if round is None:
            return
        if any(one.query == round.number for one in self.session.run.pending):
            self._owed.append(round)
            return
        if not round.complete:
            self._keep_partial(round)
        round.rest()
        self._past.append(round)

    # ------------------------------------------------------------------ answers

    def tell(self, id: str, values: Told) -> int:
        """Values of a request: one for each evaluation with None for those to come, or by place, or a single number.

        Returns how many were news. An answer that cannot be taken raises :class:`AnswerError`, and nothing of it counts.
        """
        return self.take({"id": id, "values": values})

    def fail(self, id: str, reason: str | Mapping[int, str], *, paid: bool = True) -> None:
        """Evaluations that brought nothing: all of a request that are open, or by place, with the reason.

        They are charged to the line "failed" of the ledger, where they were paid for, and asked for again in a further
        request. Where the budget does not allow that, the run ends.
        """
        self.take({"id": id, "failed": reason, "paid": paid})

    def take(self, answer: Mapping[str, object]) -> int:
        """An answer as a document: ``id``; ``values`` as in :meth:`tell`, ``failed`` and ``paid`` as in :meth:`fail`."""
        news = self._take(Reply.of(answer))
        self._publish()
        return news

    def drop(self) -> None:
        """Give the open iteration up and begin it again with new random numbers, as ``on_error="skip"`` does.

        For a point where no evaluation succeeds. What the open query has had is charged to the line "failed".
        """
        self._check_held()
        if self._round is not None:
            self.session.drop()
            self._turn()
            self._publish()

    def _take(self, reply: Reply) -> int:
        self._check_held()
        found = self._find(reply.id)
        if found is None:
            raise AnswerError(
                f"There is no request {reply.id!r}: it is mistyped, or of another run, or closed long ago.",
                reply.id,
            )
        request, numbers, known, round = found
        reply.check(request)
        for place, value in reply.values.items():
            if known.get(place, value) != value:
                raise AnswerError(
                    f"Evaluation {place} of request {reply.id} was answered before with {known[place]!r}; now it is "
                    f"{value!r}. The first answer counts.",
                    reply.id,
                )
        news = {place: value for place, value in reply.values.items() if place not in known}
        if numbers is None or round is None:
            if news:
                raise AnswerError(f"Request {reply.id} was withdrawn: the run no longer wants it.", reply.id)
            return 0
        largest = round.largest
        if any(abs(value) > largest for value in news.values()):
            raise AnswerError(
                f"The answer to request {reply.id} has values beyond {largest:g}, and slopes of these would be more than "
                "methods can square. Take a larger radius, or rescale what is measured.",
                reply.id,
            )
        if news:
            self._enter(round, numbers[list(news)], np.array(list(news.values())))
        self._fail(round, reply, numbers)
        self._turn()
        return len(news)

    def _find(self, id: str) -> tuple[Request, Indices | None, dict[int, float], Round | None] | None:
        """A request, the numbers of its evaluations where it is open, their values by place, and its round."""
        name = NAME.fullmatch(id)
        if name is None:
            return None
        block, attempt = int(name[2]), int(name[3] or 1) - 1
        for round in (*self._open, *reversed(self._past)):
            if round.label == name[1] and 0 <= attempt < round.attempts(block):
                request, numbers = round.request(block, attempt), round.numbers(block, attempt)
                if request.id != id:
                    return None
                known = {
                    place: float(round.values[j]) for place, j in enumerate(numbers.tolist()) if round.has(j)
                }
                return request, numbers if round in self._open else None, known, round
        finished = None if self.folder is None else self.folder.finished(id)
        return None if finished is None else (finished[0], None, finished[1], None)

    def _enter(self, round: Round, numbers: Indices, values: Array) -> None:
        """Values that are news: into the journal, then into requests that are complete with them."""
        order = np.argsort(numbers)
        numbers, values = numbers[order], values[order]
        for tile, sums in round.portions(numbers, values):
            self.session.put(Part(round.number, tile, sums.values))
        round.fill(numbers, values)
        self._finish(round, np.unique(numbers // round.size))

    def _finish(self, round: Round, blocks: Indices) -> None:
        for block in blocks.tolist():
            if round.known[round.numbers(block, 0)].all():
                self._keep(round, block)
                round.forget(block)

    def _keep(self, round: Round, block: int) -> None:
        if self.folder is not None:
            for attempt in range(round.attempts(block)):
                numbers = round.numbers(block, attempt).tolist()
                values = [float(round.values[j]) if round.has(j) else None for j in numbers]
                self.folder.finish(round.request(block, attempt), values)

    def _keep_partial(self, round: Round) -> None:
        """What a query that is withdrawn has had."""
        for block in np.unique(np.flatnonzero(round.known) // round.size).tolist():
            self._keep(round, block)

    def _fail(self, round: Round, reply: Reply, numbers: Indices) -> None:
        """Charge evaluations that failed, and ask for them again."""
        name = NAME.fullmatch(reply.id)
        if name is None or not reply.failed:
            return
        wanted = round.wanted(int(name[2]), int(name[3] or 1) - 1)
        named = numbers if None in reply.failed else numbers[[j for j in reply.failed if j is not None]]
        failed = np.intersect1d(wanted, named)
        if not len(failed):
            return
        reasons = [*dict.fromkeys(reply.failed.values())]
        for reason in reasons:
            logger.warning("Request %s: evaluations failed: %s", reply.id, reason)
        cost = len(failed) if reply.paid else 0
        tiles = tuple(round.places(failed))
        round.ask_again(failed)
        self.session.put(Failed(round.number, tiles, cost, "; ".join(reasons)))

    def _recall(self, round: Round) -> None:
        """Enter what the run has of its open query."""
        asked = self.session.rules.open
        if asked is None or not (asked.parts or asked.failures):
            return
        told: dict[int, float] = {}
        for part in asked.parts:
            told |= dict(enumerate(part.values.tolist(), round.whole.number(part.tile)))
        for event in asked.failures:
            if event.tiles:
                round.ask_again(round.numbers_of(event.tiles))
        round.refill(told)
        self._finish(round, np.unique(np.flatnonzero(round.known) // round.size))

    # ------------------------------------------------------------------ the folder

    @property
    def _longest(self) -> int:
        """Bytes of an answer to one request: its fields, and for each evaluation a number or a reason, and its point."""
        return FIELDS_BYTES + self.size * (REASON_BYTES + COORDINATE_BYTES * self.session.run.dim)

    def read(self) -> Look:
        """Look through ``answers/`` once, take what is there, and put out what is wanted next.

        A request that was filled in where it lay is taken as well.

        An answer that cannot be taken goes to ``refused/`` with its reason; one that cannot be read at all is left for two
        seconds, as it may be on its way.
        """
        folder, look = self._at_folder(), Look()
        folder.collect()
        for path in folder.answers():
            seen = stamp(path)
            try:
                reply = Reply.of(load(path, self._longest))
                if reply.empty:
                    look.waiting.append(path)
                    continue
                look.taken += self._take(reply)
            except FileNotFoundError:
                continue
            except (AnswerError, FileError) as error:
                if stamp(path) != seen or (isinstance(error, FileError) and not settled(path)):
                    look.waiting.append(path)
                else:
                    look.refused[folder.refuse(path, str(error))] = str(error)
                continue
            folder.set_aside(path, seen)
            look.files += 1
        self._publish()
        return look

    def run(self, *, every: float = 1.0, seconds: float | None = None) -> Result:
        """Look at the answers again and again until the run has ended, or so many seconds have passed."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            look = self.read()
            if self.done or (end is not None and time.monotonic() >= end):
                return self.result()
            if not look.files:
                time.sleep(every)

    def _check_held(self) -> None:
        if self.folder is not None and not self.folder.held:
            raise ValueError(
                f"This desk was closed, and no answer would be kept. Desk.open({str(self.folder.path)!r}) opens it."
            )

    def _at_folder(self) -> DeskFolder:
        self._check_held()
        if self.folder is None:
            raise ValueError("This desk has no folder; Desk.open(folder, …) makes one that has.")
        return self.folder

    def _publish(self) -> None:
        if self.folder is not None:
            self.folder.publish(self.requests(self.at_once))
            self.folder.report((self.session.status, self.session.run.number), self.status)

    def status(self) -> dict[str, Any]:
        """Where the run stands, in plain values."""
        run, open = self.session.run, self._open
        return {
            "zofw": "status",
            "run": run.identity,
            "status": run.status.name.lower(),
            "message": run.message,
            "method": run.method.name,
            "iterations": run.nit,
            "evaluations": run.nfev,
            "failed": run.ledger[FAILED],
            "budget": run.limits.budget,
            "asked": sum(map(len, open)),
            "answered": sum(int(round.known.sum()) for round in open),
            "x": run.x.tolist() if run.dim <= SHOWN else None,
        }

    def result(self) -> Result:
        """The run so far, as a :class:`~zofw.Result`."""
        return self.session.result()

    def close(self) -> None:
        """Let go of the folder; nothing is lost where this is not reached."""
        if self.folder is not None and self.folder.held:
            try:
                self.folder.report(None, self.status)
            finally:
                self.folder.close()

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
