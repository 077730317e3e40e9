"""Weights that do not fit end in a sentence, and no pickle is executed."""

from __future__ import annotations

import os

import numpy as np
import pytest

WHY = "torch is not installed: pip install '.[torch]'"
torch = pytest.importorskip("torch", reason=WHY)
targets = pytest.importorskip("zofw_paper.targets", reason=WHY)
WeightsError = targets.WeightsError
torch.set_num_threads(1)  # the suite runs in several processes


@pytest.fixture
def network() -> torch.nn.Module:
    return targets.resnet18(width=2)


def saved(network: torch.nn.Module, path, form: str, **changes: torch.Tensor | None):
    state = {**network.state_dict(), **changes}
    state = {name: value for name, value in state.items() if value is not None}
    match form:
        case "npz":
            np.savez(path, **{name: value.numpy() for name, value in state.items()})
        case "plain":
            torch.save(state, path)
        case _:
            torch.save({form: {f"module.{name}": value for name, value in state.items()}, "epoch": 3}, path)
    return path


@pytest.mark.parametrize("form", ["npz", "plain", "state_dict", "net"])
def test_round_trip(network, tmp_path, form) -> None:
    path = saved(network, tmp_path / ("w.npz" if form == "npz" else "w.pt"), form)
    again = targets.resnet18(path, width=2)
    assert not again.training
    x = torch.rand(2, 3, 32, 32) - 0.5
    assert torch.equal(again(x), network.to(memory_format=torch.channels_last).eval()(x))


def test_counters_may_be_missing(network, tmp_path) -> None:
    state = network.state_dict()
    counters = {name: None for name in state if name.endswith("num_batches_tracked")}
    targets.resnet18(saved(network, tmp_path / "w.npz", "npz", **counters), width=2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"linear.bias": None}, "it lacks linear.bias and has nothing"),
        ({"fc.bias": torch.zeros(3)}, "it lacks nothing and has fc.bias"),
        ({"linear.bias": torch.zeros(3)}, "linear.bias has the shape (3,), and the network needs (10,)"),
        ({"linear.bias": torch.full((10,), float("nan"))}, "linear.bias has values that are not finite"),
        ({f"a{k}": torch.zeros(1) for k in range(5)}, "a0, a1, a2 and 2 more"),
    ],
)
def test_what_does_not_fit(network, tmp_path, changes, says) -> None:
    path = saved(network, tmp_path / "w.npz", "npz", **changes)
    with pytest.raises(WeightsError) as caught:
        targets.resnet18(path, width=2)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


def test_carlini_of_another_shape(tmp_path) -> None:
    np.savez(tmp_path / "w.npz", **{"dense_1.kernel": np.zeros((5, 5), np.float32)})
    with pytest.raises(WeightsError, match=r"lacks conv2d_1\.weight"):
        targets.mnist_carlini(tmp_path / "w.npz")


class Trap:
    def __reduce__(self):
        return os.mkdir, (os.environ["TRAP"],)


@pytest.mark.parametrize("name", ["w.pt", "w.npz"])
def test_no_pickle_is_executed(tmp_path, monkeypatch, name) -> None:
    monkeypatch.setenv("TRAP", str(tmp_path / "sprung"))
    if name == "w.npz":
        np.savez(tmp_path / name, weights=np.array([Trap()], dtype=object))
    else:
        torch.save({"weights": Trap()}, tmp_path / name)
    with pytest.raises(WeightsError, match="cannot be read as"):
        targets.read_weights(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["w.pt", "w.npz", "absent.pt", "absent.npz"])
def test_nonsense(tmp_path, name) -> None:
    for content in (b"", b"PK\x03\x04", b"nonsense", bytes(range(256))):
        if not name.startswith("absent"):
            (tmp_path / name).write_bytes(content)
        with pytest.raises(WeightsError, match="cannot be read as"):
            targets.read_weights(tmp_path / name)


def test_not_a_state_dict(tmp_path) -> None:
    for k, content in enumerate(([1, 2], {"lr": 0.1})):
        torch.save(content, tmp_path / f"{k}.pt")
        with pytest.raises(WeightsError, match="holds no state dict"):
            targets.read_weights(tmp_path / f"{k}.pt")


def test_load_weights_copies(network) -> None:
    weights = {name: value + 1 for name, value in network.state_dict().items()}
    targets.load_weights(network, weights, "here")
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("form", ["npz", "pt"])
def test_a_small_file_of_giant_weights_is_refused_before_it_is_read(network, tmp_path, form) -> None:
    path = tmp_path / f"w.{form}"
    if form == "npz":
        np.savez_compressed(path, giant=np.zeros(30_000_000))
    else:
        torch.save({"giant": torch.zeros(30_000_000)}, path)
    with pytest.raises(WeightsError, match=r"would take \d+,.* bytes in memory, and at most"):
        targets.resnet18(path, width=2)
