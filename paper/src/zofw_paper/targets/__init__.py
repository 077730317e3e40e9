"""Target networks of the universal attack: images in [−½, ½] of shape (N, C, H, W) to scores (N, 10).

They need torch.
"""

from __future__ import annotations

from importlib.util import find_spec

from zofw.extras import install_line

if find_spec("torch") is None:
    raise ImportError(f"The target networks need torch. Install it with: {install_line('torch')}")

from zofw_paper.targets.carlini import mnist_carlini as mnist_carlini
from zofw_paper.targets.judge import accuracy as accuracy
from zofw_paper.targets.judge import predict as predict
from zofw_paper.targets.resnet import cifar10_resnet18 as cifar10_resnet18
from zofw_paper.targets.resnet import cifar10_resnet20 as cifar10_resnet20
from zofw_paper.targets.resnet import resnet18 as resnet18
from zofw_paper.targets.weights import WeightsError as WeightsError
from zofw_paper.targets.weights import load_weights as load_weights
from zofw_paper.targets.weights import read_weights as read_weights
