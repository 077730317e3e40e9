"""Arrays of other kinds: what the function gets, on which device, and what it may answer with."""

from __future__ import annotations

import concurrent.futures
import pickle

import numpy as np
import pytest

import zofw
from zofw.arrays import as_kind, nonnegative, sample_of_kind, to_numpy
from zofw.core import Batch, EvaluationError, Query, Stencil
from zofw.directions import basis
from zofw.problems import BlackBox, evaluate, mean_value

DIM, N = 4, 3
TARGETS = np.arange(N * DIM, dtype=float).reshape(N, DIM) / 10


def component(x, i):
    return float(np.sum((x - TARGETS[i]) ** 2))


def tensor_component(x, i):
    import torch

    return ((x - torch.as_tensor(TARGETS[i], dtype=x.dtype)) ** 2).sum()


def query(variance=False):
    return Query(np.full((1, DIM), 0.5), Batch(N), basis(DIM), 0.1, Stencil.CENTRAL, variance=variance)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed (extra torch)")


@pytest.fixture
def strict():
    return pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")


def strict_device(xp, name="device1"):
    return xp.Device(name)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_function_of_tensors(torch, precision):
    dtype, seen = getattr(torch, precision), []

    def fun(x, i):
        seen.append((x.dtype, tuple(x.shape), x.device.type, type(i)))
        return tensor_component(x, i)

    problem = BlackBox(fun, DIM, N, like=torch.zeros(100, dtype=dtype))
    found = evaluate(problem, query()).values
    expected = evaluate(BlackBox(component, DIM, N), query()).values
    np.testing.assert_allclose(found, expected, rtol=1e-6 if precision == "float32" else 1e-14)
    assert set(seen) == {(dtype, (DIM,), "cpu", int)}
    assert problem.like.numel() == 0, "only the kind is kept"


def test_a_vectorised_function_of_tensors_gets_its_batch_as_one(torch):
    targets = torch.as_tensor(TARGETS)

    def fun(X, batch):
        assert batch.dtype == torch.int64
        return ((X[:, None, :] - targets[batch]) ** 2).sum(dim=2)

    problem = BlackBox(fun, DIM, N, vectorized=True, like=targets)
    found, expected = (evaluate(p, query(variance=True)) for p in (problem, BlackBox(component, DIM, N)))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-14)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-10)


def test_a_function_may_write_on_its_tensor(torch):
    def spoils(x, i):
        x -= torch.as_tensor(TARGETS[i])
        return (x * x).sum()

    found = evaluate(BlackBox(spoils, DIM, N, like=torch.zeros(1, dtype=torch.float64)), query()).values
    np.testing.assert_allclose(found, evaluate(BlackBox(component, DIM, N), query()).values, rtol=1e-14)


@pytest.mark.parametrize("with_like", [True, False])
def test_values_with_a_gradient_or_of_half_precision(torch, with_like):
    weight = torch.nn.Parameter(torch.tensor(2.0))
    like = torch.zeros(1) if with_like else None
    for answer in (weight * 3, (weight * 3).to(torch.bfloat16), (weight * 3)[None], torch.tensor(6)):
        assert mean_value(BlackBox(lambda x, a=answer: a, DIM, like=like), np.ones(DIM)) == 6.0
    table = BlackBox(lambda X, batch: weight.expand(len(X), len(batch)), DIM, N, vectorized=True, like=like)
    assert mean_value(table, np.ones(DIM)) == 2.0


@pytest.mark.parametrize("answer", ["pair", "complex", "sparse", "list"])
def test_answers_that_are_no_number_are_named(torch, answer):
    answers = {
        "pair": torch.zeros(2),
        "complex": torch.tensor(1j),
        "sparse": torch.eye(2).to_sparse(),
        "list": [torch.zeros(2), torch.zeros(3)],
    }
    with pytest.raises(EvaluationError, match="should return one number for component 0"):
        mean_value(BlackBox(lambda x: answers[answer], DIM, like=torch.zeros(1)), np.ones(DIM))


def test_a_vectorised_answer_that_is_no_array_is_named(torch):
    weight = torch.nn.Parameter(torch.zeros(1))
    problem = BlackBox(lambda X, batch: [[weight] * len(batch)] * len(X), DIM, N, vectorized=True)
    with pytest.raises(EvaluationError, match="it returned something else"):
        mean_value(problem, np.ones(DIM))


def test_a_run_is_the_same_in_every_kind(torch, strict):
    def distance(x, i):
        return ((x - 0.1 * i) ** 2).sum()

    xp = strict
    kinds = [
        (distance, None),
        (distance, np.zeros(1)),
        (distance, torch.zeros(1, dtype=torch.float64)),
        (lambda x, i: xp.sum((x - 0.1 * i) ** 2), xp.zeros(1)),
        (lambda x, i: xp.sum((x - 0.1 * i) ** 2), xp.zeros(1, device=strict_device(xp))),
    ]
    results = [
        zofw.minimize(BlackBox(fun, DIM, N, like=like), zofw.L1Ball(), method="zo-fw", budget=300, rng=0)
        for fun, like in kinds
    ]
    for result in results:
        assert type(result.x) is np.ndarray and result.nfev == results[0].nfev
        np.testing.assert_allclose(result.x, results[0].x, atol=1e-12)


def test_the_default_method_meets_single_precision(torch):
    centre = torch.tensor([0.4, -0.3, 0.0, 0.1])
    problem = BlackBox(lambda x: ((x - centre) ** 2).sum(), DIM, like=centre)
    result = zofw.minimize(problem, zofw.L1Ball(1.0), budget=1_000, rng=0)
    np.testing.assert_allclose(result.x, centre, atol=2e-3)


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
@pytest.mark.parametrize("vectorized", [True, False])
def test_a_strict_namespace(strict, device, vectorized):
    xp, where = strict, strict_device(strict, device)
    targets = xp.asarray(TARGETS, device=where)

    def one(x, i):
        assert x.device == where
        return xp.sum((x - targets[i, :]) ** 2)

    def many(X, batch):
        assert X.device == batch.device == where
        return xp.sum((X[:, None, :] - xp.take(targets, batch, axis=0)[None, ...]) ** 2, axis=2)

    problem = BlackBox(many if vectorized else one, DIM, N, vectorized, like=targets)
    found = evaluate(problem, query()).values
    np.testing.assert_allclose(found, evaluate(BlackBox(component, DIM, N), query()).values, rtol=1e-14)


def test_single_precision_in_numpy_by_the_same_word():
    seen = []
    problem = BlackBox(lambda x: seen.append(x.dtype) or float(x @ x), DIM, like=np.zeros(0, np.float32))
    mean_value(problem, np.ones(DIM))
    assert seen == [np.float32]


def test_kinds_travel_to_workers(torch):
    problem = BlackBox(tensor_component, DIM, N, like=torch.zeros(10**6, dtype=torch.float64))
    assert len(pickle.dumps(problem)) < 2_000
    alone = zofw.minimize(problem, zofw.L1Ball(), method="zo-fw", budget=200, rng=0)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        spread = zofw.minimize(problem, zofw.L1Ball(), method="zo-fw", budget=200, rng=0, workers=pool)
    np.testing.assert_array_equal(spread.x, alone.x)


def test_tensors_as_data(torch, strict):
    Z, y = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([1, -1, 1, 1, -1])
    as_numpy = zofw.problems.Logistic(Z.numpy(), y.numpy()).value(np.ones(3))
    assert zofw.problems.Logistic(Z, y).value(np.ones(3)) == as_numpy
    assert (
        zofw.problems.Logistic(strict.asarray(Z.numpy()), strict.asarray(y.numpy())).value(np.ones(3))
        == as_numpy
    )


def test_bad_kinds_end_in_a_sentence(torch, strict):
    for like in ([0.0], "torch", 1.0):
        with pytest.raises(TypeError, match="like should be an array whose kind the function wants"):
            BlackBox(component, DIM, N, like=like)
    for like in (
        torch.zeros(1, dtype=torch.int64),
        strict.zeros(1, dtype=strict.int64),
        np.zeros(1, complex),
    ):
        with pytest.raises(ValueError, match="like should hold real numbers in floating point; its dtype is"):
            BlackBox(component, DIM, N, like=like)


def test_memory_is_shared_where_it_can_be(torch, strict):
    array = np.arange(3.0)
    array.setflags(write=False)
    assert np.shares_memory(as_kind(array, sample_of_kind(np.zeros(1))), array)
    assert np.shares_memory(to_numpy(as_kind(array, sample_of_kind(strict.zeros(1)))), array)
    tensor = torch.arange(3.0)
    assert np.shares_memory(to_numpy(tensor), tensor.numpy())


def test_tensors_are_taken_as_data_and_as_a_start():
    torch = pytest.importorskip("torch")
    Z = torch.linspace(-1.0, 1.0, 24, dtype=torch.float32, requires_grad=True).reshape(6, 4)
    y = torch.tensor([1.0, -1.0] * 3)
    start = torch.zeros(4, dtype=torch.float32, requires_grad=True)
    arrays = [zofw.problems.Logistic(np.array(Z.tolist()), np.array(y.tolist())), np.zeros(4)]
    tensors = [zofw.problems.Logistic(Z, y), start]
    found = [
        zofw.minimize(f, zofw.L1Ball(1.0), x0=x0, budget=300, rng=0, method="zo-sfw")
        for f, x0 in (arrays, tensors)
    ]
    np.testing.assert_array_equal(found[0].x, found[1].x)


def test_least_squares_with_a_sign_where_scipy_circles(monkeypatch):
    rng = np.random.default_rng(0)
    E, f = rng.normal(size=(9, 5)), rng.normal(size=9)
    expected = nonnegative(E, f)

    def circles(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("scipy.optimize.nnls", circles)
    np.testing.assert_allclose(nonnegative(E, f), expected, atol=1e-12)
    assert (expected >= 0).all() and (expected == 0).any()
