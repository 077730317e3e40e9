"""The parameters of a module in a set, from values of a loss."""

from __future__ import annotations

import concurrent.futures

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra torch)")

import torch

import zofw
from zofw.adapters import minimize_module


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors are quickest on one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def data(n=3, rows=20, dim=4):
    """Batches of a linear model with a sparse truth."""
    random = torch.Generator().manual_seed(0)
    truth = torch.zeros(dim, 1)
    truth[1, 0] = 0.8
    inputs = [torch.randn(rows, dim, generator=random) for _ in range(n)]
    return [(z, z @ truth + 0.1) for z in inputs], truth


def squares(module, batch):
    inputs, outputs = batch
    return torch.mean((module(inputs) - outputs) ** 2)


def linear(dim=4, dtype=torch.float32):
    module = torch.nn.Linear(dim, 1, dtype=dtype)
    with torch.no_grad():
        module.weight.zero_()
        module.bias.zero_()
    return module


def flat(module):
    return np.concatenate([p.detach().double().numpy().ravel() for p in module.parameters()])


def test_a_module_ends_with_what_was_found():
    batches, truth = data()
    module = linear()
    calls = []

    def loss(module, batch):
        assert not torch.is_grad_enabled() and not module.training
        calls.append(1)
        return squares(module, batch)

    result = minimize_module(module, loss, batches, zofw.L1Ball(1.0), budget=2_000, rng=0, diagnose=0)
    assert result.nfev == len(calls) <= 2_000
    np.testing.assert_allclose(result.x, [*truth[:, 0], 0.1], atol=5e-3)
    np.testing.assert_array_equal(flat(module), result.x.astype(np.float32))
    assert module.training and all(p.requires_grad and p.grad is None for p in module.parameters())
    assert zofw.L1Ball(1.0).contains(result.x)


def test_a_set_for_each_parameter_and_none_for_the_rest():
    batches, truth = data()
    module = linear()
    sets = {"bias": zofw.Box(-0.05, 0.05), "weight": zofw.L1Ball(1.0)}
    result = minimize_module(module, squares, batches, sets, budget=3_000, rng=0)
    np.testing.assert_allclose(module.weight.detach().numpy()[0], truth[:, 0], atol=0.05)
    assert module.bias.item() == pytest.approx(0.05, abs=1e-6)
    assert result.x.shape == (5,)
    module = linear()
    result = minimize_module(module, squares, batches, {"weight": zofw.L1Ball(1.0)}, budget=500, rng=0)
    assert module.bias.item() == 0.0 and result.x.shape == (4,)


def test_parameters_without_a_gradient_stay():
    batches, _ = data()
    module = linear()
    module.bias.requires_grad_(False)
    result = minimize_module(module, squares, batches, zofw.L1Ball(1.0), budget=500, rng=0)
    assert result.x.shape == (4,) and module.bias.item() == 0.0


def test_a_set_around_where_the_module_is():
    batches, _ = data()
    batches = [(z.double(), t.double()) for z, t in batches]
    module = torch.nn.Linear(4, 1, dtype=torch.float64)
    before = flat(module)
    result = minimize_module(
        module, squares, batches, zofw.L2Ball(0.1), relative=True, budget=1_000, rng=0, diagnose=20
    )
    np.testing.assert_allclose(flat(module) - before, result.x, atol=1e-15)
    assert np.linalg.norm(result.x) <= 0.1 * (1 + 1e-9)
    assert result.fun < result.trace.objective[0]


def test_a_second_run_goes_on_from_the_first():
    batches, _ = data()
    module = linear()
    for set_ in (zofw.L1Ball(0.3), zofw.L1Ball(0.3)):
        last = minimize_module(module, squares, batches, set_, budget=300, rng=0, diagnose=20)
    assert last.trace.objective[0] < 0.5
    assert zofw.L1Ball(0.3).contains(last.x)


def test_a_start_outside_is_refused_and_a_start_elsewhere_taken():
    batches, _ = data()
    module = torch.nn.Linear(4, 1)
    before = flat(module)
    with pytest.raises(ValueError, match=r"The parameters of the module are not in L1Ball.*relative=True"):
        minimize_module(module, squares, batches, zofw.L1Ball(0.01), budget=300)
    np.testing.assert_array_equal(flat(module), before)
    result = minimize_module(
        module, squares, batches, zofw.L1Ball(0.5), x0=torch.zeros(5, requires_grad=True), budget=300, rng=0
    )
    np.testing.assert_array_equal(flat(module), result.x.astype(np.float32))


@pytest.mark.parametrize("error", [KeyError("lost")])
def test_an_error_leaves_the_module_as_it_was(error):
    batches, _ = data()
    module = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Dropout())
    module[1].eval()
    before, calls = flat(module), []

    def loss(module, batch):
        calls.append(1)
        if len(calls) > 20:
            raise error
        return squares(module, batch)

    with pytest.raises((zofw.EvaluationError, KeyboardInterrupt)):
        minimize_module(module, loss, batches, zofw.L2Ball(1.0), relative=True, budget=500)
    np.testing.assert_array_equal(flat(module), before)
    assert [part.training for part in module.modules()] == [True, True, False]


def test_a_loss_without_a_gradient_and_buffers_left_alone():
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(200, 3, generator=random)
    labels = (inputs[:, 0] > 0).long()
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3, affine=False), torch.nn.Linear(3, 2))
    mean = module[0].running_mean.clone()

    def error_rate(module, batch):
        return (module(batch[0]).argmax(dim=1) != batch[1]).double().mean()

    method = zofw.papers.ZOFW(radius=0.1)
    result = minimize_module(
        module,
        error_rate,
        [(inputs, labels)],
        zofw.L2Ball(2.0),
        x0=np.full(8, 0.1),
        method=method,
        budget=600,
        rng=0,
    )
    assert result.fun < 0.2
    torch.testing.assert_close(module[0].running_mean, mean)


def test_a_dataset_is_a_list_of_components_and_a_loader_is_not():
    batches, _ = data(n=1, rows=6)
    dataset = torch.utils.data.TensorDataset(*batches[0])
    module = linear()
    result = minimize_module(module, squares, dataset, zofw.L1Ball(1.0), budget=600, rng=0)
    assert result.fun < 0.1
    loader = torch.utils.data.DataLoader(dataset, batch_size=2)
    with pytest.raises(TypeError, match=r"got DataLoader. For a DataLoader pass list\(loader\)"):
        minimize_module(linear(), squares, loader, zofw.L1Ball(1.0), budget=600)
    assert minimize_module(linear(), squares, list(loader), zofw.L1Ball(1.0), budget=600, rng=0).fun < 0.1


def test_threads_do_not_mix_parameters_up():
    batches, _ = data()
    results = []
    for threads in (None, 3):
        pool = None if threads is None else concurrent.futures.ThreadPoolExecutor(threads)
        results.append(
            minimize_module(
                linear(), squares, batches, zofw.L1Ball(1.0), method="zo-fw", budget=300, rng=0, workers=pool
            )
        )
        if pool is not None:
            pool.shutdown()
    np.testing.assert_array_equal(results[0].x, results[1].x)


def test_tied_parameters_are_one():
    first, second = torch.nn.Linear(3, 3, bias=False), torch.nn.Linear(3, 3, bias=False)
    second.weight = first.weight
    module = torch.nn.Sequential(first, second)
    batch = torch.eye(3)
    result = minimize_module(
        module,
        lambda m, b: ((m(b) - b) ** 2).mean(),
        [batch],
        zofw.L2Ball(5.0),
        relative=True,
        budget=500,
        rng=0,
    )
    assert result.x.shape == (9,) and module[0].weight is module[1].weight


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"module": "net"}, TypeError, "needs a torch.nn.Module; got str"),
        ({"set": {"wieght": None}}, ValueError, "no parameter 'wieght'; it has weight, bias"),
        ({"set": {}}, ValueError, "nothing to optimise"),
        ({"module": torch.nn.ReLU()}, ValueError, "nothing to optimise"),
        ({"batches": []}, ValueError, "n to be a whole number of at least 1"),
        ({"set": zofw.Simplex(), "batches": iter([1])}, TypeError, "asked for again by number"),
    ],
)
def test_what_cannot_be_done_is_said(change, error, sentence):
    given = {"module": linear(), "loss": squares, "batches": data()[0], "set": zofw.L1Ball(1.0)} | change
    with pytest.raises(error, match=sentence):
        minimize_module(**given, budget=100)
