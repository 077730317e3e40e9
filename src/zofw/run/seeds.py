"""Everything random derives from a few integers and the number of the iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def entropy_of(rng: Any) -> tuple[int, ...]:
    """The integers behind a seed, a ``SeedSequence``, a ``Generator`` or ``BitGenerator`` (drawn from) or None."""
    if isinstance(rng, (np.random.Generator, np.random.BitGenerator)):
        return tuple(int(word) for word in np.random.default_rng(rng).integers(1 << 32, size=4))
    if isinstance(rng, np.random.SeedSequence) and rng.spawn_key:
        return tuple(int(word) for word in rng.generate_state(4))
    sequence = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    words = np.atleast_1d(np.asarray(sequence.entropy, dtype=object))
    return tuple(int(word) for word in words)


def generator(entropy: Sequence[int], iteration: int, redraws: int = 0) -> np.random.Generator:
    """The generator of one iteration; of its j-th redraw where it was begun again."""
    key = (iteration, redraws) if redraws else (iteration,)
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(entropy), spawn_key=key)))
