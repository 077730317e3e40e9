"""The random numbers of a run: a generator for every iteration, derived from (seed, iteration)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

HashedWords = Any  # one word, or an array of them
POOL = 4  # words of the pool
AHEAD = 256  # iterations whose keys are made together
MASK = 0xFFFFFFFF
MULT_A, INIT_B, MULT_B = 0x931E8875, 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = 0xCA01F9DD, 0x4973F715
INIT_A = 0x43B0D7E5


@lru_cache(maxsize=64)
def pool_of(entropy: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """NumPy's pool after the words of the entropy, padded to four, and the constant that hashes the next word."""
    words = [word >> shift & MASK for word in entropy for shift in range(0, max(1, word.bit_length()), 32)]
    pool = np.random.SeedSequence(list(entropy), spawn_key=()).pool
    hashed = POOL * POOL + POOL * max(0, len(words) - POOL)
    return tuple(int(word) for word in pool), INIT_A * pow(MULT_A, hashed, 1 << 32) & MASK


def stirred(pool: Sequence[HashedWords], constant: int, word: HashedWords) -> tuple[list[HashedWords], int]:
    """The pool and the constant after one more word, of one iteration or of many."""
    out: list[HashedWords] = []
    for old in pool:
        value = word ^ constant
        constant = constant * MULT_A & MASK
        value = value * constant & MASK
        mixed = (MIX_LEFT * old - MIX_RIGHT * (value ^ value >> 16)) & MASK
        out.append(mixed ^ mixed >> 16)
    return out, constant


class Stream:
    """The random numbers of a run: one generator, set to the beginning of whichever iteration needs it.

    Philox seeded by ``SeedSequence(entropy, spawn_key=(iteration,))``, or (iteration, redraws). The hash of the entropy
    is kept, so that only the words of the spawn key are added to it, for many iterations together; and so is the
    generator, for making one takes longer than drawing from it.
    """

    def __init__(self, entropy: Sequence[int]) -> None:
        self.pool, self.constant = pool_of(tuple(entropy))
        self.bits = np.random.Philox(0)
        self.generator = np.random.Generator(self.bits)
        self.state: Any = {**self.bits.state, "state": {"counter": np.zeros(4, np.uint64)}}
        self.first, self.keys = -AHEAD, np.empty((AHEAD, 2), np.uint64)

    def at(self, iteration: int, redraws: int = 0) -> np.random.Generator:
        """The generator of one iteration; of its j-th redraw where it was begun again. It ends the one before."""
        if redraws:
            key = self._keys_of(np.array([iteration], np.uint64), redraws)[0]
        else:
            if not 0 <= iteration - self.first < AHEAD:
                self.first = iteration - iteration % AHEAD
                self.keys = self._keys_of(np.arange(self.first, self.first + AHEAD, dtype=np.uint64))
            key = self.keys[iteration - self.first]
        self.state["state"]["key"] = key
        self.bits.state = self.state
        return self.generator

    def _keys_of(self, iterations: NDArray[np.uint64], redraws: int = 0) -> NDArray[np.uint64]:
        """Philox's keys, (len(iterations), 2), of iterations whose numbers are equally long."""
        mixed: Sequence[HashedWords]
        mixed, constant = self.pool, self.constant
        for shift in range(0, max(1, int(iterations[-1]).bit_length()), 32):
            mixed, constant = stirred(mixed, constant, iterations >> np.uint64(shift) & np.uint64(MASK))
        for shift in range(0, redraws.bit_length(), 32):
            mixed, constant = stirred(mixed, constant, redraws >> shift & MASK)
        constant, words = INIT_B, []
        for word in mixed:
            value = word ^ constant
            constant = constant * MULT_B & MASK
            value = value * constant & MASK
            words.append(value ^ value >> 16)
        return np.stack([words[0] | words[1] << 32, words[2] | words[3] << 32], axis=1)
