"""Target networks of the universal attack: images in [−½, ½] of shape (N, C, H, W) to scores (N, 10).

They need torch.
"""

from __future__ import annotations

from importlib.util import find_spec

from zofw.extras import install_line

if find_spec("torch") is None:
    raise ImportError(f"The target networks need torch. Install it with: {install_line('torch')}")

from zofw_paper.targets.carlini import mnist_carlini
from zofw_paper.targets.judge import accuracy, predict
from zofw_paper.targets.resnet import cifar10_resnet18, cifar10_resnet20, resnet18
from zofw_paper.targets.weights import WeightsError, load_weights, read_weights

__all__ = [
    "WeightsError",
    "accuracy",
    "cifar10_resnet18",
    "cifar10_resnet20",
    "load_weights",
    "mnist_carlini",
    "predict",
    "read_weights",
    "resnet18",
]
