"""Everything random derives from a few integers and the number of the iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def entropy_of(rng: Any) -> tuple[int, ...]:
    """The integers behind a seed, a ``SeedSequence``, a ``Generator`` (which is drawn from) or None."""
    if isinstance(rng, np.random.Generator):
        return tuple(int(word) for word in rng.integers(1 << 32, size=4))
    sequence = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    entropy = sequence.entropy
    words = entropy if isinstance(entropy, Sequence) else [entropy]
    return (*(int(word) for word in words if word is not None), *(int(key) for key in sequence.spawn_key))


def generator(entropy: Sequence[int], iteration: int, redraws: int = 0) -> np.random.Generator:
    """The generator of one iteration; of its j-th redraw where it was begun again."""
    key = (iteration, redraws) if redraws else (iteration,)
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(list(entropy), spawn_key=key)))
