"""Universal adversarial perturbations of a classifier that answers with scores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zofw.arrays import to_numpy
from zofw.core import Array, EvaluationError, Indices, blocks
from zofw.extras import extra

if TYPE_CHECKING:
    from torch import Tensor
    from torch import device as Device
    from torch.nn import Module

BOUND = 0.5  # pixels lie in [−½, ½]
SHRINK = 1.9999999  # artanh(SHRINK·z) instead of artanh(2z): finite at z = ±½, where it is ±8.75
PASS_PIXELS = 1 << 16  # pixels in one forward pass on a CPU: larger ones take fresh pages for every layer
DEVICE_PIXELS = 1 << 22  # the same on any other device


@final
class UniversalAttack:
    r"""One perturbation x that makes a classifier err on all the given images,

    .. math:: f_i(x) = m_i\bigl(\tfrac12 \tanh(\operatorname{artanh}(2 z_i) + x)\bigr)
              \quad\text{or, in pixels,}\quad f_i(x) = m_i\bigl(\operatorname{clip}(z_i + x)\bigr),

    with the untargeted margin :math:`m_i = s_{y_i} - \max_{j \ne y_i} s_j` of the scores s, or the targeted one
    :math:`m_i = \max_{j \ne \tau} s_j - s_\tau`; image i is fooled when it is negative. Not convex, and not smooth where
    the maximum changes hands. Inside artanh, 2 is replaced by 1.9999999 so that pixels at ±½ stay finite.

    Parameters
    ----------
    model
        A torch module, or any function from (m, …) images as a NumPy array of doubles to (m,
        classes) scores. A module is put in evaluation mode and evaluated without gradients in
        its own precision; the transform is always double.
    images
        (n, …) in [−½, ½]; x has one coordinate for each pixel of an image.
    labels
        n classes, counted from 0.
    targeted, target
        Whether to push every image into one class, and which (or n classes, one for each
        image).
    space
        Where x lives: "tanh", as in the formula on the left, where an image never leaves its
        range; or "pixels", as on the right, where the radius of the set is what security papers
        state, such as ``LinfBall(8 / 255)`` or ``L2Ball(3.0)``.
    device
        Where a module and the transform run; by default where the module is.
    batch_size
        Most images in one forward pass. The default depends on the image's size and the kind of
        device alone: the last bits of a convolution may change with the shape of its input, and
        a fixed rule keeps a run reproducible.

    Notes
    -----
    ``values`` asks the model for exactly one image for each point and component. The constructor asks nothing.

    References
    ----------
    N. Carlini, D. Wagner, Towards evaluating the robustness of neural networks, IEEE S&P 2017.
    """

    convex = False

    def __init__(
        self,
        model: Callable[[Array], ArrayLike] | Module,
        images: ArrayLike,
        labels: ArrayLike,
        *,
        targeted: bool = False,
        target: ArrayLike | None = None,
        space: Literal["tanh", "pixels"] = "tanh",
        device: str | Device | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.images = _pixels(images)
        self.labels = _classes("labels", labels, self.n)
        if targeted != (target is not None):
            raise ValueError(
                f"UniversalAttack: targeted={targeted} and target={target!r} do not go together; a targeted attack needs "
                "a target class, an untargeted one has none."
            )
        self.targeted = targeted
        wanted = self.labels if target is None else np.asarray(target)
        self.target = _classes("target", np.full(self.n, wanted) if wanted.ndim == 0 else wanted, self.n)
        if space not in ("tanh", "pixels"):
            raise ValueError(f"UniversalAttack: space should be 'tanh' or 'pixels'; got {space!r}.")
        self.space: Literal["tanh", "pixels"] = space
        latent = self.images if space == "pixels" else np.arctanh(SHRINK * self.images)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(model, torch.nn.Module):
            self._classifier: _Function = _Network(model, latent, space, device)
        elif device is not None:
            raise ValueError(
                "UniversalAttack: device goes with a torch module; this model is a plain function."
            )
        elif callable(model):
            self._classifier = _Function(model, latent, space)
        else:
            raise TypeError(
                f"UniversalAttack needs a torch module or a function; got {type(model).__name__}."
            )
        self.batch_size = max(1, self._classifier.pixels // self.dim) if batch_size is None else batch_size
        if self.batch_size < 1:
            raise ValueError(f"UniversalAttack: batch_size should be at least 1; got {batch_size}.")

    def __repr__(self) -> str:
        return f"UniversalAttack(n={self.n}, shape={self.images.shape[1:]}, targeted={self.targeted}, space={self.space!r})"

    @property
    def n(self) -> int:
        return len(self.images)

    @property
    def dim(self) -> int:
        return int(np.prod(self.images.shape[1:]))

    @property
    def asks(self) -> bool:
        """Return True if the model is a plain function, which may cost money for every image."""
        return not isinstance(self._classifier, _Network)

    def values(self, points: Array, components: Indices) -> Array:
        """Return margins of every point with every image, (points, images)."""
        table = np.empty((len(points), len(components)))
        for left, right in blocks(len(components), self.batch_size):
            group = max(1, self.batch_size // (right - left))
            chosen = components[left:right]
            for top, bottom in blocks(len(points), group):
                scores = self._classifier.scores(points[top:bottom, None], chosen[None, :])
                owners = np.tile(chosen, bottom - top)
                table[top:bottom, left:right] = self._margins(scores, owners).reshape(-1, len(chosen))
        return table

    def pairs(self, points: Array, components: Indices) -> Array:
        """Return margins of every point with its own image."""
        out = np.empty(len(points))
        for start, stop in blocks(len(points), self.batch_size):
            chosen = components[start:stop]
            out[start:stop] = self._margins(self._classifier.scores(points[start:stop], chosen), chosen)
        return out

    def value(self, x: ArrayLike) -> float:
        """Return the mean margin over all images."""
        return float(self.margins(x).mean())

    def margins(self, x: ArrayLike) -> Array:
        """Return the margin of every image under the perturbation x: negative where it is fooled."""
        return np.asarray(self.values(self._point(x), np.arange(self.n))[0])

    def gradient(self, x: ArrayLike) -> Array:
        """Of the mean margin, by the module's own differentiation; for diagnosis.

        Where two scores are the greatest together it is that of the one torch takes: one
        element of Clarke's subdifferential.
        """
        point = self._point(x)[0]
        total = np.zeros(self.dim)
        for start, stop in blocks(self.n, self.batch_size):
            total += self._classifier.gradient(point, np.arange(start, stop), self.target[start:stop])
        return (-total if self.targeted else total) / self.n

    def adversarial(self, x: ArrayLike) -> Array:
        """Return the perturbed images, of the shape of the images."""
        latent = self.images if self.space == "pixels" else np.arctanh(SHRINK * self.images)
        return perturbed(latent + self._point(x).reshape(self.images.shape[1:]), self.space)

    def success_rate(self, x: ArrayLike) -> float:
        """Return the fraction of all images whose margin is negative."""
        return float((self.margins(x) < 0).mean())

    def distortion(self, x: ArrayLike) -> float:
        """Return the mean Euclidean distance of the perturbed from the given images."""
        moved = (self.adversarial(x) - self.images).reshape(self.n, -1)
        return float(np.linalg.norm(moved, axis=1).mean())

    def _point(self, x: ArrayLike) -> Array:
        point = np.asarray(x, dtype=float)
        if point.size != self.dim:
            raise ValueError(f"UniversalAttack: x needs {self.dim} coordinates; got shape {point.shape}.")
        return point.reshape(1, self.dim)

    def _margins(self, scores: ArrayLike, components: Indices) -> Array:
        """Return s_y − max of the others, with the sign turned for a targeted attack."""
        scores = np.asarray(scores)
        fewest = max(2, int(self.target.max()) + 1)
        if scores.ndim != 2 or len(scores) != len(components) or scores.shape[1] < fewest:
            raise EvaluationError(
                f"The model was given {len(components)} images and should return scores of shape ({len(components)}, "
                f"classes) with at least {fewest} classes; it returned shape {scores.shape}."
            )
        scores = scores.astype(float)
        place = np.arange(len(scores)), self.target[components]
        own = scores[place]
        scores[place] = -np.inf
        margins = own - scores.max(axis=1)
        return np.asarray(-margins if self.targeted else margins)


def perturbed(latent: Array, space: str) -> Array:
    """Return pixels, written over the latent ones: ½ tanh of them, or clipped to [−½, ½].

    The first is Carlini and Wagner's change of variables. Its step is short near black and
    white, where d/dx ½tanh = ½(1 − tanh²) is small, and pixels never leave (−½, ½).
    """
    if space == "pixels":
        return np.clip(latent, -BOUND, BOUND, out=latent)
    np.tanh(latent, out=latent)
    latent *= BOUND
    return latent


class _Function:
    """A function from NumPy images to scores, perhaps on another machine.

    ``points`` and ``components`` broadcast against each other, points with a last axis d.
    """

    pixels = PASS_PIXELS

    def __init__(self, model: Callable[..., ArrayLike], latent: Array, space: str) -> None:
        self.shape, self.space = latent.shape[1:], space
        self.model, self.latent = model, latent.reshape(len(latent), -1)

    def scores(self, points: Array, components: Indices) -> ArrayLike:
        images = perturbed(self.latent[components] + points, self.space)
        try:
            return self.model(images.reshape(-1, *self.shape))
        except Exception as error:
            raise EvaluationError(
                f"The model raised {type(error).__name__}: {error}",
                point=points.reshape(-1, points.shape[-1])[0],
            ) from error

    def gradient(self, point: Array, components: Indices, classes: Indices) -> Array:
        raise TypeError(
            "UniversalAttack: only a torch module has a gradient; this model is a plain function."
        )


class _Network(_Function):
    """A torch module, with the latent images kept on its device."""

    def __init__(self, model: Module, latent: Array, space: str, device: str | Device | None) -> None:
        torch = extra("torch", "torch")
        module = (model if device is None else model.to(device)).eval()
        super().__init__(module, latent, space)
        tensors = list(chain(module.parameters(), module.buffers()))
        floating = [tensor for tensor in tensors if tensor.is_floating_point()]
        self.device = torch.device(device or (tensors[0].device if tensors else "cpu"))
        self.dtype = floating[0].dtype if floating else torch.float32
        self.latent = torch.tensor(self.latent, device=self.device)
        self.pixels = PASS_PIXELS if self.device.type == "cpu" else DEVICE_PIXELS

    def scores(self, points: Array, components: Indices) -> ArrayLike:
        torch = extra("torch", "torch")
        with torch.inference_mode():
            images = self.latent[torch.tensor(components)] + torch.tensor(points, device=self.device)
            return np.asarray(self._forward(images).double().cpu().numpy())

    def gradient(self, point: Array, components: Indices, classes: Indices) -> Array:
        """Of Σ_i (s_{class i} − max of the others) by x, in double precision up to the network's input."""
        torch = extra("torch", "torch")
        x = torch.tensor(point, device=self.device, requires_grad=True)
        index = torch.tensor(classes, device=self.device)[:, None]
        with torch.enable_grad():
            scores = self._forward(self.latent[torch.tensor(components)] + x)
            others = scores.scatter(1, index, -torch.inf).amax(dim=1)
            total = (scores.gather(1, index)[:, 0] - others).sum()
            return np.asarray(torch.autograd.grad(total, x)[0].double().cpu().numpy())

    def _forward(self, latent: Tensor) -> Tensor:
        images = latent.clamp(-BOUND, BOUND) if self.space == "pixels" else BOUND * latent.tanh()
        return self.model(images.reshape(-1, *self.shape).to(self.dtype))


def _pixels(images: ArrayLike) -> Array:
    pixels = np.asarray(to_numpy(images), dtype=float)
    if pixels.ndim < 2 or pixels.size == 0:
        raise ValueError(
            f"UniversalAttack needs at least one image, as an array (n, …); got an array of shape {pixels.shape}. If no "
            "image of the class is classified correctly, there is nothing to attack."
        )
    if not (np.abs(pixels) <= BOUND).all():
        raise ValueError(
            f"UniversalAttack needs pixels in [−½, ½]; they range from {pixels.min():g} to {pixels.max():g}. For bytes "
            "pass images/255 − 0.5."
        )
    return pixels


def _classes(name: str, classes: ArrayLike, n: int) -> NDArray[np.int64]:
    array = to_numpy(classes)
    if array.shape != (n,) or array.dtype.kind not in "iu" or (array < 0).any():
        raise ValueError(
            f"UniversalAttack needs {name} to be one whole number ≥ 0 for each of the {n} images; got shape "
            f"{array.shape} and dtype {array.dtype}."
        )
    return array.astype(np.int64)
