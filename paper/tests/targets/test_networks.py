"""The target networks measure what they are known to measure."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from zofw_paper.data import load as load_data
from zofw_paper.data import locate

WHY = "torch is not installed: pip install '.[torch]'"
torch = pytest.importorskip("torch", reason=WHY)
targets = pytest.importorskip("zofw_paper.targets", reason=WHY)
functional = torch.nn.functional
torch.set_num_threads(1)  # the suite runs in several processes


def needs(*names: str) -> None:
    missing = [file for name in names for file, path in locate(name).items() if path is None]
    absent = [file for file in missing if not file.startswith(("cifar-10/data", "mnist/train"))]
    if absent:
        pytest.skip(f"{', '.join(absent)} not found: set ZOFW_DATA to a folder that holds it")


def parameters(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_carlini_measures_what_the_paper_states() -> None:
    needs("mnist", "mnist-carlini-weights")
    network, images = targets.mnist_carlini(), load_data("mnist")
    right = targets.predict(network, images.centred()) == images.labels
    assert right.mean() == 0.9940
    assert np.sum(right & (images.labels == 1)) == 1133


def test_carlini_equals_its_definition() -> None:
    needs("mnist-carlini-weights")
    with np.load(locate("mnist-carlini-weights")["weights/mnist_carlini_FW-AdvML.npz"]) as stored:
        w = {name: torch.from_numpy(stored[name]).double() for name in stored.files}
    x = torch.rand((3, 1, 28, 28), generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 0.5
    y = x
    for k in (1, 2, 3, 4):
        y = functional.conv2d(y, w[f"conv2d_{k}.kernel"].permute(3, 2, 0, 1), w[f"conv2d_{k}.bias"]).relu()
        y = functional.max_pool2d(y, 2) if k in (2, 4) else y
    y = y.permute(0, 2, 3, 1).reshape(3, -1)  # H, W, C
    for k in (1, 2, 3):
        y = y @ w[f"dense_{k}.kernel"] + w[f"dense_{k}.bias"]
        y = y.relu() if k < 3 else y
    network = targets.mnist_carlini()
    assert parameters(network) == 312_202
    assert not network.training
    assert not any(parameter.requires_grad for parameter in network.parameters())
    torch.testing.assert_close(network.double()(x), y, rtol=1e-12, atol=1e-12)


def test_resnet20_on_a_thousand_images() -> None:
    needs("cifar10", "cifar10-resnet20-weights")
    network, images = targets.cifar10_resnet20(), load_data("cifar10")
    assert parameters(network) == 269_722
    assert not network.training
    right = targets.predict(network, images.centred()[:1000]) == images.labels[:1000]
    assert right.sum() == 915


def test_resnet20_takes_the_state_dict_where_there_is_no_npz(monkeypatch, tmp_path) -> None:
    needs("cifar10-resnet20-weights")
    (tmp_path / "weights").mkdir()
    state = locate("cifar10-resnet20-weights")["weights/resnet20-12fca82f.th"]
    (tmp_path / "weights" / state.name).symlink_to(state)
    first = targets.cifar10_resnet20()
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x = torch.rand((2, 3, 32, 32)) - 0.5
    assert torch.equal(first(x), targets.cifar10_resnet20()(x))


@pytest.mark.slow
def test_resnet20_on_the_whole_test_set() -> None:
    needs("cifar10", "cifar10-resnet20-weights")
    images = load_data("cifar10")
    assert targets.accuracy(targets.cifar10_resnet20(), images.centred(), images.labels) == 0.9173


def test_resnet18_is_the_common_cifar_form() -> None:
    network = targets.resnet18()
    assert parameters(network) == 11_173_962
    assert network.training
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    assert shapes["conv1.weight"] == (64, 3, 3, 3)
    assert shapes["layer4.1.conv2.weight"] == (512, 512, 3, 3)
    assert shapes["layer2.0.shortcut.0.weight"] == (128, 64, 1, 1)
    assert "layer1.0.shortcut.0.weight" not in shapes
    assert targets.resnet18(width=4).eval()(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_normalisation_is_inside() -> None:
    network = targets.resnet18(width=4, mean=(0.1, 0.2, 0.3), std=(1.0, 2.0, 4.0))
    x = torch.zeros(1, 3, 1, 1)
    np.testing.assert_allclose(network.normalise(x).ravel(), [0.4, 0.15, 0.05], rtol=1e-6)


def test_predict_and_accuracy() -> None:
    network = torch.nn.Flatten()  # the class is the place of the brightest pixel
    images = np.eye(6, dtype=np.float32).reshape(6, 1, 2, 3)
    for size in (1, 4, 100):
        assert targets.predict(network, images, batch_size=size).tolist() == list(range(6))
    assert targets.accuracy(network, images, np.array([0, 1, 2, 0, 0, 0])) == 0.5
    with pytest.raises(TypeError, match=r"images\.centred\(\)"):
        targets.predict(network, images.astype(np.uint8))
    with pytest.raises(ValueError, match="batch_size must be positive"):
        targets.predict(network, images, batch_size=0)
    for labels in (np.array([], dtype=int), np.arange(5)):
        with pytest.raises(ValueError, match=f"6 images and {len(labels)} labels"):
            targets.accuracy(network, images, labels)


def test_without_torch_the_error_names_the_extra() -> None:
    script = "import sys\nsys.modules['torch'] = None\nimport zofw_paper.targets"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'torch" in done.stderr.splitlines()[-1]


def test_the_library_alone_does_not_import_torch() -> None:
    script = "import sys, zofw, zofw_paper.data\nassert 'torch' not in sys.modules\nassert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
