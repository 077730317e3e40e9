"""Carlini and Wagner's MNIST network: conv 32-32, pool, conv 64-64, pool, dense 200-200-10, ReLU.

References
----------
.. [1] N. Carlini and D. Wagner, "Towards evaluating the robustness of neural networks", IEEE S&P 2017.
"""

from __future__ import annotations

import os
from collections import OrderedDict

from torch import Tensor, nn

from zofw_paper.targets.weights import frozen, load_weights, named_weights, read_weights


def mnist_carlini(weights: str | os.PathLike[str] | None = None) -> nn.Module:
    """Return the trained network, frozen: (N, 1, 28, 28) in [−½, ½] to scores (N, 10); 312,202 parameters.

    Parameters
    ----------
    weights
        An npz file with kernels stored as (H, W, in, out) and a flattening in the order H, W, C.
        Default: ``weights/mnist_carlini_FW-AdvML.npz`` in ZOFW_DATA or the user's cache.

    Raises
    ------
    WeightsError
        The weights cannot be read or do not fit.
    zofw_paper.data.DataError
        The default weights are not found or damaged.
    """
    path = named_weights("mnist-carlini-weights", "all") if weights is None else weights
    network = nn.Sequential(
        OrderedDict[str, nn.Module](
            conv2d_1=nn.Conv2d(1, 32, 3),  # 26×26
            relu_1=nn.ReLU(inplace=True),
            conv2d_2=nn.Conv2d(32, 32, 3),  # 24×24
            relu_2=nn.ReLU(inplace=True),
            pool_1=nn.MaxPool2d(2),
            conv2d_3=nn.Conv2d(32, 64, 3),  # 10×10
            relu_3=nn.ReLU(inplace=True),
            conv2d_4=nn.Conv2d(64, 64, 3),  # 8×8
            relu_4=nn.ReLU(inplace=True),
            pool_2=nn.MaxPool2d(2),
            flatten=nn.Flatten(),  # 64·4·4
            dense_1=nn.Linear(1024, 200),
            relu_5=nn.ReLU(inplace=True),
            dense_2=nn.Linear(200, 200),
            relu_6=nn.ReLU(inplace=True),
            dense_3=nn.Linear(200, 10),
        )
    )
    stored = read_weights(path, network)
    oriented = {name.replace(".kernel", ".weight"): _oriented(name, value) for name, value in stored.items()}
    load_weights(network, oriented, str(path))
    return frozen(network)


def _oriented(name: str, value: Tensor) -> Tensor:
    """From (H, W, in, out) to torch's (out, in, H, W), and from (in, out) to (out, in)."""
    if name == "dense_1.kernel" and value.shape == (1024, 200):
        value = value.reshape(4, 4, 64, 200).permute(2, 0, 1, 3).reshape(1024, 200)  # H, W, C to C, H, W
    return value.permute(3, 2, 0, 1) if value.ndim == 4 else value.T if value.ndim == 2 else value
