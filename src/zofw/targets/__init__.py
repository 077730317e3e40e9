"""Target networks of the universal attack: images in [−½, ½] of shape (N, C, H, W) to scores (N, 10).

They need torch, an extra: ``pip install 'zofw[torch]'``.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ImportError("The target networks need torch, which is not installed: pip install 'zofw[torch]'.")

from zofw.targets.carlini import mnist_carlini
from zofw.targets.judge import accuracy, predict
from zofw.targets.resnet import cifar10_resnet20, resnet18
from zofw.targets.weights import WeightsError, load_weights, read_weights

__all__ = [
    "WeightsError",
    "accuracy",
    "cifar10_resnet20",
    "load_weights",
    "mnist_carlini",
    "predict",
    "read_weights",
    "resnet18",
]
