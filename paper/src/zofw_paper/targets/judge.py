"""What a network says, and how often it is right."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


def predict(model: nn.Module, images: NDArray[np.float32], *, batch_size: int = 250) -> NDArray[np.int64]:
    """Return the class of largest score for each image.

    Parameters
    ----------
    model
        Takes (N, C, H, W) in [−½, ½] and returns scores (N, classes); evaluated as it is, where it is.
    images
        Floating-point images in the model's own range, such as `zofw_paper.data.Images.centred` returns.
    batch_size
        Images a forward pass; the result does not depend on it beyond rounding.
    """
    if not np.issubdtype(images.dtype, np.floating):
        raise TypeError(
            f"Images of type {images.dtype} were given, but the network takes numbers in [−½, ½]: pass images.centred()."
        )
    if batch_size < 1:
        raise ValueError(f"batch_size must be positive, but {batch_size} was given.")
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    classes = np.empty(len(images), dtype=np.int64)
    with torch.inference_mode():
        for start in range(0, len(images), batch_size):
            block = torch.from_numpy(
                np.ascontiguousarray(images[start : start + batch_size], dtype=np.float32)
            )
            classes[start : start + batch_size] = model(block.to(device)).argmax(dim=1).cpu().numpy()
    return classes


def accuracy(
    model: nn.Module, images: NDArray[np.float32], labels: NDArray[np.int64], *, batch_size: int = 250
) -> float:
    """Return the fraction of images whose largest score is their label's; for the parameters see `predict`."""
    if len(images) != len(labels) or len(labels) == 0:
        raise ValueError(
            f"{len(images)} images and {len(labels)} labels were given; give one label for each image, and at least one image."
        )
    return float(np.mean(predict(model, images, batch_size=batch_size) == labels))
