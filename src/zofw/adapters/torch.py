"""The parameters of a torch module in a set, from loss values alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike

from zofw.arrays import to_numpy
from zofw.core import Array
from zofw.problems import BlackBox
from zofw.run.minimize import solve
from zofw.run.record.result import Result
from zofw.sets import Product, Region, SetLike, as_set, can_project

B = TypeVar("B")  # what a loss takes

ROUNDINGS = 16.0  # parameters this many roundings off the set are put back into it

_one_at_a_time = threading.RLock()  # a module has its parameters once, whatever the number of threads


def minimize_module(
    module: torch.nn.Module,
    loss: Callable[[torch.nn.Module, B], float],
    batches: Sequence[B],
    set: SetLike | Mapping[str, SetLike],
    *,
    relative: bool = False,
    x0: ArrayLike | None = None,
    **settings: Any,
) -> Result:
    r"""Minimise :math:`\frac1n\sum_i \mathrm{loss}(\mathrm{module}, \mathrm{batch}_i)` over the
    module's parameters in a set.

    Parameters
    ----------
    module
        A ``torch.nn.Module``. It ends with the parameters that were found, in their own
        precision and on their own devices; if the run raises, with those it had before.
    loss
        ``loss(module, batch)``, one number, as a tensor or a float. Called without gradients,
        with the module in evaluation mode. It need not be differentiable: an error rate will
        do.
    batches
        The components: a list of whatever ``loss`` takes, or a map-style dataset. A query is
        one call of ``loss``.
    set
        Where the parameters that require a gradient, flattened and concatenated in the order of
        ``named_parameters()``, should lie; or a mapping from names of parameters to sets, for a
        product of sets. Parameters that it does not name stay as they are.
    relative
        Whether the set is for the change of the parameters instead of the parameters
        themselves, such as ``L2Ball(0.1)`` around a network that is already good.
    x0
        Where to start; by default where the module is.
    settings
        Anything that :func:`zofw.minimize` takes: ``budget``, ``method``, ``rng``,
        ``checkpoint``, …

    Returns
    -------
    Result
        Of :func:`zofw.minimize`; ``x`` is the flattened parameters, or their change, as a NumPy
        array of doubles.

    Notes
    -----
    Parameters in single precision round the points at which the loss is known. The default method measures that noise and
    chooses its radii accordingly; a method with a fixed ``radius`` needs one of about 0.01 times the size of x.

    Examples
    --------
    >>> import torch, zofw
    >>> _ = torch.manual_seed(0)
    >>> line, z = torch.nn.Linear(2, 1, bias=False), torch.randn(20, 2)
    >>> data = [(z, z @ torch.tensor([[0.7], [0.3]]))]
    >>> loss = lambda module, batch: torch.mean((module(batch[0]) - batch[1]) ** 2)
    >>> result = zofw.adapters.minimize_module(line, loss, data, zofw.Simplex(), x0=[0.5, 0.5], budget=200, rng=0)
    >>> [round(weight, 2) for weight in line.weight.tolist()[0]]
    [0.7, 0.3]
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"minimize_module needs a torch.nn.Module; got {type(module).__name__}.")
    if not (isinstance(batches, Sized) and hasattr(batches, "__getitem__")):
        raise TypeError(
            f"minimize_module needs batches that can be asked for again by number; got {type(batches).__name__}. "
            "For a DataLoader pass list(loader)."
        )
    named = _chosen(module, set)
    parameters = Parameters([*named.values()], relative)
    region = _region(set, named)
    problem = BlackBox(ModuleLoss(module, loss, batches, parameters), dim=parameters.dim, n=len(batches))
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        start = parameters.start(region) if x0 is None else to_numpy(x0)
        result = solve(problem, region, x0=start, **settings)
        parameters.load(result.x)
    except BaseException:
        parameters.restore()
        raise
    finally:
        for part, training in modes.items():
            part.training = training
    return result


class Parameters:
    """Some parameters of a module as one vector of doubles."""

    def __init__(self, tensors: Sequence[torch.Tensor], relative: bool) -> None:
        self.tensors, self.relative = tensors, relative
        self.before = [tensor.detach().clone() for tensor in tensors]

    @property
    def dim(self) -> int:
        return sum(tensor.numel() for tensor in self.tensors)

    def start(self, region: Region) -> Array:
        """Where the module is: 0 or its parameters, with their own rounding forgiven."""
        if self.relative:
            return np.zeros(self.dim)
        x = np.concatenate([to_numpy(tensor).astype(float).reshape(-1) for tensor in self.before])
        rounding = max(float(torch.finfo(tensor.dtype).eps) for tensor in self.tensors)
        if not region.contains(x) and region.contains(x, ROUNDINGS * rounding) and can_project(region):
            return np.asarray(region.project(x))
        if not region.contains(x):
            raise ValueError(
                f"The parameters of the module are not in {region!r}. Move them there first, start elsewhere with x0=…, "
                "such as x0=set.initial_point(dim), or pass relative=True for a set around where they are."
            )
        return x

    def load(self, x: Array) -> None:
        """Give the module the parameters x, each in its own precision and on its own device."""
        with torch.no_grad():
            parts = torch.tensor(x).split([tensor.numel() for tensor in self.tensors])
            for tensor, before, part in zip(self.tensors, self.before, parts, strict=True):
                value = part.to(tensor.device).reshape(tensor.shape)
                tensor.copy_(before.double() + value if self.relative else value)

    def restore(self) -> None:
        """Give the module the parameters it had."""
        with torch.no_grad():
            for tensor, before in zip(self.tensors, self.before, strict=True):
                tensor.copy_(before)


@dataclass(frozen=True)
class ModuleLoss(Generic[B]):
    """f_i(x) = loss(module with parameters x, batch i)."""

    module: torch.nn.Module
    loss: Callable[[torch.nn.Module, B], float]
    batches: Sequence[B]
    parameters: Parameters

    def __call__(self, x: Array, i: int) -> float:
        with _one_at_a_time, torch.no_grad():
            self.parameters.load(x)
            return self.loss(self.module, self.batches[i])


def _chosen(module: torch.nn.Module, set: SetLike | Mapping[str, SetLike]) -> dict[str, torch.Tensor]:
    """Return the named parameters: those of a mapping, or all that require a gradient."""
    named = dict(module.named_parameters())
    wanted = [*set] if isinstance(set, Mapping) else [name for name in named if named[name].requires_grad]
    for name in wanted:
        if name not in named:
            raise ValueError(
                f"The module has no parameter {name!r}; it has {', '.join(named) or 'none at all'}."
            )
        if not named[name].is_floating_point():
            raise ValueError(f"The parameter {name!r} does not hold real numbers; leave it out of the sets.")
    if not wanted:
        raise ValueError(
            "There is nothing to optimise: no parameter of the module requires a gradient or has a set."
        )
    return {name: tensor for name, tensor in named.items() if name in wanted}


def _region(set: SetLike | Mapping[str, SetLike], named: Mapping[str, torch.Tensor]) -> Region:
    if not isinstance(set, Mapping):
        return as_set(set)
    return Product([set[name] for name in named], dims=[tensor.numel() for tensor in named.values()])
