"""A session whose evaluations are asked for one by one, answered in any order, in part, twice or not at all."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from zofw.core import Indices
from zofw.desk.files import load
from zofw.desk.folder import NAME, DeskFolder, Look, settled, stamp
from zofw.desk.reply import AnswerError, Reply, Told
from zofw.desk.request import Request
from zofw.desk.round import Round
from zofw.run import Session
from zofw.run.files.documents import FileError
from zofw.run.record.run import FAILED, Pending
from zofw.run.session.events import Failed, Part
from zofw.sets import SetLike

if TYPE_CHECKING:
    from zofw.run.record.result import Result

logger = logging.getLogger("zofw")

KEPT = 20  # closed queries that are at hand; a folder has all of them
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
        folder: DeskFolder | None = None,
        at_once: int = 1000,
    ) -> None:
        check_counts(size, at_once)
        if not isinstance(session, Session):
            raise TypeError(
                f"A desk needs a session, as in zofw.Desk(zofw.Session(set, dim=…, budget=…)); got {type(session).__name__}."
            )
        if (each := session.run.each) > 1:
            raise ValueError(
                f"A desk exchanges one number for an evaluation, and outputs={each} was given. "
                f"Begin the session with n={each} and outputs=1, or answer Session.ask()."
            )
        self.session, self.size, self.folder, self.at_once = session, size, folder, at_once
        self._rounds: dict[int, Round] = {}  # views of the open queries, and of the last closed ones
        self._turn()
        self._publish()

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        set: SetLike | None = None,
        *,
        size: int | None = None,
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
        size, at_once
            As above; the first cannot change.
        """
        if set is None and not (Path(folder) / "desk.json").exists():
            raise FileNotFoundError(
                f"There is no desk in {folder}. To begin one, give a set, dim=… and budget=…."
            )
        check_counts(1 if size is None else size, at_once)
        place = DeskFolder(folder)
        try:
            if place.begun:
                session = place.resume(set, settings)
                size = place.settle(size)
            else:
                session = Session(set, **settings)
                session.ask()
                size = 1 if size is None else size
                place.begin(session, size)
            return cls(session, folder=place, at_once=at_once, size=size)
        except BaseException:
            place.close()
            raise

    # ------------------------------------------------------------------ asking

    def __repr__(self) -> str:
        run, budget = self.session.run, self.session.run.limits.budget
        where = "in memory" if self.folder is None else f"in {self.folder.path}"
        of = " of" if budget is None or run.nfev <= budget else ", above the budget of"
        spent = f"{run.nfev:,} evaluations" + ("" if budget is None else f"{of} {budget:,}")
        requests = self.requests()
        count = f"{len(requests):,} request{'s' * (len(requests) != 1)} open"
        state = f"{count}, for {requests[0].purpose}" if requests else f"ended ({run.status.name})"
        return f"Desk({run.method.name} on {self.session.task.set!r}, {where}: {spent}, {state})"

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return not self._open

    def requests(self, limit: int | None = None) -> list[Request]:
        """Open requests, in the order in which the run would like them; at most ``limit``; none when it has ended."""
        requests = itertools.chain.from_iterable(round.open() for round in self._open)
        return list(itertools.islice(requests, limit))

    @property
    def _open(self) -> list[Round]:
        return [round for _, round in sorted(self._rounds.items()) if not round.closed]

    def _turn(self) -> None:
        """Answer the session as soon as its query is complete, and unfold the next one."""
        session = self.session
        while (query := session.ask()) is not None:
            round = self._rounds.get(session.number) or self._unfold()
            if not round.complete:
                break
            session.tell(query, round.answer())
        self._close_rounds(None if query is None else session.number)
        if query is None:
            session.keep()

    def _unfold(self) -> Round:
        """Return the view of the open query, with what the run has of it."""
        run, asked = self.session.run, self.session.rules.open
        assert asked is not None
        round = self._rounds[asked.number] = Round(asked.query, asked.number, run.identity, self.size)
        events: list[Part | Failed] = [*asked.failures, *asked.parts]
        for event in events:
            self._finish(round, round.see(event))
        return round

    def _close_rounds(self, number: int | None) -> None:
        """Close the views of queries that are neither open nor owed rows; of those that are, keep these rows open."""
        run, owed = self.session.run, dict[int, list[Pending]]()
        for one in run.pending:
            owed.setdefault(one.query, []).append(one)
        for earlier, rows in owed.items():
            if earlier not in self._rounds:
                label = None if self.folder is None else self.folder.label(earlier)
                self._rounds[earlier] = Round.of_rows(rows, run.identity, self.size, label)
            self._rounds[earlier].owe([one.row for one in rows])
        for round in self._open:
            if round.number not in owed and round.number != number:
                if not round.complete:  # withdrawn
                    self._finish(round, round.blocks(~np.isnan(round.values)))
                round.rest()
        closed = [number for number, round in self._rounds.items() if round.closed]
        for number in closed[:-KEPT]:
            del self._rounds[number]

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
        """An answer as a document: ``id``; ``values`` as in :meth:`tell`, ``failed`` and ``paid`` as in :meth:`fail`; ``by``: who evaluated."""
        news = self._take(Reply.of(answer))
        self._publish()
        return news

    def drop(self) -> None:
        """Give the open iteration up and begin it again with new random numbers, as ``on_error="skip"`` does.

        For a point where no evaluation succeeds. What the open query has had is charged to the line "failed".
        """
        self._check_held()
        if self.session.rules.open is not None:
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
        request, known, round, numbers = found
        reply.check(request)
        for place, value in reply.values.items():
            if known.get(place, value) != value:
                raise AnswerError(
                    f"Evaluation {place} of request {reply.id} was answered before with {known[place]!r}; now it is "
                    f"{value!r}. The first answer counts.",
                    reply.id,
                )
        news = {place: value for place, value in reply.values.items() if place not in known}
        if round is None or round.closed:
            if news:
                raise AnswerError(f"Request {reply.id} was withdrawn: the run no longer wants it.", reply.id)
            return 0
        if any(abs(value) > round.largest for value in news.values()):
            raise AnswerError(
                f"The answer to request {reply.id} has values beyond {round.largest:g}, and slopes of these would be more than "
                "methods can square. Take a larger radius, or rescale what is measured.",
                reply.id,
            )
        if news:
            for part in round.portions(numbers[list(news)], np.array(list(news.values())), reply.by):
                self._put(round, part)
        if reply.failed:
            self._fail(round, reply, numbers)
        self._turn()
        return len(news)

    def _find(self, id: str) -> tuple[Request, dict[int, float], Round | None, Indices] | None:
        """Return a request, its values by place, its round if that is at hand, and the numbers of its evaluations."""
        if (name := NAME.fullmatch(id)) is None:
            return None
        round, block, attempt = self._rounds.get(int(name[1][:-5])), int(name[2]), int(name[3] or 1) - 1
        if round is not None and round.label == name[1] and 0 <= attempt < round.attempts(block):
            request = round.request(block, attempt)
            known = {at: value for at, value in enumerate(round.known(block, attempt)) if value is not None}
            return None if request.id != id else (request, known, round, round.numbers(block, attempt))
        finished = None if self.folder is None else self.folder.finished(id)
        return None if finished is None else (*finished, None, np.empty(0, dtype=np.int64))

    def _put(self, round: Round, event: Part | Failed) -> None:
        self.session.put(event)
        self._finish(round, round.see(event))

    def _finish(self, round: Round, blocks: Sequence[int]) -> None:
        """Write the requests of some blocks down with their values."""
        for block in blocks:
            for attempt in range(round.attempts(block) if self.folder is not None else 0):
                assert self.folder is not None
                self.folder.finish(round.request(block, attempt), round.known(block, attempt))
            round.forget(block)

    def _fail(self, round: Round, reply: Reply, numbers: Indices) -> None:
        """Charge evaluations that failed, and ask for them again."""
        name = NAME.fullmatch(reply.id)
        assert name is not None
        left = round.left(int(name[2]), int(name[3] or 1) - 1)
        named = numbers if None in reply.failed else numbers[[j for j in reply.failed if j is not None]]
        failed, reason = np.intersect1d(left, named), "; ".join(dict.fromkeys(reply.failed.values()))
        if len(failed):
            logger.warning("Request %s: evaluations failed: %s", reply.id, reason)
            cost = len(failed) if reply.paid else 0
            self._put(round, Failed(round.number, round.places(failed), cost, reason, by=reply.by))

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
            "answered": sum(int((~round.wanted).sum()) for round in open),
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


def check_counts(size: int, at_once: int) -> None:
    """Raise ValueError unless both are whole numbers of at least 1."""
    for name, count in {"size": size, "at_once": at_once}.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"{name} should be a whole number of at least 1; got {count!r}.")
