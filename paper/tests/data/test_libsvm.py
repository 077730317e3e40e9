"""The LIBSVM reader: equal to float() bit for bit, fast and reference paths equal, every malformation a sentence."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zofw_paper.data import DataError, libsvm, read_libsvm

FINITE = st.floats(allow_nan=False, allow_infinity=False)


NUMBERS = st.one_of(
    FINITE.map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.tuples(
        st.sampled_from(["", "+", "-"]),
        st.text("0123456789", min_size=1, max_size=20),
        st.text("0123456789", max_size=24),
        st.sampled_from(["", "e5", "E-7", "e+300"]),
    ).map(lambda parts: f"{parts[0]}{parts[1]}.{parts[2]}{parts[3]}"),
    st.tuples(st.sampled_from(["", "+", "-"]), st.text("0123456789", min_size=1, max_size=24)).map(
        lambda parts: f"{parts[0]}.{parts[1]}"
    ),
).filter(lambda text: math.isfinite(float(text)))

ROWS = st.lists(
    st.tuples(
        st.sampled_from([-1.0, 1.0, 3.5]),
        st.dictionaries(st.integers(1, 60), FINITE, max_size=8),
    ),
    min_size=1,
    max_size=12,
)


def written(rows: list[tuple[float, dict[int, float]]]) -> bytes:
    lines = (
        " ".join([repr(label), *(f"{index}:{value!r}" for index, value in sorted(features.items()))])
        for label, features in rows
    )
    return "\n".join(lines).encode()


def bits(values: np.ndarray) -> list[int]:
    return np.asarray(values, dtype=np.float64).view(np.int64).tolist()


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_numbers_equal_float_bit_for_bit(numbers: list[str]) -> None:
    text = ("1 " + " ".join(f"{k}:{number}" for k, number in enumerate(numbers, 1))).encode()
    Z, _ = read_libsvm(text)
    assert bits(Z.data) == bits(np.array([float(number) for number in numbers]))


@pytest.mark.parametrize(
    "number",
    ["-0", "0.1", "9007199254740992", "9007199254740993", "0.9007199254740993", "123456789012345678", "1.", ".5",
     "1e-400", "4.9e-324", "1.7976931348623157e308", "0.000000000000000001", "9999999999999999999", "00000000000000000.1"],
)  # fmt: skip
def test_awkward_numbers(number: str) -> None:
    Z, y = read_libsvm(f"{number} 1:{number}".encode())
    assert bits(Z.data) == bits(y) == bits(np.array([float(number)]))


@given(ROWS)
def test_round_trip(rows: list[tuple[float, dict[int, float]]]) -> None:
    Z, y = read_libsvm(written(rows), n_features=60)
    assert Z.shape == (len(rows), 60)
    assert y.tolist() == [label for label, _ in rows]
    for i, (_, features) in enumerate(rows):
        part = slice(Z.indptr[i], Z.indptr[i + 1])
        assert (Z.indices[part] + 1).tolist() == sorted(features)
        assert bits(Z.data[part]) == bits(np.array([features[k] for k in sorted(features)]))


@given(ROWS, st.integers(1, 40))
def test_chunks_make_no_difference(rows: list[tuple[float, dict[int, float]]], size: int) -> None:
    whole = read_libsvm(written(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libsvm, "_CHUNK", size)
        parts = read_libsvm(written(rows))
    assert whole[0].shape == parts[0].shape
    assert bits(whole[0].data) == bits(parts[0].data)
    assert whole[0].indices.tolist() == parts[0].indices.tolist()
    assert whole[0].indptr.tolist() == parts[0].indptr.tolist()
    assert whole[1].tolist() == parts[1].tolist()


FRAGMENTS = st.lists(
    st.sampled_from(
        ["1", "-1", " ", "\t", "\n", "\r\n", "\r", "3:1", "7:0.25", "7:1e3", ":", "qid:4", "0:1", "nan", "5:inf", "#x",
         "5:", "2:1:1", "٣:1", "\0", "1_0", "+", "-", ".", "e5", "4:.5", "99999999999:1", "3:-0", "\x0b"]
    ),
    max_size=14,
).map(lambda parts: "".join(parts).encode())  # fmt: skip


@given(st.one_of(FRAGMENTS, st.binary(max_size=60)))
def test_fast_and_reference_agree_and_nothing_else_escapes(text: bytes) -> None:
    def outcome() -> object:
        try:
            Z, y = read_libsvm(text)
        except DataError as error:
            assert "<bytes>" in str(error)
            return str(error)
        return Z.shape, bits(Z.data), Z.indices.tolist(), Z.indptr.tolist(), bits(y)

    ours = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libsvm, "_fast", lambda *_: None)
        assert outcome() == ours


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (b"1 1:1\n1 2:1 2:3\n", 2, "index 2 follows 2"),
        (b"1 1:1\n\n1 5:1 3:3\n", 3, "index 3 follows 5"),
        (b"1 0:1", 1, "start from 1"),
        (b"1 -4:1", 1, "'-4' is not an integer"),
        (b"1 1.5:1", 1, "'1.5' is not an integer"),
        (b"1 99999999999:1", 1, "1 to 10 digits"),
        (b"1 4294967296:1", 1, "largest allowed"),
        (b"1 1:1\nx 1:1", 2, "label, 'x', is not a number"),
        (b"1 1:0x10", 1, "'0x10', is not a number"),
        (b"1 1:1_0", 1, "is not a number"),
        (b"1 1:", 1, "is not a number"),
        (b"1 :1", 1, "'' is not an integer"),
        (b"1 1:nan", 1, "is not finite"),
        (b"1 1:-Infinity", 1, "is not finite"),
        (b"1 1:1e999", 1, "is not finite"),
        (b"inf 1:1", 1, "is not finite"),
        (b"1 2", 1, "not of the form index:value"),
        (b"1 2:1:1", 1, "is not a number"),
        (b"1:1", 1, "label, '1:1'"),
        (b"1 qid:3 1:1", 1, "query id"),
        (b"1 1:1\n1\x00", 2, "NUL"),
        (b"1 1:1\n1 1:1\r", 2, "is not a number"),
        (b"# only\n1 1:1 # fine\n1 1:\xff\n", 3, "\\xff"),
        (b"1 1:" + b"7" * 100 + b"x", 1, "…"),
    ],
)
def test_malformed_lines_are_named(text: bytes, line: int, says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_libsvm(text, name="some/file")
    assert f"some/file, line {line}:" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"\n \n", b"# nothing"])
def test_a_file_without_a_sample_is_refused(text: bytes) -> None:
    with pytest.raises(DataError, match=r"<bytes> (is empty|contains no sample)"):
        read_libsvm(text)


def test_decisions_of_the_format() -> None:
    text = b"# heading\r\n\r\n  +1\t2:0 \r\n-1\r\n1 1:1 # 7:7\r\n"
    Z, y = read_libsvm(text)
    assert y.tolist() == [1, -1, 1]
    assert Z.toarray().tolist() == [[0, 0], [0, 0], [1, 0]]
    assert Z.nnz == 2
    assert Z.has_sorted_indices


def test_rows_without_any_feature() -> None:
    Z, y = read_libsvm(b"1\n2\n")
    assert Z.shape == (2, 0)
    assert y.tolist() == [1, 2]


def test_columns() -> None:
    assert read_libsvm(b"1 0:1 2:1", zero_based=True)[0].toarray().tolist() == [[1, 0, 1]]
    assert read_libsvm(b"1 2:1", n_features=4)[0].shape == (1, 4)
    with pytest.raises(DataError, match=r"line 1: the index is 5, but the largest allowed is 4"):
        read_libsvm(b"1 5:1", n_features=4)
    with pytest.raises(DataError, match=r"line 1: the index is 4, but the largest allowed is 3"):
        read_libsvm(b"1 4:1", n_features=4, zero_based=True)
    with pytest.raises(ValueError, match="n_features must lie between"):
        read_libsvm(b"1 1:1", n_features=-1)


def test_two_classes() -> None:
    assert read_libsvm(b"2 1:1\n1 1:1\n2", binary=True)[1].tolist() == [1, -1, 1]
    with pytest.raises(DataError, match="single label 4"):
        read_libsvm(b"4 1:1\n4", binary=True)
    with pytest.raises(DataError, match=r"<bytes>, line 5: the label is 7 after 1 and 2; .* this file has 4"):
        read_libsvm(b"2\n\n2\n1\n7\n3\n", binary=True)


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
