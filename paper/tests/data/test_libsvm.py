"""The LIBSVM reader: values equal to float() bit for bit, and every file that is not in the format a sentence."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zofw_paper.data import DataError, read_libsvm

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(
    st.tuples(st.sampled_from([-1.0, 1.0, 3.5]), st.dictionaries(st.integers(1, 60), FINITE, max_size=8)),
    min_size=1,
    max_size=12,
)


@given(ROWS)
def test_round_trip(rows: list[tuple[float, dict[int, float]]]) -> None:
    lines = (
        " ".join([repr(label), *(f"{index}:{value!r}" for index, value in sorted(features.items()))])
        for label, features in rows
    )
    Z, y = read_libsvm("\n".join(lines).encode(), n_features=60)
    assert y.tolist() == [label for label, _ in rows]
    for row, (_, features) in enumerate(rows):
        found = Z[[row]]
        values = [features[index + 1] for index in found.indices.tolist()]
        assert np.array_equal(found.data.view(np.int64), np.array(values, dtype=float).view(np.int64))
        assert found.indices.tolist() == [index - 1 for index in sorted(features)]


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\n \n", b"# nothing", b"1 1:1\n1 2:1 2:3\n", b"1 5:1 3:3\n", b"1 0:1", b"1 -4:1", b"1 1.5:1",
        b"1 99999999999:1", b"x 1:1", b"1 1:0x10", b"1 1:", b"1 :1", b"1 1:nan", b"1 1:1e999", b"inf 1:1", b"1 2",
        b"1 2:1:1", b"1:1", b"1 qid:3 1:1", b"1 1:1\n1\x00", b"1 1:\xff\n",
    ],
)  # fmt: skip
def test_a_file_in_another_format_is_refused(text: bytes) -> None:
    with pytest.raises(DataError, match="some/file"):
        read_libsvm(text, name="some/file")


def test_lines_comments_and_columns() -> None:
    Z, y = read_libsvm(b"# heading\r\n\r\n  +1\t2:0 \r\n-1\r\n1 1:1 # 7:7\r\n")
    assert y.tolist() == [1, -1, 1] and Z.toarray().tolist() == [[0, 0], [0, 0], [1, 0]]
    assert read_libsvm(b"1 0:1 2:1", zero_based=True)[0].toarray().tolist() == [[1, 0, 1]]
    assert read_libsvm(b"1 2:1", n_features=4)[0].shape == (1, 4)
    with pytest.raises(DataError):
        read_libsvm(b"1 5:1", n_features=4)


def test_two_classes() -> None:
    assert read_libsvm(b"2 1:1\n1 1:1\n2", binary=True)[1].tolist() == [1, -1, 1]
    for text in (b"4 1:1\n4", b"2\n\n2 1:1\n1\n7\n3\n"):
        with pytest.raises(DataError, match="a two-class problem needs two"):
            read_libsvm(text, binary=True)


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_compressed(pack, tmp_path) -> None:
    path = tmp_path / "file"
    packed = pack(b"1 1:0.5\n-1 2:1\n" * 50)
    path.write_bytes(packed)
    assert read_libsvm(path)[0].shape == (100, 2)
    path.write_bytes(packed[:-12])
    with pytest.raises(DataError, match="truncated or damaged") as caught:
        read_libsvm(str(path))
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match="cannot be read"):
        read_libsvm(tmp_path / "absent")


@pytest.mark.parametrize("seed", range(20))
def test_damaged_archives_never_crash(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for pack in (bz2.compress, gzip.compress, lzma.compress):
        packed = bytearray(pack(b"1 1:0.5 7:2\n-1 2:1\n" * 40))
        packed[int(rng.integers(6, len(packed)))] ^= int(rng.integers(1, 256))
        try:
            read_libsvm(bytes(packed))
        except DataError:
            continue
