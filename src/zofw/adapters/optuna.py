"""An Optuna sampler for parameters that lie in a convex set together."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from zofw.core import Array, MethodLike
from zofw.desk import AnswerError, Desk, Request
from zofw.run import Session
from zofw.sets import SetLike, as_set, can_clip

ASKED = "zofw:request"  # the attribute of a trial that says which evaluation it makes
ORDER = "zofw:order:"  # attributes of a study that say in which order the run has taken trials
SEED = "zofw:seed"  # the attribute of a study that every worker's sampler starts from


class ZOSampler(optuna.samplers.BaseSampler):
    """Optuna trials that are the evaluations of one run of :func:`zofw.minimize`.

    The named parameters form a vector x of the set: a mixture, the weights of an ensemble,
    shares with floors and caps. Every trial evaluates one point of the set. All other
    parameters are sampled by ``independent``. The sampler holds nothing that the study does
    not: it replays the finished trials, so a study in a database goes on in another process,
    and several processes share one run.

    Parameters
    ----------
    set
        The set of x, or what :func:`zofw.minimize` takes for one, such as ``"simplex"``.
    names
        The parameters that are the coordinates of x, in order.
    budget
        Most trials of the run; later ones evaluate the point that it found.
    method
        As in :func:`zofw.minimize`.
    workers
        Trials that run at the same time: the ``n_jobs`` of ``study.optimize``, or the processes
        that share the study.
    seed
        Of everything random. By default one is drawn and kept in the study.
    independent
        The sampler of all other parameters; by default ``RandomSampler``.

    Notes
    -----
    Trials that fail or are pruned are asked for again. A worker that finds all open evaluations taken repeats the current
    point.

    Examples
    --------
    >>> import optuna
    >>> from zofw.adapters import ZOSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> sampler = ZOSampler("simplex", ["flour", "sugar", "butter"], budget=60, seed=0)
    >>> study = optuna.create_study(sampler=sampler)
    >>> def cake(trial):
    ...     flour, sugar, butter = sampler.suggest(trial)
    ...     return (flour - 0.6) ** 2 + (sugar - 0.3) ** 2 + (butter - 0.1) ** 2
    >>> study.optimize(cake, n_trials=60)
    >>> bool(study.best_value < 1e-3), bool(abs(sum(study.best_params.values()) - 1) < 1e-12)
    (True, True)
    """

    def __init__(
        self,
        set: SetLike,
        names: Sequence[str],
        *,
        budget: int,
        method: MethodLike = "auto",
        workers: int = 1,
        seed: int | None = None,
        independent: optuna.samplers.BaseSampler | None = None,
    ) -> None:
        if not names or len({*names}) != len(names):
            raise ValueError(
                f"ZOSampler needs the names of its parameters, at least one and none twice; got {[*names]!r}."
            )
        self.set, self.names = as_set(set), [*names]
        self.set.check_dim(len(self.names))
        self.budget, self.method, self.workers, self.seed = budget, method, workers, seed
        self.independent = optuna.samplers.RandomSampler(seed) if independent is None else independent
        self._desk: Desk | None = None
        self._order: list[int] = []  # finished trials that the run knows, in the order in which it took them
        self._lock = threading.RLock()  # n_jobs are threads

    def suggest(self, trial: Trial) -> Array:
        """x of a trial."""
        space = self.space()
        return np.array([trial.suggest_float(name, d.low, d.high) for name, d in space.items()])

    def space(self) -> dict[str, FloatDistribution]:
        """The least interval that holds each coordinate of the set."""
        axes = np.eye(len(self.names))
        limits = [(float(self.set.lmo(e) @ e), float(self.set.lmo(-e) @ e)) for e in axes]
        return {
            name: FloatDistribution(low, high) for name, (low, high) in zip(self.names, limits, strict=True)
        }

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The named parameters, which are sampled together."""
        _require_one_value(study)
        return self.space()

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, float]:
        """The next point that the run asks for and no other trial is evaluating."""
        with self._lock:
            return self._sample(study, trial)

    def _sample(self, study: Study, trial: FrozenTrial) -> dict[str, float]:
        desk = self._replayed(study)
        others = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,))
        taken = {other.system_attrs.get(ASKED) for other in others if other.number != trial.number}
        free = (request for request in desk.requests(len(taken) + 1) if request.id not in taken)
        request = next(free, None)
        if request is not None:
            x = _point(request)
            study._storage.set_trial_system_attr(trial._trial_id, ASKED, request.id)
        elif desk.done:
            x = np.asarray(desk.session.x)
        else:  # all that the run wants to know is being evaluated: elsewhere, halfway to a vertex
            g = np.random.default_rng([trial.number, len(taken)]).standard_normal(len(self.names))
            x = 0.5 * (np.asarray(desk.session.x) + as_set(self.set).lmo(g))
        if can_clip(self.set):
            x = self.set.clip(x)
        return dict(zip(self.names, x.tolist(), strict=True))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> object:
        """Set another parameter."""
        _require_one_value(study)
        return self.independent.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Only the independent sampler draws; the run's numbers come from the study's seed."""
        self.independent.reseed_rng()

    def _replayed(self, study: Study) -> Desk:
        """Return the run with the values of all finished trials, in the study's order."""
        attributes = study._storage.get_study_system_attrs(study._study_id)
        kept = [attributes[name] for name in sorted(attributes) if name.startswith(ORDER)]
        if self._desk is None or self._order != kept[: len(self._order)]:
            self._desk, self._order = self._begun(study), []
        trials = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        finished = {trial.number: trial for trial in trials if ASKED in trial.system_attrs}
        new = sorted({*finished} - {*kept})
        for place, number in enumerate(new, len(kept)):
            study._storage.set_study_system_attr(study._study_id, f"{ORDER}{place:08d}", number)
        sign = -1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1.0
        for number in [*kept, *new][len(self._order) :]:
            self._order.append(number)
            trial = finished[number]
            with contextlib.suppress(AnswerError):  # a second answer to the same request, or a late one
                self._desk.tell(trial.system_attrs[ASKED], sign * trial.value)
        return self._desk

    def _begun(self, study: Study) -> Desk:
        attributes = study._storage.get_study_system_attrs(study._study_id)
        seed = attributes.get(SEED)
        if seed is None:
            seed = int(np.random.SeedSequence(self.seed).generate_state(1)[0])
            study._storage.set_study_system_attr(study._study_id, SEED, seed)
        session = Session(
            self.set,
            dim=len(self.names),
            method=self.method,
            budget=self.budget,
            rng=seed,
            workers=self.workers,
            inside=True,
            diagnose=0,
        )
        session.run.identity = f"{seed:032x}"  # the same run asks under the same names in every process
        return Desk(session)


def _require_one_value(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"ZOSampler minimises or maximises one value, and the study has {len(study.directions)} directions; return one "
            "of them, or a weighted sum."
        )


def _point(request: Request) -> Array:
    """The point of a request for one evaluation."""
    ((x, _),) = request
    return x
