"""Train ResNet-18 on CIFAR-10: ``python -m zofw_paper.targets.train_resnet18 --help``.

Stochastic gradient descent with momentum, weight decay and a cosine schedule, on images cropped at random
from their 4-pixel black frame and flipped at random. After each epoch the state is saved to the checkpoint,
whole or not at all; the same command continues from there. An epoch's random numbers depend on (seed, epoch)
alone, so that on one machine a continued run is the uninterrupted one.
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from zofw_paper.targets.judge import accuracy
from zofw_paper.targets.resnet import resnet18
from zofw_paper.targets.weights import WeightsError, read_checkpoint

_log = logging.getLogger(__name__)

_FRAME = 4  # black pixels around an image before it is cropped


@dataclass(frozen=True)
class Training:
    """What determines a training run."""

    epochs: int = 200
    batch_size: int = 128
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    width: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "width"):
            if vars(self)[name] <= 0:
                raise ValueError(f"{name} must be positive, but {vars(self)[name]} was given.")

    def rate(self, epoch: int) -> float:
        """Cosine schedule: γ(t) = γ₀·½(1 + cos(πt/T)), t = 0, …, T − 1."""
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * epoch / self.epochs))


def train(
    network: nn.Module,
    pixels: NDArray[np.uint8],
    labels: NDArray[np.int64],
    settings: Training,
    checkpoint: Path | None = None,
) -> Iterator[tuple[int, float]]:
    """Train `network` in place, from its checkpoint if there is one; yield each (epoch, mean loss).

    Parameters
    ----------
    network
        Takes images in [−½, ½]; trained on the device it is on.
    pixels, labels
        (N, 3, 32, 32) bytes and N classes.
    checkpoint
        Where the state after each epoch is saved, before it is yielded.

    Raises
    ------
    WeightsError
        The checkpoint is damaged or belongs to other settings.
    """
    device = next(network.parameters()).device
    run = asdict(settings) | {"samples": len(pixels)}
    optimiser = torch.optim.SGD(
        network.parameters(),
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
    )
    first = _resume(network, optimiser, run, checkpoint) if checkpoint and checkpoint.exists() else 0
    network.train()
    for epoch in range(first, settings.epochs):
        for group in optimiser.param_groups:
            group["lr"] = settings.rate(epoch)
        rng = np.random.default_rng([settings.seed, epoch])
        order = rng.permutation(len(pixels))
        total = 0.0
        for start in range(0, len(order), settings.batch_size):
            batch = order[start : start + settings.batch_size]
            x = augment(torch.from_numpy(pixels[batch]), rng).to(device)
            loss = functional.cross_entropy(
                network(x / 255.0 - 0.5), torch.from_numpy(labels[batch]).to(device)
            )
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            total += loss.item() * len(batch)
        if checkpoint:
            _save(network, optimiser, run, epoch + 1, checkpoint)
        yield epoch, total / len(order)


def augment(pixels: Tensor, rng: np.random.Generator) -> Tensor:
    """Crop each of (N, C, H, W) at random from its black frame, and flip it with probability ½."""
    n, channels, height, width = pixels.shape
    top, left = (torch.from_numpy(rng.integers(0, 2 * _FRAME + 1, n)) for _ in range(2))
    flip = torch.from_numpy(rng.random(n) < 0.5)
    columns = torch.where(flip[:, None], torch.arange(width - 1, -1, -1), torch.arange(width)) + left[:, None]
    rows = torch.arange(height) + top[:, None]
    framed = functional.pad(pixels, (_FRAME,) * 4)
    image = torch.arange(n)[:, None, None, None]
    channel = torch.arange(channels)[None, :, None, None]
    return framed[image, channel, rows[:, None, :, None], columns[:, None, None, :]]


def _save(
    network: nn.Module, optimiser: torch.optim.Optimizer, run: dict[str, float], epochs: int, checkpoint: Path
) -> None:
    from zofw.storage import write_whole

    state = {
        "run": run,
        "epochs": epochs,
        "network": network.state_dict(),
        "optimiser": optimiser.state_dict(),
    }
    write_whole(checkpoint, lambda stream: torch.save(state, stream))


def _resume(
    network: nn.Module, optimiser: torch.optim.Optimizer, run: dict[str, float], checkpoint: Path
) -> int:
    state = read_checkpoint(checkpoint)
    if not isinstance(state, dict) or state.keys() != {"run", "epochs", "network", "optimiser"}:
        raise WeightsError(f"{checkpoint} is not a checkpoint of this training. Name another file.")
    if state["run"] != run:
        raise WeightsError(
            f"{checkpoint} belongs to the run {state['run']}, but {run} was asked for. Repeat that one, or name "
            "another file."
        )
    network.load_state_dict(state["network"])
    optimiser.load_state_dict(state["optimiser"])
    _log.info("continuing after %d epochs from %s", state["epochs"], checkpoint)
    return int(state["epochs"])


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m zofw_paper.targets.train_resnet18",
        description="Train ResNet-18 on CIFAR-10 and write its weights as npz, for zofw_paper.targets.resnet18.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--output", type=Path, default=Path("resnet18.npz"), help="the weights, at the end")
    parser.add_argument(
        "--checkpoint", type=Path, default=Path("resnet18.ckpt"), help="continued if it exists"
    )
    parser.add_argument("--split", default="train", choices=("train", "train-1"), help="training images")
    parser.add_argument(
        "--limit", type=_positive, default=None, help="use only the first images of each split"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, value in asdict(Training()).items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=type(value), default=value, help=name.replace("_", " ")
        )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    from zofw.storage import write_whole
    from zofw_paper.data import load

    given = vars(_parser().parse_args(arguments))
    settings = Training(**{name: given[name] for name in asdict(Training())})
    images = load("cifar10", split=given["split"])
    test = load("cifar10", split="test")
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        network = resnet18(width=settings.width).to(given["device"])
    pixels, labels = images.pixels[: given["limit"]], images.labels[: given["limit"]]
    for epoch, loss in train(network, pixels, labels, settings, given["checkpoint"]):
        _log.info("epoch %d of %d: mean loss %.4f", epoch + 1, settings.epochs, loss)
    network.eval()
    right = accuracy(network, test.centred()[: given["limit"]], test.labels[: given["limit"]])
    weights = {name: value.cpu().numpy() for name, value in network.state_dict().items()}
    write_whole(given["output"], lambda stream: np.savez(stream, **weights))
    _log.info("test accuracy %.4f; weights in %s", right, given["output"])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
