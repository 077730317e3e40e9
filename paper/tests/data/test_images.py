"""IDX and CIFAR-10 readers: strict about magic numbers, sizes and labels."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zofw_paper.data import DataError, Images, read_cifar10, read_idx


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@given(st.integers(0, 4), st.integers(0, 3), st.booleans())
def test_idx_round_trip(n: int, side: int, packed: bool) -> None:
    array = np.arange(n * side * side, dtype=np.uint8).reshape(n, side, side)
    content = idx(array)
    assert np.array_equal(read_idx(gzip.compress(content) if packed else content), array)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "starts with nothing"),
        (b"\0\0\x08", "starts with 000008;"),
        (b"\0\0\x09\x01\0\0\0\x01x", "starts with 00000901"),
        (b"\0\0\x08\0", "starts with 00000800"),
        (b"\0\0\x08\x04" + bytes(20), "starts with 00000804"),
        (b"\0\0\x08\x03\0\0", "ends inside its IDX header of 16 bytes"),
        (idx(np.zeros(5, np.uint8))[:-1], "has 12 bytes where its header (5,) promises 13"),
        (idx(np.zeros(5, np.uint8)) + b"x", "promises 13"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "promises 79228162458924105385300197391"),
    ],
)
def test_broken_idx(content: bytes, says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_idx(content, name="digits.gz")
    assert says in str(caught.value)
    assert "digits.gz" in str(caught.value)


def test_cifar_records() -> None:
    pixels = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3, 32, 32)
    content = b"".join(bytes([label]) + image.tobytes() for label, image in zip([3, 9], pixels, strict=True))
    images = read_cifar10(content)
    assert images.labels.tolist() == [3, 9]
    assert np.array_equal(images.pixels, pixels)
    for broken in (b"", content[:-1], content + b"x"):
        with pytest.raises(DataError, match="not a positive multiple of the 3073"):
            read_cifar10(broken)
    with pytest.raises(DataError, match="record 2: the label 10"):
        read_cifar10(content[:3073] + b"\x0a" + content[3074:])


def test_centred() -> None:
    images = Images(np.array([[[[0, 255, 51]]]], dtype=np.uint8), np.array([1]))
    assert len(images) == 1
    assert images.centred().dtype == np.float32
    np.testing.assert_allclose(images.centred().ravel(), [-0.5, 0.5, -0.3], atol=1e-7)


@given(st.binary(max_size=40))
def test_random_bytes_never_crash(content: bytes) -> None:
    for reader in (read_idx, read_cifar10):
        try:
            reader(b"\0\0\x08" + content)
        except DataError:
            continue
