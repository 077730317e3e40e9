"""What each named data set is: its files, their fingerprints and sources, and what must be found in them.

A fingerprint is the sha256 of the plain content. A file may be stored plain or compressed; the sha256 of one
known compressed form spares the decompression. `None` stands for what has not been verified here:

- ``rcv1`` has no known fingerprint. The sha256 of the first download is recorded beside the file and every
  later use is held against it (trust on first use); the number of samples and of features is always checked.
- ``rcv1-subsets`` is *not* LIBSVM's ``rcv1_train.binary``: the same term ids, weighting and labelling rule
  (+1 for CCAT and ECAT, −1 for GCAT and MCAT) on other RCV1-v2 documents, values rounded to six decimals. It
  has no site of its own and is never downloaded.

References
----------
.. [1] C.-C. Chang and C.-J. Lin, LIBSVM data: classification,
   https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/.
.. [2] D. D. Lewis, Y. Yang, T. G. Rose and F. Li, "RCV1: a new benchmark collection for text categorization
   research", JMLR 5, 2004.
.. [3] Y. LeCun, C. Cortes and C. J. C. Burges, "The MNIST database of handwritten digits".
.. [4] A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009.
.. [5] Y. Idelbayev, "Proper ResNet implementation for CIFAR10/CIFAR100 in PyTorch" (the ResNet-20 weights).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from zofw.data.errors import DataError

__all__ = ["Archive", "DataPart", "Dataset", "File", "Kind", "datasets", "describe"]


class Kind(Enum):
    """What `load` makes of a data set."""

    SPARSE = "sparse"  # (CSR matrix, labels ±1)
    IMAGES = "images"  # Images
    EMBEDDED = "embedded"  # (dense matrix, labels ±1), shipped with scikit-learn
    WEIGHTS = "weights"  # read by zofw.targets


@dataclass(frozen=True)
class Archive:
    """A tar file from which single members are taken."""

    url: str
    sha256: str
    folder: str


@dataclass(frozen=True)
class File:
    """One file: its plain name below the data folder, its plain content's sha256, and where to get it."""

    path: str
    sha256: str | None
    packed: str | None = None  # sha256 of a known compressed form
    urls: tuple[str, ...] = ()
    archive: Archive | None = None


@dataclass(frozen=True, eq=False)
class DataPart:
    """What is loaded at once: files in order, and the n, d, nnz and label counts that must come out."""

    files: tuple[File, ...]
    n: int | None = None
    d: int | None = None
    nnz: int | None = None
    labels: Mapping[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; all have a part "all" but the images ("train", "test", …) and weights in several forms."""

    name: str
    kind: Kind
    about: str
    parts: Mapping[str, DataPart]

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(dict.fromkeys(file for part in self.parts.values() for file in part.files))

    def part(self, split: str | None, default: str = "all") -> DataPart:
        try:
            return self.parts[split or default]
        except KeyError:
            known = ", ".join(map(repr, self.parts))
            raise DataError(f"{self.name} has no split {split or default!r}; it has {known}.") from None


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_MNIST = ("http://yann.lecun.com/exdb/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/")
_RESNET = "https://github.com/akamaster/pytorch_resnet_cifar10/raw/master/pretrained_models/"
_CIFAR = Archive(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    "cifar-10-batches-bin",
)


def _sparse(
    name: str, about: str, file: File, n: int, d: int, nnz: int | None, labels: tuple[int, int] | None
) -> Dataset:
    counts = None if labels is None else {-1: labels[0], +1: labels[1]}
    return Dataset(name, Kind.SPARSE, about, {"all": DataPart((file,), n, d, nnz, counts)})


def _embedded(name: str, about: str, n: int, d: int, labels: tuple[int, int]) -> Dataset:
    return Dataset(
        name, Kind.EMBEDDED, about, {"all": DataPart((), n, d, n * d, {-1: labels[0], +1: labels[1]})}
    )


def _mnist(stem: str, plain: str, packed: str) -> File:
    return File(f"mnist/{stem}", plain, packed, tuple(f"{site}{stem}.gz" for site in _MNIST))


def _counts(*counts: int) -> Mapping[int, int]:
    return dict(enumerate(counts))


_CIFAR_TEST = File(
    "cifar-10/test_batch.bin",
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    "89f4e12a985a64b8729884fe56b06dab93e30da267c8957ee031f6fc6d96a18f",
    archive=_CIFAR,
)
_CIFAR_TRAIN = (
    File(
        "cifar-10/data_batch_1.bin",
        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "7854ef2eb3bf1c9f426c079ccd35bea5dda80aca65679f9af02698fb449811b1",
        archive=_CIFAR,
    ),
    *(
        File(f"cifar-10/data_batch_{k}.bin", plain, archive=_CIFAR)
        for k, plain in (
            (2, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
            (3, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
            (4, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
            (5, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        )
    ),
)

_ENTRIES = (
    _sparse(
        "a9a",
        "census income over 50,000 dollars (+1), 123 binary features",
        File(
            "libsvm/a9a",
            "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
            "1dcb2b4aedea0b5a9e964192dd211675d16cf05ab6477ddd0702d87c1d1af8da",
            (f"{_LIBSVM}binary/a9a",),
        ),
        n=32_561,
        d=123,
        nnz=451_592,
        labels=(24_720, 7_841),
    ),
    _sparse(
        "a9a.t",
        "the test samples of a9a",
        File(
            "libsvm/a9a.t",
            "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
            "e55725b53c3c47f7053bd3ef12e41555539eac4c0fe989e69345cc4dd0ea6e8d",
            (f"{_LIBSVM}binary/a9a.t",),
        ),
        n=16_281,
        d=123,
        nnz=225_731,
        labels=(12_435, 3_846),
    ),
    _sparse(
        "w8a",
        "web pages of one category (+1), 300 binary key words; some rows are empty",
        File(
            "libsvm/w8a",
            "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
            "d7fe0ec5079fb8fb0901f85ecbbf87e05698600dc0326e0edbe222426b438801",
            (f"{_LIBSVM}binary/w8a",),
        ),
        n=49_749,
        d=300,
        nnz=579_586,
        labels=(48_270, 1_479),
    ),
    _sparse(
        "rcv1",
        "LIBSVM's rcv1_train.binary: CCAT and ECAT (+1) against GCAT and MCAT (−1), unit tf-idf rows",
        File("libsvm/rcv1_train.binary", None, None, (f"{_LIBSVM}binary/rcv1_train.binary.bz2",)),
        n=20_242,
        d=47_236,
        nnz=None,
        labels=None,
    ),
    _sparse(
        "real-sim",
        "news groups on real (+1) against simulated (−1) vehicles and aviation, unit tf-idf rows",
        File(
            "libsvm/real-sim",
            "0fd9b12b6dc60dab7885a7367b286a53aac5d92057dc1083ab13ade275120270",
            None,
            (f"{_LIBSVM}binary/real-sim.bz2",),
        ),
        n=72_309,
        d=20_958,
        nnz=None,
        labels=None,
    ),
    _sparse(
        "rcv1-subsets",
        "RCV1-v2 documents labelled and weighted like those of rcv1, but other documents",
        File(
            "libsvm/rcv1_subsets.binary",
            "225aad96b8fa7c37d12856ed1b773871773087e3d4f7b0c0eed4c2df4082e191",
            "b4d14b799e9632b476b3b65076c94e7381f9ab00e8fa099afaaf76974d654ddc",
        ),
        n=23_749,
        d=47_236,
        nnz=1_783_774,
        labels=(11_920, 11_829),
    ),
    _sparse(
        "news20-binary",
        "news20's classes 1 to 10 (+1) against 11 to 20 (−1), word counts, rows scaled to unit norm",
        File(
            "libsvm/news20",
            "1d6eb77c42e1c78e86f36af834268de933da3607f38e3703aef15f7a9f11e506",
            "8c79851f6f5fdc5540a0d04a5ab728353c42d26b84e73f93bda301c06c15ffe9",
            (f"{_LIBSVM}multiclass/news20.bz2",),
        ),
        n=15_935,
        d=62_061,
        nnz=1_272_569,
        labels=(7_984, 7_951),
    ),
    Dataset(
        "mnist",
        Kind.IMAGES,
        "handwritten digits, 28×28 grey pixels",
        {
            "train": DataPart(
                (
                    _mnist(
                        "train-images-idx3-ubyte",
                        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                    ),
                    _mnist(
                        "train-labels-idx1-ubyte",
                        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                    ),
                ),
                60_000,
                784,
                labels=_counts(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
            ),
            "test": DataPart(
                (
                    _mnist(
                        "t10k-images-idx3-ubyte",
                        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                    ),
                    _mnist(
                        "t10k-labels-idx1-ubyte",
                        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                    ),
                ),
                10_000,
                784,
                labels=_counts(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
            ),
        },
    ),
    Dataset(
        "cifar10",
        Kind.IMAGES,
        "ten kinds of objects, 32×32 colour pixels; train-1 is the first of five training batches",
        {
            "train": DataPart(_CIFAR_TRAIN, 50_000, 3072, labels=_counts(*[5000] * 10)),
            "train-1": DataPart(
                _CIFAR_TRAIN[:1],
                10_000,
                3072,
                labels=_counts(1005, 974, 1032, 1016, 999, 937, 1030, 1001, 1025, 981),
            ),
            "test": DataPart((_CIFAR_TEST,), 10_000, 3072, labels=_counts(*[1000] * 10)),
        },
    ),
    _embedded(
        "breast-cancer",
        "benign (+1) against malignant (−1) tumours, 30 features standardised to mean 0 and variance 1",
        n=569,
        d=30,
        labels=(212, 357),
    ),
    _embedded(
        "digits",
        "odd (+1) against even (−1) handwritten digits, 8×8 pixels scaled from 0–16 to [0, 1]",
        n=1797,
        d=64,
        labels=(891, 906),
    ),
    Dataset(
        "mnist-carlini-weights",
        Kind.WEIGHTS,
        "Carlini and Wagner's MNIST architecture, trained; for zofw.targets.mnist_carlini",
        {
            "all": DataPart(
                (
                    File(
                        "weights/mnist_carlini_FW-AdvML.npz",
                        "a13cc206a963ece2bb04bebfd9244798f46bdeddeb1007e64fecdbe1437b6b3d",
                    ),
                )
            )
        },
    ),
    Dataset(
        "cifar10-resnet20-weights",
        Kind.WEIGHTS,
        "ResNet-20 trained on CIFAR-10, npz or state dict; for zofw.targets.cifar10_resnet20",
        {
            "npz": DataPart(
                (
                    File(
                        "weights/cifar10_resnet20.npz",
                        "7db2ed048755c815689e055b0e68e2d53db7f9f6e0f9b3bc9b6f837ab168774e",
                    ),
                )
            ),
            "th": DataPart(
                (
                    File(
                        "weights/resnet20-12fca82f.th",
                        "12fca82f0bebc4135bf1f32f6e3710e61d5108578464b84fd6d7f5c1b04036c8",
                        urls=(f"{_RESNET}resnet20-12fca82f.th",),
                    ),
                )
            ),
        },
    ),
)

_CATALOGUE: dict[str, Dataset] = {entry.name: entry for entry in _ENTRIES}


def datasets() -> Mapping[str, Dataset]:
    """Every data set by its name, read-only.

    Examples
    --------
    >>> datasets()["a9a"].part("all").n
    32561
    """
    return MappingProxyType(_CATALOGUE)


def describe(name: str) -> Dataset:
    """The entry of `name`; a `DataError` with the nearest names if there is none."""
    if name not in _CATALOGUE:
        near = difflib.get_close_matches(str(name), _CATALOGUE, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(_CATALOGUE))}."
        raise DataError(f"There is no data set named {name!r}. {hint}")
    return _CATALOGUE[name]
