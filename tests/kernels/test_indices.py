"""Indices drawn by compiled code are NumPy's, and so is the generator they leave behind."""

from __future__ import annotations

import numpy as np
import pytest

from zofw import kernels
from zofw.core import Task

pytest.importorskip("numba")
GENERATORS = [np.random.Philox, np.random.PCG64, np.random.MT19937, np.random.SFC64]


@pytest.mark.parametrize("generator", GENERATORS)
def test_they_are_those_of_numpy(generator, monkeypatch):
    monkeypatch.setenv("ZOFW_KERNELS", "numba")
    theirs, ours = (np.random.Generator(generator(5)) for _ in range(2))
    for round in range(300):  # odd sizes leave half a word, ranges near 2³² set many words aside
        n = [1, 2, 7, 32561, 3 << 30, (1 << 32) - 1, 1 << 32, (1 << 40) + 1][round % 8]
        size = int(theirs.integers(40))
        assert size == int(ours.integers(40))
        wanted = theirs.integers(n, size=size, dtype=np.int64)
        found = kernels.integers(ours, n, size)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, wanted)
    assert repr(ours.bit_generator.state) == repr(theirs.bit_generator.state)


def test_without_numba_they_are_the_same(monkeypatch):
    drawn = []
    for choice in ("numba", "numpy"):
        monkeypatch.setenv("ZOFW_KERNELS", choice)
        task = Task(None, 3, 1000, draw=kernels.integers)
        drawn.append(task.sample(np.random.default_rng(1), 33).indices)
    drawn.append(Task(None, 3, 1000).sample(np.random.default_rng(1), 33).indices)
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[0], drawn[2])
