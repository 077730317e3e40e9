"""The training script: learns, continues exactly where it was interrupted, refuses what is not its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from zofw_paper.data import Images

WHY = "torch is not installed: pip install '.[torch]'"
torch = pytest.importorskip("torch", reason=WHY)
script = pytest.importorskip("zofw_paper.targets.train_resnet18", reason=WHY)
Training, augment, main, train = script.Training, script.augment, script.main, script.train
resnet18, WeightsError = script.resnet18, script.WeightsError
torch.set_num_threads(1)  # the suite runs in several processes

SETTINGS = Training(epochs=3, batch_size=8, learning_rate=0.05, width=2)


def fake(n: int = 20) -> Images:
    """Bright and dark images: two classes that are learnt at once."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    pixels = rng.integers(0, 100, (n, 3, 32, 32)) + 120 * labels[:, None, None, None]
    return Images(pixels.astype(np.uint8), labels.astype(np.int64))


def fresh() -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return resnet18(width=2)


def test_learns_and_continues_exactly(tmp_path) -> None:
    images = fake()
    whole = fresh()
    losses = [loss for _, loss in train(whole, images.pixels, images.labels, SETTINGS)]
    assert losses[-1] < losses[0]

    checkpoint = tmp_path / "training.ckpt"
    first = train(fresh(), images.pixels, images.labels, SETTINGS, checkpoint)
    assert next(first) == (0, losses[0])
    first.close()
    second = fresh()
    rest = list(train(second, images.pixels, images.labels, SETTINGS, checkpoint))
    assert rest == list(enumerate(losses))[1:]
    for name, value in second.state_dict().items():
        assert torch.equal(value, whole.state_dict()[name]), name
    assert list(train(fresh(), images.pixels, images.labels, SETTINGS, checkpoint)) == []

    other = train(fresh(), images.pixels, images.labels, replace(SETTINGS, seed=1), checkpoint)
    with pytest.raises(WeightsError, match=r"belongs to the run .*'seed': 0.* but .*'seed': 1"):
        next(other)
    torch.save({"weights": torch.zeros(1)}, checkpoint)
    with pytest.raises(WeightsError, match="not a checkpoint of this training"):
        next(train(fresh(), images.pixels, images.labels, SETTINGS, checkpoint))


def test_schedule() -> None:
    settings = Training(epochs=4, learning_rate=0.2)
    np.testing.assert_allclose(
        [settings.rate(t) for t in range(4)], [0.2, 0.1 * (1 + 2**-0.5), 0.1, 0.1 * (1 - 2**-0.5)]
    )
    for wrong in ({"epochs": 0}, {"batch_size": -1}, {"learning_rate": 0.0}):
        with pytest.raises(ValueError, match="must be positive"):
            Training(**wrong)


def test_augmentation_crops_from_the_frame_and_flips() -> None:
    image = np.arange(1, 1 + 32 * 32).reshape(32, 32).astype(np.int16)
    framed = np.pad(image, 4)
    crops = {
        crop.tobytes(): (top, left, flip)
        for top in range(9)
        for left in range(9)
        for flip in (False, True)
        for crop in [np.ascontiguousarray(framed[top : top + 32, left : left + 32][:, :: -1 if flip else 1])]
    }
    assert len(crops) == 162
    many = np.broadcast_to(image, (3000, 2, 32, 32)).copy()
    out = augment(torch.from_numpy(many), np.random.default_rng(0)).numpy()
    assert out.shape == many.shape
    assert np.array_equal(out[:, 0], out[:, 1])
    seen = {crops[np.ascontiguousarray(crop).tobytes()] for crop in out[:, 0]}
    assert len(seen) == 162


def test_command(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("zofw_paper.data.load", lambda name, split: fake())
    files = ["--output", str(tmp_path / "w.npz"), "--checkpoint", str(tmp_path / "c")]
    options = ["--epochs", "2", "--width", "2", "--limit", "12", "--device", "cpu", "--learning-rate", "0.05"]
    main([*files, *options])
    x = torch.zeros(1, 3, 32, 32)
    first = resnet18(tmp_path / "w.npz", width=2)(x)
    main([*files, *options])
    assert torch.equal(resnet18(tmp_path / "w.npz", width=2)(x), first)
    with pytest.raises(SystemExit):
        main(["--limit", "0"])


def test_help() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zofw_paper.targets.train_resnet18", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--weight-decay" in done.stdout
