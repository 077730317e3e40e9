"""Default settings on an easy sum with many components: lower than it began, or the method says why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zofw


@pytest.mark.slow
@pytest.mark.parametrize("name", zofw.methods())
def test_a_logistic_regression_of_500_rows_ends_lower_than_it_began(name):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((500, 40))
    y = np.where(Z @ rng.standard_normal(40) + rng.standard_normal(500) > 0, 1.0, -1.0)
    limit = {"max_iter": 50} if name == "frank-wolfe" else {"budget": 400_000}
    result = zofw.minimize(zofw.problems.Logistic(Z, y), zofw.L1Ball(3.0), method=name, rng=0, **limit)
    page = Path(__file__).parents[2] / "docs" / "methods" / f"{name}.md"
    assert result.fun < np.log(2.0) or "\ncaution: " in page.read_text()
