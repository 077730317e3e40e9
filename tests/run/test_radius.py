"""A radius that leaves nothing but rounding is named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import zofw
from zofw.core import Batch, Query, Stencil
from zofw.problems import BlackBox, evaluate
from zofw.problems.abilities import abilities
from zofw.run.session.run_warnings import RadiusWatch


def ask(watch, problem, mu, stencil=Stencil.CENTRAL):
    U = zofw.directions.Rademacher().draw(np.random.default_rng(0), problem.dim, 30)
    query = Query(np.full(problem.dim, 0.3), Batch(problem.n), U, mu, stencil)
    watch(query, evaluate(problem, query))


def smooth():
    return BlackBox(lambda x: float(1.0 + np.sin(x).sum()), dim=10)


@pytest.mark.parametrize("stencil", [Stencil.CENTRAL, Stencil.FORWARD])
def test_too_small_a_radius_is_named_once(stencil):
    problem, watch = smooth(), RadiusWatch(float)
    with pytest.warns(UserWarning, match="radius 1e-15 is too small"):
        ask(watch, problem, 1e-15, stencil)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(watch, problem, 1e-15, stencil)


def test_a_good_radius_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(RadiusWatch(float), smooth(), 1e-5)


class Single:
    """Values in single precision."""

    n, dim, dtype = 1, 10, np.float32

    def values(self, points, components):
        return np.float32(1.0 + np.sin(points).sum(axis=1))[:, None].astype(float)


def test_the_precision_is_that_of_the_problem():
    with pytest.warns(UserWarning, match="precision of 1.2e-07"):
        ask(RadiusWatch(abilities(Single()).dtype), Single(), 1e-8 * 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(RadiusWatch(abilities(Single()).dtype), Single(), 1e-3)


def test_directions_that_change_nothing_do_not_count():
    problem = BlackBox(lambda x: 1.0 + float(np.sin(x[0])), dim=10)
    query = Query(np.full(10, 0.3), Batch(1), zofw.directions.basis(10), 1e-9, Stencil.CENTRAL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RadiusWatch(float)(query, evaluate(problem, query))
