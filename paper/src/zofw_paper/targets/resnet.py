"""The residual networks of CIFAR-10.

References
----------
.. [1] K. He, X. Zhang, S. Ren and J. Sun, "Deep residual learning for image recognition", CVPR 2016.
.. [2] Y. Idelbayev, "Proper ResNet implementation for CIFAR10/CIFAR100 in PyTorch" (ResNet-20).
.. [3] K. Liu, "Train CIFAR10 with PyTorch" (the CIFAR form of ResNet-18).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from zofw_paper.targets.weights import frozen, load_weights, named_weights, read_weights

Colour = tuple[float, float, float]


def cifar10_resnet20(weights: str | os.PathLike[str] | None = None) -> nn.Module:
    """Return the trained ResNet-20, frozen: (N, 3, 32, 32) in [−½, ½] to scores (N, 10); 269,722 parameters.

    The network's own range [0, 1] and its normalisation are inside. Where the resolution halves, the shortcut
    takes every second pixel and pads the channels with zeros, without parameters (option A of [1]_).

    Parameters
    ----------
    weights
        An npz file or a torch state dict. Default: ``weights/cifar10_resnet20.npz`` or
        ``weights/resnet20-12fca82f.th`` in ZOFW_DATA or the user's cache, the latter else downloaded.

    Raises
    ------
    WeightsError
        The weights cannot be read or do not fit.
    zofw_paper.data.DataError
        The default weights are not to be had or damaged.
    """
    network = _resnet((16, 32, 64), 3, _Padded, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    path = _resnet20_weights() if weights is None else weights
    load_weights(network, read_weights(path, network), str(path))
    return frozen(network)


def _resnet20_weights() -> str | os.PathLike[str]:
    from zofw_paper.data import locate

    name = "cifar10-resnet20-weights"
    return named_weights(name, "npz" if locate(name)["weights/cifar10_resnet20.npz"] else "th")


def cifar10_resnet18(weights: str | os.PathLike[str] | None = None) -> nn.Module:
    """Return the trained ResNet-18 of the data folder, frozen; 91.51 % of the test images are classified right.

    Parameters
    ----------
    weights
        An npz file or a torch state dict. Default: ``weights/cifar10_resnet18.npz`` in ZOFW_DATA or the user's cache.
    """
    return resnet18(named_weights("cifar10-resnet18-weights", "npz") if weights is None else weights)


def resnet18(
    weights: str | os.PathLike[str] | None = None,
    *,
    width: int = 64,
    mean: Colour = (0.4914, 0.4822, 0.4465),
    std: Colour = (0.2023, 0.1994, 0.2010),
) -> nn.Module:
    """Return the CIFAR form of ResNet-18: a 3×3 stem and four stages of two basic blocks, 64-128-256-512 channels.

    Parameters
    ----------
    weights
        An npz file or a torch state dict; the network is then frozen. Default: a network with fresh random
        weights from torch's generator, ready to be trained (``python -m zofw_paper.targets.train_resnet18``).
    width
        Channels of the first stage; each further stage has twice those of the one before.
    mean, std
        Normalisation of the three colours in [0, 1], inside the network: its input is in [−½, ½].
    """
    widths = tuple(width * 2**stage for stage in range(4))
    network = _resnet(widths, 2, _projected, mean, std)
    if weights is None:
        return network
    load_weights(network, read_weights(weights, network), str(weights))
    return frozen(network)


def _resnet(
    widths: tuple[int, ...],
    blocks: int,
    shortcut: Callable[[int, int], nn.Module],
    mean: Colour,
    std: Colour,
) -> nn.Sequential:
    layers = OrderedDict[str, nn.Module](
        normalise=_Normalise(mean, std),
        conv1=_conv3(3, widths[0], 1),
        bn1=nn.BatchNorm2d(widths[0]),
        relu=nn.ReLU(inplace=True),
    )
    inner = widths[0]
    for stage, outer in enumerate(widths, 1):
        first = _Block(inner, outer, shortcut)
        layers[f"layer{stage}"] = nn.Sequential(
            first, *(_Block(outer, outer, shortcut) for _ in range(blocks - 1))
        )
        inner = outer
    layers["pool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["linear"] = nn.Linear(inner, 10)
    return nn.Sequential(layers)


class _Normalise(nn.Module):
    """From [−½, ½] to the range a network was trained in: (x + ½ − mean)/std for each colour."""

    def __init__(self, mean: Colour, std: Colour) -> None:
        super().__init__()
        self.shift: Tensor
        self.std: Tensor
        self.register_buffer("shift", 0.5 - torch.tensor(mean).reshape(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).reshape(3, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.shift) / self.std


class _Block(nn.Module):
    """relu(bn(conv(relu(bn(conv(x))))) + shortcut(x)), at half the resolution if the channels grow."""

    def __init__(self, inner: int, outer: int, shortcut: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.conv1 = _conv3(inner, outer, 1 if inner == outer else 2)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = _conv3(outer, outer, 1)
        self.bn2 = nn.BatchNorm2d(outer)
        self.shortcut = nn.Identity() if inner == outer else shortcut(inner, outer)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.bn2(self.conv2(functional.relu_(self.bn1(self.conv1(x)))))
        return functional.relu_(y + self.shortcut(x))


class _Padded(nn.Module):
    """Option A of [1]_: every second pixel, and channels of zeros before and after."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.before = (outer - inner) // 2
        self.after = outer - inner - self.before

    def forward(self, x: Tensor) -> Tensor:
        return functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.before, self.after))


def _projected(inner: int, outer: int) -> nn.Module:
    """Option B of [1]_: a 1×1 convolution of stride 2."""
    return nn.Sequential(nn.Conv2d(inner, outer, 1, 2, bias=False), nn.BatchNorm2d(outer))


def _conv3(inner: int, outer: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
