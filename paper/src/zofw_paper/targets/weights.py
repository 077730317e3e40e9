"""Weights from a file into a network, without pickle: npz, or a torch file read with ``weights_only``."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from zofw.storage import check_archive, read_arrays


class WeightsError(ValueError):
    """Weights that cannot be read, or that do not fit the network."""


def read_weights(path: str | os.PathLike[str], network: nn.Module | None = None) -> dict[str, Tensor]:
    """Return the tensors of an npz file or of a torch file: a state dict, alone or as its "state_dict" or "net".

    The prefix "module.", which a network trained in parallel leaves on every name, is dropped. A file that takes more
    memory than twice the weights of the ``network`` it is for in double precision, or without one than its own size, is
    refused before it is read.

    Raises
    ------
    WeightsError
        The file cannot be read, or holds anything but named tensors.
    """
    most = None if network is None else _most(network)
    if Path(path).suffix == ".npz":
        return _read_npz(path, most)
    content = read_checkpoint(path, most)
    for key in ("state_dict", "net"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise WeightsError(f"{path} holds no state dict: a dictionary from names to tensors was expected.")
    return {str(name).removeprefix("module."): value for name, value in content.items()}


def _most(network: nn.Module) -> int:
    """Return bytes that weights of a network may take: twice their number in double precision, and room for their names."""
    state = network.state_dict()
    return 16 * int(sum(value.numel() for value in state.values())) + 4096 * (len(state) + 16)


def _read_npz(path: str | os.PathLike[str], most: int | None) -> dict[str, Tensor]:
    try:
        arrays = read_arrays(Path(path).read_bytes(), most)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise WeightsError(f"{path} cannot be read as an npz file of numbers ({error}).") from error


def read_checkpoint(path: str | os.PathLike[str], most: int | None = None) -> object:
    """Return the content of a torch file, on the CPU; ``weights_only=True`` lets no code in it run, ``most`` limits its bytes."""
    try:
        content = Path(path).read_bytes()
        if content.startswith(b"PK"):
            check_archive(content, len(content) if most is None else most)
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise WeightsError(f"{path} cannot be read as a torch file of tensors ({error}).") from error


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy named tensors into a network; each must be there, fit, and be finite, and none may be left over.

    Only the counters "num_batches_tracked", which evaluation never reads, may be missing.
    """
    wanted = network.state_dict()
    missing = [name for name in wanted if name not in weights and not name.endswith("num_batches_tracked")]
    extra = [name for name in weights if name not in wanted]
    if missing or extra:
        raise WeightsError(
            f"{where} does not fit the network: it lacks {_some(missing)} and has {_some(extra)} that the network "
            "does not have."
        )
    for name, value in weights.items():
        if value.shape != wanted[name].shape:
            raise WeightsError(
                f"{where} does not fit the network: {name} has the shape {tuple(value.shape)}, and the network needs "
                f"{tuple(wanted[name].shape)}."
            )
        if not torch.isfinite(value).all():
            raise WeightsError(f"{where} is damaged: {name} has values that are not finite.")
    network.load_state_dict(dict(weights), strict=False)


def named_weights(name: str, split: str) -> Path:
    """Return the verified file of weights in the catalogue: from ZOFW_DATA, the user's cache, or its own site."""
    from zofw_paper.data import fetch

    (path,) = fetch(name, split).values()
    return path


def frozen(network: nn.Module) -> nn.Module:
    """Return the network in evaluation mode, its parameters without gradients and laid out as convolutions like them best."""
    return network.to(memory_format=torch.channels_last).eval().requires_grad_(False)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3]) or "nothing"
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
