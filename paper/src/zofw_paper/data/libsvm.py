r"""The LIBSVM text format, read into a sparse matrix.

One sample a line::

    line    = label { blank index ":" value }     (blanks are spaces and tabs; a line may also be empty)
    label   = number
    index   = 1 to 10 decimal digits, strictly increasing within the line, from 1 (from 0 if `zero_based`)
    number  = [sign] digits [ "." [digits] ] [ ("e" | "E") [sign] digits ], finite
              (or digits after the point only)

What is decided beyond the format's own (loose) description:

- A line may end in LF or CRLF; the last line needs no end.
- ``#`` starts a comment that reaches to the end of its line, as in SVMlight. A line that is blank, or blank
  before its comment, is no sample. A line with a label alone is a sample without features.
- A value written as 0 is stored, so that nnz counts what the file says.
- ``qid:`` is refused, and so are nan, inf, numbers that overflow, NUL bytes, and files without a sample.

A number is read exactly as ``float`` reads it, bit for bit. A decimal of at most 18 digits whose digits form
an integer m ≤ 2⁵³ with k digits after the point is m/10ᵏ, two exactly representable numbers (10ᵏ is exact for
k ≤ 22), so that the one division rounds correctly [1]_; every other number goes through ``float`` itself.

References
----------
.. [1] W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990.
.. [2] C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM TIST 2(3), 2011.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from zofw_paper.data.errors import DataError
from zofw_paper.data.packing import unpacked

__all__ = ["read_libsvm"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_CHUNK = 1 << 22  # bytes parsed at a time, rounded up to a line
_MAX_FEATURES = 2**31 - 1  # column indices are stored in 32 bits
_EXACT = 2**53
_POWERS = np.array([10.0**k for k in range(19)])
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_INDEX = re.compile(rb"\d{1,10}")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


@dataclass(frozen=True)
class _Rows:
    """Consecutive samples: m rows, and the k features of all of them one after the other."""

    labels: Floats  # (m,)
    lines: Ints  # (m,), counted from 1 in the whole file
    counts: Ints  # (m,), summing to k
    columns: Ints  # (k,), counted from 0
    values: Floats  # (k,)


def read_libsvm(
    source: str | os.PathLike[str] | bytes,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    binary: bool = False,
    name: str | None = None,
) -> tuple[csr_array, Floats]:
    """Read a file in the LIBSVM format; bzip2, xz and gzip are recognised by their first bytes.

    Parameters
    ----------
    source
        A path, or the content itself as bytes.
    n_features
        Number d of columns; a larger index is an error. Default: the largest index found.
    zero_based
        Whether the file counts its features from 0.
    binary
        Demand exactly two different labels, and return the smaller as −1 and the larger as +1.
    name
        What an error calls the source. Default: its path.

    Returns
    -------
    (Z, y)
        Z of shape (n, d) in CSR form with sorted indices, and the n labels, both in double precision.

    Raises
    ------
    DataError
        The file cannot be read, is damaged, or breaks the grammar of this module; the sentence names file and
        line.

    Examples
    --------
    >>> Z, y = read_libsvm(b"+1 1:0.5 3:2\\n-1\\n")
    >>> Z.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]], [1.0, -1.0])
    """
    if n_features is not None and not 0 <= n_features <= _MAX_FEATURES:
        raise ValueError(f"n_features must lie between 0 and {_MAX_FEATURES}, but {n_features} was given.")
    where, content = unpacked(source, name)
    text = _clean(content, where)
    limit = _MAX_FEATURES if n_features is None else n_features
    base = 0 if zero_based else 1
    parts = [
        _fast(chunk, first, base, limit) or _reference(chunk, first, base, limit, where)
        for first, chunk in _chunks(text)
    ]
    rows = _Rows(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))
    n = len(rows.labels)
    if n_features is None:
        n_features = int(rows.columns.max(initial=-1)) + 1
    starts = np.concatenate([[0], np.cumsum(rows.counts)])
    small = np.int32 if len(rows.columns) <= _MAX_FEATURES else np.int64
    matrix = csr_array(
        (rows.values, rows.columns.astype(np.int32), starts.astype(small)), shape=(n, n_features)
    )
    return matrix, _two_classes(rows, where) if binary else rows.labels


def _clean(text: bytes, where: str) -> bytes:
    """LF line ends and no comments; the numbering of the lines is kept."""
    if not text:
        raise DataError(f"{where} is empty: a LIBSVM file has one line for each sample.")
    nul = text.find(b"\0")
    if nul >= 0:
        line = text.count(b"\n", 0, nul) + 1
        raise DataError(
            f"{where}, line {line}: a NUL byte. This is not a LIBSVM text file, or it is damaged."
        )
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    if not text.strip(b" \t\n"):
        raise DataError(f"{where} contains no sample: every one of its lines is blank or a comment.")
    return text


def _chunks(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Pieces of whole lines, each with the number of its first line."""
    first, start = 1, 0
    while start < len(text):
        stop = text.find(b"\n", min(start + _CHUNK, len(text)))
        stop = len(text) if stop < 0 else stop + 1
        chunk = text[start:stop]
        yield first, chunk
        first += chunk.count(b"\n")
        start = stop


def _two_classes(rows: _Rows, where: str) -> Floats:
    found = np.unique(rows.labels)
    if len(found) == 1:
        raise DataError(f"{where} has the single label {found[0]:g}; a two-class problem needs two.")
    if len(found) > 2:
        two = np.unique(rows.labels[: int(np.argmax(rows.labels != rows.labels[0])) + 1])
        third = int(np.argmax(~np.isin(rows.labels, two)))
        raise DataError(
            f"{where}, line {rows.lines[third]}: the label is {rows.labels[third]:g} after {two[0]:g} and "
            f"{two[1]:g}; a two-class problem has two labels, and this file has {len(found)}."
        )
    return np.where(rows.labels == found[1], 1.0, -1.0)


def _fast(chunk: bytes, first: int, base: int, limit: int) -> _Rows | None:
    """The chunk read by whole-array operations; None if any of it is irregular: `_reference` decides."""
    text = b"\n" + chunk + b"\n"
    codes = np.frombuffer(text, np.uint8)
    blank = (codes == 32) | (codes == 10) | (codes == 9)
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, stops = edges[0::2], edges[1::2]
    token = np.searchsorted(starts, np.flatnonzero(codes == 10))  # first token at or after each line end
    tokens = np.diff(token)
    full = tokens > 0
    heads = token[:-1][full]
    labels = _numbers(text, codes, starts[heads], stops[heads])
    counts = tokens[full] - 1

    inner = np.ones(len(starts), dtype=bool)
    inner[heads] = False
    left, right = starts[inner], stops[inner]
    colons = np.flatnonzero(codes == 58)
    # tokens are disjoint and sorted: one colon inside each feature leaves none for a label
    if len(colons) != len(left) or np.any(colons <= left) or np.any(colons >= right - 1):
        return None
    columns = _integers(codes, left, colons)
    values = _numbers(text, codes, colons + 1, right)
    if labels is None or columns is None or values is None:
        return None
    columns = columns - base
    if len(columns):
        rising = np.diff(columns) > 0
        ends = np.cumsum(counts)
        rising[ends[(ends > 0) & (ends < len(columns))] - 1] = True  # a new row starts anywhere
        if not rising.all() or columns.min() < 0 or columns.max() >= limit:
            return None
    return _Rows(labels, np.flatnonzero(full) + first, counts, columns, values)


def _integers(codes: Bytes, starts: Ints, stops: Ints) -> Ints | None:
    """Decimal integers of 1 to 10 digits at ``codes[start:stop]``, or None if one is anything else."""
    width = stops - starts
    result = np.zeros(len(starts), dtype=np.int64)
    if width.max(initial=0) > 10:
        return None
    for k in range(int(width.max(initial=0))):
        live = np.flatnonzero(width > k)
        digit = codes[starts[live] + k] - np.uint8(48)
        if digit.max() > 9:
            return None
        result[live] = result[live] * 10 + digit
    return result


def _numbers(text: bytes, codes: Bytes, starts: Ints, stops: Ints) -> Floats | None:
    """The numbers at ``text[start:stop]``, equal to what ``float`` makes of them, or None if one is none."""
    lead = codes[starts]
    begins = starts + ((lead == 43) | (lead == 45))
    width = stops - begins
    plain = (width > 0) & (width <= 19)
    mantissa = np.zeros(len(starts), dtype=np.int64)
    places = np.zeros(len(starts), dtype=np.int64)
    points = np.zeros(len(starts), dtype=np.int64)
    for k in range(int(width[plain].max(initial=0))):
        live = np.flatnonzero(plain & (width > k))
        code = codes[begins[live] + k]
        digit = code - np.uint8(48)
        is_digit = digit <= 9
        if is_digit.all():
            mantissa[live] = mantissa[live] * 10 + digit
            continue
        is_point = code == 46
        mantissa[live] = np.where(is_digit, mantissa[live] * 10 + digit, mantissa[live])
        pointed = live[is_point]
        points[pointed] += 1
        places[pointed] = width[pointed] - 1 - k
        plain[live[~(is_digit | is_point)]] = False
    plain &= (points <= 1) & (width - points >= 1) & (width - points <= 18) & (mantissa <= _EXACT)
    result: Floats = mantissa / _POWERS[np.where(plain, places, 0)]
    result[lead == 45] *= -1.0  # and −0.0 stays itself
    for i in np.flatnonzero(~plain).tolist():
        number = _number(text[starts[i] : stops[i]])
        if number is None:
            return None
        result[i] = number
    return result


def _number(token: bytes) -> float | None:
    if _NUMBER.fullmatch(token) is None:
        return None
    number = float(token)
    return number if math.isfinite(number) else None


def _reference(chunk: bytes, first: int, base: int, limit: int, where: str) -> _Rows:
    """The grammar, line by line: what `_fast` must agree with, and where every error is worded."""
    labels: list[float] = []
    lines: list[int] = []
    counts: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for line, content in enumerate(chunk.split(b"\n"), first):
        tokens = [token for token in content.replace(b"\t", b" ").split(b" ") if token]
        if not tokens:
            continue
        at = f"{where}, line {line}"
        labels.append(_number_or_error(tokens[0], "label", at))
        lines.append(line)
        counts.append(len(tokens) - 1)
        previous = base - 1
        for token in tokens[1:]:
            index, colon, value = token.partition(b":")
            previous = _index_or_error(token, index, colon, previous, base, limit, at)
            columns.append(previous - base)
            values.append(_number_or_error(value, f"value of feature {previous}", at))
    return _Rows(
        np.array(labels, dtype=np.float64),
        np.array(lines, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _index_or_error(
    token: bytes, index: bytes, colon: bytes, previous: int, base: int, limit: int, at: str
) -> int:
    if not colon:
        raise DataError(f"{at}: {_shown(token)} is not of the form index:value.")
    if index == b"qid":
        raise DataError(
            f"{at}: {_shown(token)} is a query id; ranking data are not supported. Remove the field."
        )
    if _INDEX.fullmatch(index) is None:
        raise DataError(f"{at}: the index {_shown(index)} is not an integer of 1 to 10 digits.")
    found = int(index)
    if found < base:
        raise DataError(
            f"{at}: the index is {found}, but indices start from {base}. For a file that counts from 0 set zero_based=True."
        )
    if found <= previous:
        raise DataError(
            f"{at}: the index {found} follows {previous}, but indices increase strictly in a line."
        )
    if found - base >= limit:
        raise DataError(f"{at}: the index is {found}, but the largest allowed is {limit - 1 + base}.")
    return found


def _number_or_error(token: bytes, what: str, at: str) -> float:
    number = _number(token)
    if number is None:
        not_finite = _NOT_FINITE.fullmatch(token) or _NUMBER.fullmatch(token)
        wanted = "finite" if not_finite else "a number"
        raise DataError(f"{at}: the {what}, {_shown(token)}, is not {wanted}.")
    return number


def _shown(token: bytes) -> str:
    text = token[:40].decode("ascii", "backslashreplace")
    return f"'{text}{'…' if len(token) > 40 else ''}'"
