"""Problems of the specifications that no data set is the whole of."""

from __future__ import annotations

import numpy as np
from scipy.sparse import diags
from sklearn.datasets import load_breast_cancer, load_digits

from zofw.problems import LeastSquares, Logistic, MatrixCompletion
from zofw_paper.data import load


def digits_from_pixels(images: int = 60, share: float = 0.5, seed: int = 0) -> MatrixCompletion:
    """Handwritten digits, one a row, from a share of their pixels; centred, in [−½, ½]."""
    pixels = load_digits().data[:images] / 16.0 - 0.5
    rng = np.random.default_rng(seed)
    seen = rng.permutation(pixels.size)[: int(share * pixels.size)]
    rows, columns = np.unravel_index(seen, pixels.shape)
    return MatrixCompletion(pixels.shape, rows, columns, pixels[rows, columns])


def portfolio(assets: int = 50, scenarios: int = 2_000, goal: float = 0.12, seed: int = 0) -> LeastSquares:
    """Markowitz by least squares: ½(r_i·w − goal)² in the mean over fat-tailed scenarios with one market factor."""
    rng = np.random.default_rng(seed)
    mean, spread = np.linspace(0.01, 0.10, assets), np.linspace(0.02, 0.32, assets)
    market = rng.standard_t(4, size=(scenarios, 1))
    own = rng.standard_t(4, size=(scenarios, assets))
    returns = mean + spread * (0.6 * market + 0.8 * own) / np.sqrt(2.0)
    return LeastSquares(returns, np.full(scenarios, goal))


def tumours() -> Logistic:
    """Breast tumours by thirty standardised measurements."""
    table = load_breast_cancer()
    return Logistic((table.data - table.data.mean(0)) / table.data.std(0), np.where(table.target, 1.0, -1.0))


def unit_rows(data: str) -> Logistic:
    """The logistic loss of a data set whose rows are scaled to length one; empty rows stay."""
    Z, y = load(data)
    lengths = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
    return Logistic(diags(1.0 / np.where(lengths > 0, lengths, 1.0)) @ Z, y)
