"""The table of kernels: complete, true of what runs, and printed as it is."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import zofw
from zofw.cli.app import app
from zofw.core import Batch, Query, Stencil
from zofw.kernels import table
from zofw.problems import Logistic, evaluate
from zofw.problems.linear import kernel_for

SPARSE = sp.csr_array(
    sp.random_array((40, 3000), density=0.02, random_state=np.random.default_rng(0), format="csr")
)
LAWS = {name: law() for name, law in zofw.laws().items()}


def queries(law, batch=40):
    """A query of every stencil."""
    for b in (3, 40):
        U, x = law.draw(np.random.default_rng(1), 3000, b), np.zeros(3000)
        for stencil in (Stencil.CENTRAL, Stencil.FORWARD, Stencil.QUADRATIC):
            yield Query(x, Batch(batch), U, 1e-3, stencil)
            yield Query(x, Batch(batch), U, 1e-3, stencil, variance=True)
        yield Query(x, Batch(batch, np.arange(b)), U, 1e-3, Stencil.CENTRAL, paired=True)


def test_every_law_storage_and_stencil_has_a_kernel():
    every = {
        (law, storage, s) for law in table.LAWS for storage in table.STORAGES for s in table.STENCILS[1:]
    }
    assert set(table.KERNELS) == every | {("none", storage, "value") for storage in table.STORAGES}


def spied_on(monkeypatch, ran):
    """Have every routine of the model leave its name."""

    def spy(name, routine):
        return lambda *arguments: (ran.append(name), routine(*arguments))[1]

    for name in {row.routine for row in table.KERNELS.values()}:
        watched = spy(name, getattr(Logistic, f"_{name}"))
        monkeypatch.setattr(Logistic, f"_{name}", watched)
        monkeypatch.setitem(Logistic._routines, name, watched)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("sparse", [True, False])
def test_what_the_table_says_is_what_runs(law, sparse, monkeypatch):
    problem, ran, said = Logistic(SPARSE if sparse else SPARSE.toarray(), np.ones(40)), [], []
    spied_on(monkeypatch, ran)
    for query in queries(law):
        said.append(problem.kernel(query).routine)
        evaluate(problem, query)
    assert ran == said


@pytest.mark.parametrize(
    ("law", "dim", "directions", "options", "sparse", "kernel"),
    [
        ("rademacher", 123, 20, {}, True, "row_groups, table"),
        ("rademacher", 47236, 400, {}, True, "row_groups, streams"),
        ("gaussian", 47236, 400, {"stencil": Stencil.FORWARD}, True, "column_blocks"),
        ("gaussian", 1000, 100, {}, False, "product_groups"),
        ("coordinate", 1000, 100, {}, True, "coordinate_groups"),
        ("sphere", 1000, 100, {"variance": True}, True, None),
        ("sphere", 1000, 100, {"paired": True}, True, None),
    ],
)
def test_which_kernel_a_query_would_run(law, dim, directions, options, sparse, kernel):
    U = zofw.laws()[law]().draw(np.random.default_rng(0), dim, directions)
    query = Query(np.zeros(dim), Batch(directions), U, 1.0, **({"stencil": Stencil.CENTRAL} | options))
    assert kernel_for(query, sparse).kernel == kernel


def test_the_doctor_shows_the_whole_table():
    rows = json.loads(CliRunner().invoke(app, ["doctor", "--kernels", "--json"]).stdout)
    assert [row["kernel"] for row in rows] == [row.kernel for row in table.KERNELS.values()]
