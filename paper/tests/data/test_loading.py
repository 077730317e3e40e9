"""The named data sets: what they hold, how fast they load, and that their names are theirs."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from zofw_paper.data import DataError, Kind, datasets, load, locate, verify

SPARSE = [name for name, entry in datasets().items() if entry.kind is Kind.SPARSE]
FETCHED = [name for name, entry in datasets().items() if entry.kind is not Kind.EMBEDDED]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def present(name: str, split: str = "all") -> None:
    files = {file.path for file in datasets()[name].part(split).files}
    missing = [file for file, path in locate(name).items() if path is None and file in files]
    if missing:
        pytest.skip(f"{', '.join(missing)} not found: set ZOFW_DATA to a folder that holds it")


@pytest.mark.parametrize("name", SPARSE)
def test_sparse(name: str) -> None:
    present(name)
    part = datasets()[name].part(None)
    for Z, y in (load(name), load(name)):
        assert Z.shape == (part.n, part.d)
        assert part.nnz in (None, Z.nnz)
        assert Z.dtype == y.dtype == np.float64
        assert set(np.unique(y)) == {-1.0, 1.0}
        if part.labels:
            assert [np.sum(y == -1), np.sum(y == 1)] == [part.labels[-1], part.labels[1]]
        assert Z.indices.max() < part.d
        if name.startswith(("rcv1", "news20", "real")):
            np.testing.assert_allclose(np.sqrt(Z.power(2).sum(axis=1)), 1.0, atol=1e-4)


def test_published_counts() -> None:
    counts = {
        name: (part.n, part.d, part.nnz, part.labels and tuple(part.labels.values()))
        for name in SPARSE
        for part in datasets()[name].parts.values()
    }
    assert counts == {
        "a9a": (32_561, 123, 451_592, (24_720, 7_841)),
        "a9a.t": (16_281, 123, 225_731, (12_435, 3_846)),
        "w8a": (49_749, 300, 579_586, (48_270, 1_479)),
        "rcv1": (20_242, 47_236, None, None),
        "real-sim": (72_309, 20_958, None, None),
        "rcv1-subsets": (23_749, 47_236, 1_783_774, (11_920, 11_829)),
        "news20-binary": (15_935, 62_061, 1_272_569, (7_984, 7_951)),
    }


def test_w8a_has_empty_rows() -> None:
    present("w8a")
    Z, _ = load("w8a")
    assert np.sum(np.diff(Z.indptr) == 0) > 0


def test_reader_agrees_with_scikit_learn() -> None:
    present("news20-binary")
    sklearn = pytest.importorskip("sklearn.datasets")
    from zofw_paper.data import read_libsvm

    path = locate("news20-binary")["libsvm/news20"]
    Z, y = read_libsvm(path, n_features=62_061)
    Z2, y2 = sklearn.load_svmlight_file(str(path), n_features=62_061)
    assert np.array_equal(y, y2)
    assert np.array_equal(Z.indptr, Z2.indptr)
    assert np.array_equal(Z.indices, Z2.indices)
    assert np.array_equal(Z.data, Z2.data)


@pytest.mark.parametrize(("name", "first", "again"), [("a9a", 1.0, 0.3), ("rcv1-subsets", 6.0, 0.3)])
def test_speed(name: str, first: float, again: float, tmp_path: Path) -> None:
    """In a fresh process, the imports of the reader already done; the best of three where the cache is warm.

    Seconds of the process, not of the clock, and the least of up to three processes: others may use the machine.
    """
    present(name)
    script = (
        "import time, sys\nfrom zofw_paper.data import load\ntimes = []\n"
        f"for _ in range(4):\n    start = time.process_time(); load({name!r}); times.append(time.process_time() - start)\n"
        "sys.stdout.write(f'{times[0]} {min(times[1:])}')"
    )
    cold = warm = math.inf
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        times = map(float, done.stdout.split())
        cold, warm = (min(pair) for pair in zip((cold, warm), times, strict=True))
        if cold < first and warm < again:
            return
    pytest.fail(f"{cold:.2f} s the first time and {warm:.2f} s after it")


@pytest.mark.parametrize(
    ("name", "split", "shape"),
    [
        ("mnist", None, (10_000, 1, 28, 28)),
        ("mnist", "train", (60_000, 1, 28, 28)),
        ("cifar10", None, (10_000, 3, 32, 32)),
        ("cifar10", "train-1", (10_000, 3, 32, 32)),
        ("cifar10", "train", (50_000, 3, 32, 32)),
    ],
)
def test_images(name: str, split: str | None, shape: tuple[int, ...]) -> None:
    present(name, split or "test")
    images = load(name, split=split)
    assert images.pixels.shape == shape
    assert images.pixels.dtype == np.uint8
    assert images.labels.shape == shape[:1]
    if (name, split) == ("mnist", None):
        assert np.sum(images.labels == 1) == 1135


def test_breast_cancer() -> None:
    pytest.importorskip("sklearn")
    Z, y = load("breast-cancer")
    assert Z.shape == (569, 30)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1.0, atol=1e-12)
    assert [np.sum(y == -1), np.sum(y == 1)] == [212, 357]
    assert np.mean(Z[y == -1, 0]) > np.mean(Z[y == 1, 0])  # malignant tumours are larger


def test_digits() -> None:
    pytest.importorskip("sklearn")
    Z, y = load("digits")
    assert (Z.shape, Z.min(), Z.max()) == ((1797, 64), 0.0, 1.0)
    assert y[:6].tolist() == [-1, 1, -1, 1, -1, 1]  # the file begins 0, 1, 2, …


def test_embedded_without_scikit_learn(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'scikit-learn"):
        load("digits")


@pytest.mark.parametrize("name", FETCHED)
def test_verify(name: str) -> None:
    for check in verify(name):
        assert check.status in ("ok", "missing"), check.detail


def test_names() -> None:
    with pytest.raises(DataError, match=r"no data set named 'a9'. Did you mean a9a"):
        load("a9")
    with pytest.raises(DataError, match=r"There are a9a, a9a.t, breast-cancer"):
        load("zzzzzz")
    with pytest.raises(DataError, match=r"mnist has no split 'all'; it has 'train', 'test'"):
        load("mnist", split="all")
    with pytest.raises(DataError, match="a9a has no split 'test'"):
        load("a9a", split="test")
    with pytest.raises(DataError, match=r"zofw_paper\.targets"):
        load("mnist-carlini-weights")


def test_catalogue_is_read_only() -> None:
    with pytest.raises(TypeError):
        datasets()["mine"] = datasets()["a9a"]


def test_no_fingerprint_is_shared_or_malformed() -> None:
    files = [file for entry in datasets().values() for file in entry.files]
    prints = [print for file in files for print in (file.sha256, file.packed) if print]
    assert all(len(print) == 64 and set(print) <= set("0123456789abcdef") for print in prints)
    assert len(set(prints)) == len(prints)
    assert len({file.path for file in files}) == len(files)
    assert [file.path for file in files if file.sha256 is None] == ["libsvm/rcv1_train.binary"]
