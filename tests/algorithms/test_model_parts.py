"""The parts that the defaults share: quadratic over atoms, line search, certificate, mixture, noise."""

from __future__ import annotations

import numpy as np
import pytest

import zofw
from zofw.algorithms.model.certificate import SURE
from zofw.algorithms.model.line_search import approved
from zofw.algorithms.model.mixture import Mixture, carrying
from zofw.algorithms.model.noise import probe, rounding_of
from zofw.algorithms.model.quadratic import simplex_step
from zofw.atoms import Dense
from zofw.core import Answer, Task
from zofw.problems import BlackBox, evaluate


@pytest.mark.parametrize("k", [6, 30])
def test_the_small_quadratic_programme_is_solved_however_long_its_valleys(k):
    """At the minimiser all atoms with weight have the least slope; conditions of 1e6 would take pairwise steps for ever."""
    draw = np.random.default_rng(k)
    Q, _ = np.linalg.qr(draw.standard_normal((k, k)))
    H, w, best = Q * np.logspace(-6, 0, k) @ Q.T, np.full(k, 1 / k), draw.dirichlet(np.ones(k))
    c = H @ (w - best)
    v = w + simplex_step(c, (H + H.T) / 2, w)
    slopes = c + H @ (v - w)
    assert v.min() >= 0 and v.sum() == pytest.approx(1.0) and slopes[v > 0].max() - slopes.min() < 1e-11
    np.testing.assert_allclose(v, best, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_small_quadratic_programme_is_solved_where_rounding_bends_it_down(seed):
    """A Hessian of rank one over many atoms: what it has beside its one eigenvalue is rounding of both signs."""
    draw = np.random.default_rng(seed)
    u, c, w = 80 * draw.standard_normal(60), draw.standard_normal(60), draw.dirichlet(np.ones(60))
    noise = 1e-9 * draw.standard_normal((60, 60))
    H = np.outer(u, u) + noise + noise.T
    p = simplex_step(c, H, w)
    slopes = c + H @ p
    assert slopes[w + p > 0].max() - slopes.min() < 1e-9


@pytest.mark.parametrize("d", [2, 9, 40])
def test_a_wrong_gradient_passes_the_test_of_a_certificate_no_oftener_than_it_says(d):
    """|eᵀu| < ‖e‖/13 for two Gaussian u: four times in a thousand, whatever e and d."""
    draw = np.random.default_rng(d)
    e = draw.standard_normal(d)
    u = draw.standard_normal((40_000, d, 2))
    missed = SURE * np.abs(np.einsum("i,kij->kj", e, u)).max(axis=1) < np.linalg.norm(e)
    assert 0.002 < missed.mean() < 0.005


def test_a_step_is_shortened_by_the_parabola_through_its_values() -> None:
    """θ⁺ = −slope/bend with bend = 2(f(θ) − f(0) − θ·slope)/θ², between 0.1 θ and 0.5 θ."""
    task, x, step = Task(zofw.L1Ball(5.0), 80, 300), np.zeros(80), np.eye(80)[0]
    search = approved(task, x, step, task.all, 2.0, slope=-1.0, promised=0.5)
    refused = [Answer(np.array([[value]])) for value in (2.3, 2.1)]  # f(0) = 2
    thetas = [float(query.anchors[0, 0]) for query in (next(search), *map(search.send, refused))]
    first = 1.0 / (2 * (0.3 + 1.0))
    second = 1.0 / (2 * (0.1 + first) / first**2)
    assert thetas == pytest.approx([1.0, first, second])
    with pytest.raises(StopIteration) as end:
        search.send(Answer(np.array([[1.9]])))
    assert end.value.value == pytest.approx((second, 1.9))


@pytest.mark.parametrize(("fall", "share"), [(0.02, 0.0), (0.2, 1.0)])
def test_a_step_along_negative_curvature_has_to_bring_a_tenth_of_what_the_model_promises(fall, share) -> None:
    task, x, step = Task(zofw.L1Ball(5.0), 3, 300), np.zeros(3), np.eye(3)[0]
    search = approved(task, x, step, task.all, 2.0, slope=0.0, bend=-2.0, tries=1)  # a decrease of 1
    next(search)
    with pytest.raises(StopIteration) as end:
        search.send(Answer(np.array([[2.0 - fall]])))
    assert end.value.value[0] == share


def test_an_atom_of_both_mixtures_stands_once() -> None:
    """Partial steps double the atoms otherwise, and the small quadratic programme stands still."""
    a, b, c = (Dense(row) for row in np.eye(3))
    mixed = Mixture((a, b), np.array([0.5, 0.5])).toward(Mixture((b, c), np.array([0.25, 0.75])), 0.2)
    assert mixed.atoms == (a, b, c)
    np.testing.assert_allclose(mixed.weights, [0.4, 0.45, 0.15])


def test_weights_that_are_rounding_carry_nothing() -> None:
    keep, weights = carrying(np.array([0.5, 1e-15, 0.25]))
    assert keep.tolist() == [0, 2]
    np.testing.assert_allclose(weights, [2 / 3, 1 / 3])


@pytest.mark.parametrize("noise", [1e-3, 1e-9])
def test_the_probe_measures_the_noise_of_values(noise: float) -> None:
    """Within a factor of ten: third differences of four values, and one value twice."""
    draw = np.random.default_rng(0)
    problem = BlackBox(lambda x: float(x @ x + x.sum() + noise * draw.standard_normal()), dim=6)
    task, found = Task(zofw.Box(-1.0, 1.0), 6, budget=1000), []
    for seed in range(20):
        action, reply = probe(task, np.full(6, 0.1), np.random.default_rng(seed)), None
        with pytest.raises(StopIteration) as end:
            for _ in range(20):
                reply = evaluate(problem, action.send(reply))
        found.append(end.value.value[0].noise)
    assert noise / 5 < np.median(found) < 10 * noise


def test_steps_of_values_are_their_rounding() -> None:
    values = np.array([0.3, 0.3, 0.6, 0.9, 1.2])
    assert rounding_of(values) == pytest.approx(0.3)
    assert rounding_of(values + np.arange(5) * 1e-3) < 1e-15
