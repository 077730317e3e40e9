r"""Ridge-Newton: Newton Frank-Wolfe for components that depend on few coordinates, each through one linear form.

    f_i(x) = φ_i(⟨z_i, x⟩), z_i along the coordinates of component i alone; x = Σ_j w_j a_j
    a difference table measures the noise of the values first
    repeat
        LOOK     at m components: z_i from differences along all their coordinates; atoms that minimise their model over X
                 z_i of all components along the coordinates of those atoms; m ← 3m                     (:mod:`.rays`)
        NEWTON   φ_i′, φ_i″ of every component by 3 values; x⁺ minimises the quadratic model over the atoms,
                 over X once m = n; a value on the segment to x⁺ approves the step                      (:mod:`.solve`)
        CERTIFY  a bound of the gap, from values of all components, that trusts no model

Sums of ridge functions are what linear models are (logistic and other losses of sparse rows, matrix completion, graphs). Whether the
components are such is measured after the first step. Where they are not, every component has a Hessian along its own coordinates
(:mod:`.blocks`). Where values are random, and where points must stay inside the set, the run goes on as Explore-Correct.

References
----------
D. Liu, V. Cevher, Q. Tran-Dinh, A Newton Frank-Wolfe method for constrained self-concordant minimization, J. Global Optim. 83, 2022.
A. Cohen, I. Daubechies, R. DeVore, G. Kerkyacharian, D. Picard, Capturing ridge functions in high dimensions from point
queries, Constructive Approximation 35, 2012.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zofw.algorithms.explore_correct import ExploreCorrect
from zofw.algorithms.explore_correct import State as Other
from zofw.algorithms.method import Facts, Method, methods
from zofw.algorithms.model.certificate import Evidence, certificate_price, certify, converged
from zofw.algorithms.model.line_search import approved
from zofw.algorithms.model.mixture import Mixture
from zofw.algorithms.model.noise import Values
from zofw.algorithms.model.noise import probe as measure_noise
from zofw.algorithms.ridge_newton import blocks
from zofw.algorithms.ridge_newton.rays import NO_RAYS, Probe, Rays, learn, probe, restricted
from zofw.algorithms.ridge_newton.solve import Model, by_projection, over_atoms
from zofw.atoms import Dense
from zofw.core import Answer, Array, Batch, Info, Pattern, Query, Step, Task
from zofw.differences import OwnDifferences
from zofw.extras import lazy

sp = lazy("scipy.sparse")

FIRST_LOOK = 1000  # components
MORE = 3  # times as many at the next look
FEW = 0.25  # of the coordinates: a vertex with more entries is dense, and a sample cannot find it
WORTH = 0.01  # of the best step: what atoms of a look bring, for another look at the same components
NEW_ATOMS = 16  # of a look
DRAWS = 32  # of the sample, with replacement: each has a vertex of its own
DEVIATIONS = 1.5  # of the sampling error, that an atom of a look is ahead
ACCURACY = 1e-3  # of the decrease: what may be left of the model's own gap
MOST_ATOMS = 200
CHECKED = 32  # components whose gradients are compared with their rays
PARALLEL = 1e-2  # sine of the angle between a gradient and its ray
MOST = 0.9  # of the components
BLOCKS = 2  # Newton steps that the budget has to pay, where components have Hessians of their own


@dataclass(frozen=True)
class State:
    """The iterate as a mixture of atoms, the rays known, and what comes next."""

    t: int
    x: Array
    mixture: Mixture
    values: Values = Values()
    other: Other | None = None  # the state of Explore-Correct, once it goes on
    sample: Rays = NO_RAYS  # along all their coordinates
    rays: Rays = NO_RAYS  # along those of the atoms
    at: Probe | None = None  # of the rays, at this x
    value: float = 0.0  # at a point near x
    next: str = "noise"  # or look, newton, check, certify
    looked: int = 0  # components of the last look
    dense: bool = False  # vertices have many entries
    ridge: bool = True  # components depend on one linear form each
    won: float = 0.0  # decrease seen since the last look
    best: float = 0.0  # and of the best step since the start


Action = Generator[Query, Answer, State]


@methods.register("ridge-newton")
@dataclass(frozen=True)
class RidgeNewton(Method):
    """Settings of Ridge-Newton: there is nothing to tune.

    Queries: adaptive. LOOK Σ(|support_i| + 4) over m components, and over all along the coordinates of the atoms; NEWTON 3n, and n
    for each value that approves; blocks in their place Σ(1 + 2s_i + ½s_i(s_i − 1)), s_i = |support_i|; CERTIFY 5n to Σ(2s_i + 12).
    """

    members_only: ClassVar[bool] = True
    facts = Facts(queries="adaptive", lmo=("0", "inf"))

    def init(self, task: Task, x0: Array) -> State:
        return State(0, x0, Mixture((Dense(x0),), np.ones(1)))

    def step(self, task: Task, state: State, rng: np.random.Generator) -> Step:
        values = state.values
        if state.other is not None:
            other, info = yield from _explore(task).step(task, state.other, rng)
            return replace(state, t=state.t + 1, x=other.x, other=other), info
        if math.isinf(values.noise):
            state = yield from _begin(task, state, rng)
            return replace(state, t=state.t + 1), Info()
        if state.next == "certify" and certificate_price(task, swept=False) <= task.remaining:
            unknown = Evidence(state.x, np.zeros(task.dim), values, state.value)
            found = yield from certify(task, unknown, rng)
            state, bound = replace(_hand_over(task, state), t=state.t + 1), found.certificate
            if bound is None:
                return state, Info()
            ending = converged(task, bound, found.values, found.value)
            return state, Info(gap=bound.gap, gap_error=bound.error, bound=bound.bound, ending=ending)
        match state.next:
            case "look":
                state = yield from _look(task, state, values, rng)
            case "newton":
                state = yield from _newton(task, state, values)
            case "check":
                state = yield from _check(task, state, values, rng)
            case _:
                state = _hand_over(task, state)
        numbers = {
            "atoms": len(state.mixture.atoms),
            "look": state.looked,
            "rays": len(state.rays.components),
        }
        return replace(state, t=state.t + 1), Info(numbers=numbers)


def _explore(task: Task) -> ExploreCorrect:
    return ExploreCorrect().resolve(task)[0]


def _hand_over(task: Task, state: State) -> State:
    """Continue as Explore-Correct from this x: noise and range are kept, rays are of no use there."""
    other = _explore(task).continued(task, state.x, state.values)
    return replace(state, other=other, sample=NO_RAYS, rays=NO_RAYS, at=None)


def _begin(task: Task, state: State, rng: np.random.Generator) -> Action:
    """The noise of the values, and whether the vertices have few entries."""
    if task.inside:
        return _hand_over(task, state)
    values, value = yield from measure_noise(task, state.x, rng)
    state = replace(state, values=values, value=value)
    if values.random or task.diameter == 0:
        return _hand_over(task, state)
    values = replace(values, range=max(values.range, abs(value), 1e-300))
    vertex = task.lmo(rng.standard_normal(task.dim)).dense()
    dense = bool(np.count_nonzero(vertex) > FEW * task.dim)
    return replace(state, values=values, next="look", dense=dense)


def _width(task: Task, values: Values) -> float:
    """h of the differences. A second difference is off by h²φ⁗/12 + 4ε/h², least where h is of the order (ε/range)^{1/4}, in units of
    the set; divided by √d because a coordinate of a typical step is so much shorter. Never below the resolution."""
    return max(values.radius(task, 4) * values.size / math.sqrt(task.dim), task.resolution)


def _look(task: Task, state: State, values: Values, rng: np.random.Generator) -> Action:
    """Atoms from the model of m components, and the rays of all along the coordinates of these atoms.

    1. m components: those of before, and as many fresh ones as make 1000, or three times as many; all where vertices are dense,
       where half are seen, or where a whole sweep is paid. A look that brought much is repeated with the same m.
    2. Their rays: differences along all coordinates of the fresh, p and q of the old at the new x.
    3. Atoms that minimise (1/m) Σ p_iτ_i + ½q_iτ_i² over X, as long as one is ahead by 1.5 standard errors of the sample; and
       32 more, vertices of the model with Poisson weights: a bootstrap of which atoms another sample would have found.
    4. z_i of all components along the union of the atoms' coordinates, which is what a step over these atoms can see.
    """
    h, n, seen = _width(task, values), task.n, state.sample
    growth = 1 if state.won > WORTH * state.best else MORE
    m = n if state.dense else min(n, max(growth * state.looked, FIRST_LOOK))
    m = n if 2 * m >= n or task.paid > task.sweep_cost else m
    others = np.setdiff1d(np.arange(n), seen.components)
    fresh = others if m == n else np.sort(rng.choice(others, m - state.looked, replace=False))
    pattern = task.pattern(task.all if len(fresh) == n else Batch(n, fresh))
    if pattern.cost + 3 * len(seen.components) + 12 * n > task.remaining:
        return _hand_over(task, state)
    sample, at = seen, Probe(*np.zeros((3, 0)))
    if len(seen.components):
        at = yield from probe(task, state.x, seen, h)
    if len(fresh):
        new, there = yield from learn(task, state.x, fresh, pattern, h, values.noise)
        sample, at = seen.joined(new), at.joined(there)
    if not len(sample.components):
        return _hand_over(task, state)
    state = replace(state, sample=sample, looked=m, won=0.0, next="newton")
    if m == n:
        return replace(state, rays=sample, at=at)
    model = Model(state.x, sample.matrix(task.dim), at.p, at.q, 1 / m)
    found = over_atoms(task, model, state.mixture, NEW_ATOMS, ACCURACY, DEVIATIONS)
    drawn = [task.lmo(model.Z.T @ (rng.poisson(1.0, len(at.p)) * at.p)) for _ in range(DRAWS)]
    atoms = state.mixture.atoms
    for atom in (*found.atoms, *drawn):
        atoms = atoms if atom in atoms else (*atoms, atom)
    if len(atoms) == len(state.mixture.atoms) and len(state.rays.components):
        return replace(state, next="look")
    mixture = Mixture(atoms, np.pad(state.mixture.weights, (0, len(atoms) - len(state.mixture.atoms))))
    pattern = restricted(task.pattern(task.all), np.any([a.dense() != 0 for a in atoms], axis=0))
    touched = np.flatnonzero(pattern.sizes)
    pattern = Pattern(np.append(pattern.starts[touched], pattern.starts[-1]), pattern.index)
    if pattern.cost + 12 * n > task.remaining:
        return _hand_over(task, state)
    rays, at = yield from learn(task, state.x, touched, pattern, h, values.noise)
    if not len(rays.components):
        return _hand_over(task, state)
    return replace(state, rays=rays, at=at, mixture=mixture)


def _newton(task: Task, state: State, values: Values) -> Action:
    """One step to the minimiser of the model, as far as the values approve.

    x⁺ minimises m(s) = (1/n) Σ_i p_iτ_i + ½q_iτ_i², τ = Z(s − x), over the atoms, or over X once all components are looked at. Where
    the model promises less than values can show, nothing is asked. A share θ < 1 leaves both mixtures: weights
    (1 − θ)w on the old atoms and θw⁺ on the new. A step that brings a tenth of the best of this look, or nothing that is seen, ends it.
    """
    n, h = task.n, _width(task, values)
    if state.ridge:
        if 12 * len(state.rays.components) > task.remaining:
            return _hand_over(task, state)
        at = state.at or (yield from probe(task, state.x, state.rays, h))
        model = Model(state.x, state.rays.matrix(task.dim), at.p, at.q, 1 / n)
        answered = np.isfinite(at.value)
        batch, value = Batch(n, state.rays.components[answered]), float(at.value[answered].sum()) / n
    else:
        if blocks.price(task.pattern(task.all)) + 9 * n > task.remaining:
            return _hand_over(task, state)
        model, each = yield from blocks.measure(task, state.x, h)
        answered = np.isfinite(each)
        batch = task.all if answered.all() else Batch(n, np.flatnonzero(answered))
        value = float(each[answered].sum()) / n
    whole = state.looked == n
    if whole and state.dense and task.can_project:
        target = by_projection(task, model)
    else:
        target = over_atoms(task, model, state.mixture, MOST_ATOMS if whole else 0, ACCURACY)
    there = target.point()
    step = there - state.x
    tau = model.Z @ step
    slope, decrease = float(model.p @ tau) / n, -model.value(tau)
    theta, brought = 0.0, 0.0
    if decrease > values.unseen:
        share = len(batch) / n  # components that move along these atoms; ``value`` is their part of f
        theta, after = yield from approved(task, state.x, step, batch, value, slope, decrease, scale=share)
        brought = value - after
    if theta == 1.0:
        state = replace(state, mixture=target, x=there, at=None)
    elif theta > 0:
        x = state.x + theta * step
        state = replace(state, mixture=state.mixture.toward(target, theta), x=x, at=None)
    done = brought <= 0.1 * state.won if not whole else brought <= max(values.unseen, 1e-9 * state.best)
    first, turned = state.best == 0 and state.ridge, theta == 0 and decrease > values.unseen
    gained = replace(state.values, gained=state.values.gained + max(brought, 0.0))
    state = replace(state, won=max(state.won, brought), best=max(state.best, brought), values=gained)
    if first and turned:
        return _no_ridges(task, state)
    if done:
        return replace(state, next="certify" if whole else "look")
    return replace(state, next="check" if first else "newton")


def _check(task: Task, state: State, values: Values, rng: np.random.Generator) -> Action:
    """Are gradients at the new x multiples of the rays?

    ∇f_i(x) = φ_i′z_i for a ridge, wherever x is. Of 32 components with two coordinates or more, nine tenths have to have gradients
    within an angle of 0.01 of their rays, or they are no ridges; that costs their slopes once more.
    """
    several = np.flatnonzero(np.diff(state.rays.starts) > 1)
    state = replace(state, next="newton")
    if not len(several):
        return state
    some = np.sort(rng.choice(several, min(CHECKED, len(several)), replace=False))
    Z = state.rays.matrix(task.dim)[some]
    pattern = Pattern(Z.indptr.astype(np.int64), Z.indices.astype(np.int64))
    if pattern.cost + 3 * len(some) > task.remaining:
        return _hand_over(task, state)
    own = OwnDifferences.of(
        state.x, Batch(task.n, state.rays.components[some]), pattern, _width(task, values)
    )
    G = sp.csr_array((own.slopes((yield own.query))[0], Z.indices, Z.indptr), shape=Z.shape)
    lengths = np.sqrt((G * G).sum(axis=1) * (Z * Z).sum(axis=1))
    sines = 1 - ((G * Z).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)) ** 2
    parallel = np.count_nonzero(sines[lengths > 0] <= PARALLEL**2) >= MOST * np.count_nonzero(lengths)
    return state if parallel else _no_ridges(task, state)


def _no_ridges(task: Task, state: State) -> State:
    """Every component has a Hessian of its own from now on, where the budget pays these twice; else Explore-Correct goes on."""
    if BLOCKS * blocks.price(task.pattern(task.all)) > task.remaining:
        return _hand_over(task, state)
    return replace(state, ridge=False, looked=task.n, sample=NO_RAYS, rays=NO_RAYS, at=None, next="newton")
