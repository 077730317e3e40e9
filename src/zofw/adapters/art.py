"""A universal perturbation as an evasion attack of the Adversarial Robustness Toolbox."""

from __future__ import annotations

from operator import attrgetter
from typing import ClassVar

import numpy as np
from art.attacks.attack import EvasionAttack
from art.config import ART_NUMPY_DTYPE
from art.estimators.classification.classifier import ClassifierMixin
from art.estimators.estimator import BaseEstimator
from art.utils import check_and_transform_label_format as label_format
from numpy.typing import NDArray

from zofw.algorithms import settings
from zofw.arrays import to_numpy
from zofw.core import Array, Indices, MethodLike, Seed
from zofw.problems import BlackBox
from zofw.run.minimize import solve
from zofw.run.record.result import Result
from zofw.sets import L1Ball, L2Ball, LinfBall, SetLike

Reals = NDArray[np.floating]

BALLS: dict[float | str, type[L1Ball | L2Ball | LinfBall]] = {1: L1Ball, 2: L2Ball, np.inf: LinfBall}
TINY = 1e-30  # keeps the logarithm of a probability finite


class UniversalPerturbation(EvasionAttack):
    r"""One perturbation for all inputs, found from the classifier's scores alone,

    .. math:: \min_{\|v\|_p \le \varepsilon} \frac1n \sum_{i=1}^n m_i\bigl(\operatorname{clip}(z_i + v)\bigr),

    with the margin :math:`m_i = s_{y_i} - \max_{j \ne y_i} s_j` of the scores s, or, for a targeted attack,
    :math:`m_i = \max_{j \ne y_i} s_j - s_{y_i}`; input i is fooled when it is negative. It works on
    ``BlackBoxClassifierNeuralNetwork`` and every other classifier of ART, and uses nothing of it but ``predict``,
    ``nb_classes`` and ``clip_values``.

    Parameters
    ----------
    classifier
        A classifier of ART.
    norm, eps
        The ball of perturbations: its norm, ``np.inf`` (or "inf"), 2 or 1, and its radius, in
        the units of the inputs.
    set
        A set of flattened perturbations instead of a ball, such as ``zofw.KSparse(20, 0.3)``.
    budget
        Most inputs sent to the classifier in a call of ``generate``, those for labels and for
        the fooling rate included.
    method, rng
        As in :func:`zofw.minimize`.
    targeted
        Whether ``y`` has the classes to reach instead of those to leave.
    probabilities
        Whether the classifier answers with probabilities; margins are then those of their
        logarithms, which do not flatten out where it is sure.
    batch_size
        Inputs in one call of ``predict``.
    verbose
        Whether to show a bar.

    Attributes
    ----------
    noise : ndarray of shape (1, …)
        The perturbation.
    fooling_rate : float
        The share of inputs whose class is not y any more, or, if targeted, is y now.
    queries : int
        Inputs that the last call of ``generate`` sent to the classifier.
    result : Result
        Of :func:`zofw.minimize`; its budget leaves out the inputs for labels and for the
        fooling rate.

    References
    ----------
    S.-M. Moosavi-Dezfooli, A. Fawzi, O. Fawzi, P. Frossard, Universal adversarial perturbations, CVPR 2017.
    N. Carlini, D. Wagner, Towards evaluating the robustness of neural networks, IEEE S&P 2017 (the margin).

    Examples
    --------
    >>> import numpy as np
    >>> from art.estimators.classification import BlackBoxClassifierNeuralNetwork
    >>> from zofw.adapters import UniversalPerturbation
    >>> W = np.random.default_rng(0).standard_normal((6, 3))
    >>> target = BlackBoxClassifierNeuralNetwork(lambda x: x @ W, input_shape=(6,), nb_classes=3, clip_values=(-1, 1))
    >>> x = np.tile(0.2 * W[:, 0] / np.linalg.norm(W[:, 0]), (5, 1)).astype(np.float32)
    >>> attack = UniversalPerturbation(target, eps=0.3, budget=2_000, rng=0)
    >>> fooled = attack.generate(x)
    >>> attack.fooling_rate, bool(np.abs(attack.noise).max() <= np.float32(0.3)), attack.queries <= 2_000
    (1.0, True, True)
    """

    attack_params: ClassVar[list[str]] = [
        *EvasionAttack.attack_params,
        *[
            "norm",
            "eps",
            "set",
            "budget",
            "method",
            "rng",
            "targeted",
            "probabilities",
            "batch_size",
            "verbose",
        ],
    ]
    _estimator_requirements = (BaseEstimator, ClassifierMixin)

    def __init__(
        self,
        classifier: ClassifierMixin,
        *,
        norm: float | str = np.inf,
        eps: float = 0.1,
        set: SetLike | None = None,
        budget: int = 20_000,
        method: MethodLike = "auto",
        rng: Seed = None,
        targeted: bool = False,
        probabilities: bool = False,
        batch_size: int = 128,
        verbose: bool = False,
    ) -> None:
        super().__init__(estimator=classifier)
        self.norm, self.eps, self.set = norm, eps, set
        self.budget, self.method, self.rng = budget, method, rng
        self.targeted, self.probabilities = targeted, probabilities
        self.batch_size, self.verbose = batch_size, verbose
        self._check_params()
        self.noise: Reals | None = None
        self.fooling_rate: float | None = None
        self.result: Result | None = None
        self.queries = 0

    def generate(self, x: Reals, y: Reals | None = None, **unknown: object) -> Reals:
        """Find the perturbation of the inputs x, (n, …), and return them perturbed and clipped.

        ``y`` has their classes, as numbers or one-hot; by default what the classifier says. A
        targeted attack needs the classes to reach.
        """
        if unknown:
            raise TypeError(
                f"UniversalPerturbation.generate takes x and y; {', '.join(unknown)} was given as well."
            )
        x, y = to_numpy(x), None if y is None else to_numpy(y)
        if x.ndim < 2 or len(x) == 0:
            raise ValueError(f"x should be an array (n, …) of at least one input; got shape {x.shape}.")
        self.queries = 0
        x = x if x.dtype.kind == "f" else x.astype(ART_NUMPY_DTYPE)
        reserved = len(x) * (2 if y is None else 1)
        if self.budget <= reserved:
            raise ValueError(
                f"A budget of {self.budget} leaves nothing for the attack: the labels and the fooling rate of {len(x)} inputs "
                f"take {reserved} of it. Pass y, fewer inputs, or a greater budget."
            )
        classes = self._classes(x, y)

        def margins(points: Reals, batch: Indices) -> Array:
            moved = self.perturbed(x[batch], points.reshape(-1, 1, *x.shape[1:]))
            scores = self._scores(moved.reshape(-1, *x.shape[1:]))
            return _margins(scores, np.tile(classes[batch], len(points)), self.targeted).reshape(
                len(points), -1
            )

        sample = np.empty(0, x.dtype)
        self.result = solve(
            BlackBox(margins, x[0].size, len(x), vectorized=True, at_once=self.batch_size, like=sample),
            self.region,
            method=self.method,
            budget=self.budget - reserved,
            rng=self.rng,
            diagnose=0,
            progress=self.verbose,
        )
        self.noise = self.result.x.reshape(1, *x.shape[1:]).astype(x.dtype)
        fooled = self.perturbed(x, self.noise)
        same = self._scores(fooled).argmax(axis=1) == classes
        self.fooling_rate = float(np.mean(same if self.targeted else ~same))
        return fooled

    @property
    def region(self) -> SetLike:
        """Return the set of flattened perturbations."""
        return self.set if self.set is not None else BALLS[_number(self.norm)](self.eps)

    def perturbed(self, x: Reals, noise: Reals) -> Reals:
        """Return x + noise within the classifier's clip values, in the precision of x."""
        moved = x + noise.astype(x.dtype)
        clip_values = self.estimator.clip_values
        return moved if clip_values is None else np.asarray(np.clip(moved, *clip_values), dtype=x.dtype)

    def _classes(self, x: Reals, y: Reals | None) -> Indices:
        """Return the class to leave, or to reach, of every input."""
        if y is None and self.targeted:
            raise ValueError("A targeted attack needs y, the classes to reach.")
        if y is None:
            return np.asarray(self._scores(x).argmax(axis=1))
        if len(y) != len(x):
            raise ValueError(f"There are {len(x)} inputs and {len(y)} labels; give one label for each input.")
        count = self.estimator.nb_classes
        if y.size == len(y) and not ((y >= 0) & (y < count)).all():
            raise ValueError(
                f"Labels should be classes from 0 to {count - 1}; they range from {y.min()} to {y.max()}."
            )
        one_hot = label_format(y, nb_classes=count)
        return np.asarray(one_hot.argmax(axis=1))

    def _scores(self, inputs: Reals) -> Array:
        """Return the scores of the classifier, (m, classes); every input counts."""
        self.queries += len(inputs)
        scores = np.asarray(self.estimator.predict(inputs, batch_size=self.batch_size), dtype=float)
        if scores.ndim != 2 or scores.shape[1] < 2:
            raise ValueError(
                f"The classifier should return scores of at least 2 classes, (m, classes); it returned the shape {scores.shape}."
            )
        return np.log(np.maximum(scores, TINY)) if self.probabilities else scores

    def _check_params(self) -> None:
        """Raise ValueError for a wrong setting; ART calls this after every change."""
        if self.set is None and _number(self.norm) not in BALLS:
            raise ValueError(
                f"norm should be np.inf, 2 or 1; got {self.norm!r}. Any other set goes in as set=…."
            )
        rules = {"eps": settings.positive, "budget": settings.whole(1), "batch_size": settings.whole(1)}
        switch = settings.rule("be True or False", lambda value: isinstance(value, bool))
        rules |= dict.fromkeys(("targeted", "probabilities", "verbose"), switch)
        for name, rule in rules.items():
            rule(name, attrgetter(name)(self))


def _number(norm: float | str) -> float | str:
    """Return ART's "inf" as the number it means."""
    return np.inf if norm == "inf" else norm


def _margins(scores: Array, classes: Indices, targeted: bool) -> Array:
    """Return s_y − max of the others, with the sign turned for a targeted attack."""
    place = np.arange(len(scores)), classes
    own = scores[place]
    scores[place] = -np.inf
    margins = own - scores.max(axis=1)
    return np.asarray(-margins if targeted else margins)
