"""A generator of the package gest-api, which libEnsemble, Xopt and optimas take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from gest_api.generator import Generator
from gest_api.vocs import VOCS, ContinuousVariable, MaximizeObjective, MinimizeObjective

from zofw.core import Array, MethodLike, Seed
from zofw.desk import Desk, Request
from zofw.run import Session
from zofw.run.record.result import Result
from zofw.sets import Box, SetLike, as_set

ID = "_id"


class ZOGenerator(Generator):
    """Points that one run of :func:`zofw.minimize` asks for, in any order and number.

    Parameters
    ----------
    vocs
        Continuous variables and one objective, to minimise or to maximise.
    set
        Set of the variables in their order, or what :func:`zofw.minimize` takes for one. By
        default the box of their domains.
    workers
        Points that are evaluated at the same time: the most that ``suggest`` has at hand after
        the first points.
    budget
        Maximum number of points.
    method, rng
        As in :func:`zofw.minimize`.

    Notes
    -----
    A value of NaN says that the evaluation failed: the point is asked for again. Results without an
    ``_id`` are known before the run, and are taken until the first call of ``suggest``.

    Examples
    --------
    >>> from gest_api.vocs import VOCS
    >>> from zofw.adapters import ZOGenerator
    >>> vocs = VOCS(variables={"x": [0.0, 1.0], "y": [0.0, 1.0]}, objectives={"f": "MINIMIZE"})
    >>> generator = ZOGenerator(vocs, workers=4, rng=0)
    >>> for _ in range(6):
    ...     points = generator.suggest(4)
    ...     generator.ingest([p | {"f": (p["x"] - 0.3) ** 2 + (p["y"] - 0.8) ** 2} for p in points])
    >>> generator.result().x.round(3).tolist()
    [0.3, 0.8]
    """

    returns_id = True

    def __init__(
        self,
        vocs: VOCS,
        set: SetLike | None = None,
        *,
        workers: int = 1,
        budget: int = 10_000,
        method: MethodLike = "auto",
        rng: Seed = None,
    ) -> None:
        super().__init__(vocs)
        self.vocs = vocs
        domains = np.array([variable.domain for variable in vocs.variables.values()], dtype=float)
        self.set = Box(domains[:, 0], domains[:, 1]) if set is None else as_set(set)
        self.set.check_dim(len(domains))
        ((self.objective, objective),) = vocs.objectives.items()
        self.sign = -1.0 if isinstance(objective, MaximizeObjective) else 1.0
        self._settings = {"workers": workers, "budget": budget, "method": method, "rng": rng}
        self._known: list[Mapping[str, float]] = []
        self._desk: Desk | None = None
        self._given: list[str] = []  # the request behind each _id
        if not self.set.contains(self.set.initial_point(len(domains))):
            raise ValueError(f"The set {self.set!r} and the variables of the VOCS do not go together.")
        self._new_session()  # settings are checked here

    def _validate_vocs(self, vocs: VOCS) -> None:
        if not vocs.variables:
            raise ValueError("VOCS must define at least one variable.")
        if not all(isinstance(variable, ContinuousVariable) for variable in vocs.variables.values()):
            raise ValueError("ZOGenerator only supports continuous variables.")
        kinds = [type(objective) for objective in vocs.objectives.values()]
        if kinds not in ([MinimizeObjective], [MaximizeObjective]):
            raise ValueError("ZOGenerator needs exactly one objective, MINIMIZE or MAXIMIZE.")
        if vocs.constraints:
            raise ValueError("ZOGenerator takes constraints of the variables as set=…, and none of values.")

    def _new_session(self) -> Session:
        names = self.vocs.variable_names
        known = None
        if self._known:
            X = np.array([[row[name] for name in names] for row in self._known], dtype=float)
            known = X, np.array([self.sign * row[self.objective] for row in self._known])
        return Session(self.set, dim=len(names), inside=True, diagnose=0, known=known, **self._settings)  # type: ignore[arg-type]

    @property
    def desk(self) -> Desk:
        """Return the run, which begins with the first use."""
        if self._desk is None:
            self._desk = Desk(self._new_session())
        return self._desk

    def suggest(self, num_points: int | None = None) -> list[dict[str, float]]:
        """Return so many new points, or all that the run asks for now."""
        given = {*self._given}
        free = [request for request in self.desk.requests() if request.id not in given]
        if num_points is not None and num_points > len(free):
            why = self.desk.session.run.message if self.desk.done else "the others wait for results"
            raise ValueError(
                f"The run asks for {len(free)} new points now, not {num_points}: {why}. "
                f"ZOGenerator(…, workers={num_points}) keeps so many at hand."
            )
        return [self._point(request) for request in free[:num_points]]

    def _point(self, request: Request) -> dict[str, float]:
        ((x, _),) = request
        self._given.append(request.id)
        constants = {name: constant.value for name, constant in self.vocs.constants.items()}
        point: Array = x
        return (
            dict(zip(self.vocs.variable_names, point.tolist(), strict=True))
            | constants
            | {ID: len(self._given) - 1}
        )

    def ingest(self, results: Sequence[Mapping[str, float]]) -> None:
        """Take values of suggested points, and before the first suggestion of others too."""
        for row in results:
            if ID not in row and self._desk is not None:
                raise ValueError("Results without _id are taken only before the first call of suggest.")
            if ID in row and not (self._desk is not None and 0 <= int(row[ID]) < len(self._given)):
                raise ValueError(f"There is no suggested point with _id {row[ID]!r}.")
        for row in results:
            if ID not in row:
                self._known.append(row)
            elif math.isfinite(value := float(row[self.objective])):
                self.desk.tell(self._given[int(row[ID])], self.sign * value)
            else:
                self.desk.fail(self._given[int(row[ID])], f"{self.objective} is {value}")

    def result(self) -> Result:
        """Return the run so far, of the objective to minimise."""
        return self.desk.result()
