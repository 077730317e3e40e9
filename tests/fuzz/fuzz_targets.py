"""What bytes from anywhere may do to the library: be read, or be refused by name. Nothing else is caught here.

Every target takes bytes; ``run.py`` has them chosen by what they reach (atheris), ``test_targets.py`` by hypothesis.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

import zofw
from zofw.core import Answer
from zofw.run.files import documents, journal, store
from zofw_paper.data import DataError, read_libsvm
from zofw_paper.records import plain, record
from zofw_paper.spec import Experiment, SpecError, parse

DIM, N = 4, 3


class Death(BaseException):
    """The end of a process."""


def value(x: np.ndarray, i: int) -> float:
    return float((x[i] - 0.3) ** 2 + x @ x)


def problem() -> zofw.problems.BlackBox:
    return zofw.problems.BlackBox(value, dim=DIM, n=N)


@cache
def run() -> tuple[bytes, bytes]:
    """Checkpoint and journal as a process that died on its way leaves them."""
    calls = itertools.count()
    found: list[tuple[bytes, bytes]] = []

    def dying(x: np.ndarray, i: int) -> float:
        if next(calls) == 60:
            found.append((path.read_bytes(), path.with_name("run.npz.journal").read_bytes()))
            raise Death
        return value(x, i)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        dead = zofw.problems.BlackBox(dying, dim=DIM, n=N)
        with suppress(Death):
            zofw.minimize(
                dead, zofw.L1Ball(1.0), method="zo-fw", budget=200, rng=0, diagnose=0, checkpoint=path
            )
    saved, text = found[0]
    end = journal.HEAD.size
    while length := journal.FRAME.unpack_from(text, end)[0]:  # then comes the room that was reserved
        end += journal.FRAME.size + length
    return saved, text[:end]


def resumed(files: dict[str, bytes]) -> None:
    """Both ways to continue a run; nothing may be written outside its own files."""
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "inner"
        inner.mkdir()
        for name, text in files.items():
            (inner / name).write_bytes(text)
        try:
            zofw.Session.resume(inner / "run.npz").ask()
            zofw.resume(inner / "run.npz", problem(), max_iter=3, budget=300)
        except ValueError as error:  # FileError is one
            assert len(str(error)) > 20
        finally:
            assert os.listdir(folder) == ["inner"]
            assert all(name.startswith(("run.npz", ".run.npz")) for name in os.listdir(inner))


def fuzz_libsvm(data: bytes) -> None:
    """A file is a matrix of finite numbers, or a sentence."""
    try:
        Z, y = read_libsvm(data[1:], zero_based=bool(data[:1] == b"0"))
    except DataError as error:
        assert len(str(error)) > 20
        return
    assert Z.shape[0] == len(y) and np.isfinite(Z.data).all() and np.isfinite(y).all()


def fuzz_spec(data: bytes) -> None:
    """A specification is an experiment, which survives its document, or a sentence."""
    text = data.decode("utf-8", "replace")
    for profile in (None, "quick"):
        try:
            experiment = parse(text, profile)
        except SpecError as error:
            assert len(str(error)) > 10
            continue
        assert len(experiment.fingerprint) == 16
        again = record(Experiment, json.loads(json.dumps(plain(experiment), default=str)), "a document")
        assert again.name == experiment.name


def fuzz_checkpoint(data: bytes) -> None:
    """A file of any content; or, behind a first byte of 1, one whose checksums agree with any content."""
    if data[:1] == b"\x01":
        try:
            body = json.loads(data[1:])
        except (ValueError, RecursionError):
            return
        data = b"\x00" + sealed(body)
    resumed({"run.npz": data[1:]})


def sealed(body: object) -> bytes:
    """A file like a checkpoint, with the arrays of a true one."""
    with np.load(io.BytesIO(run()[0])) as file:
        arrays = {name: file[name] for name in file.files if name != "document"}
    head = {
        "kind": "checkpoint",
        "version": store.VERSION,
        "arrays": {name: documents._digest(array) for name, array in arrays.items()},
        "body": hashlib.sha256(json.dumps(body).encode()).hexdigest(),
    }
    text = json.dumps({"head": head, "body": body}).encode()
    out = io.BytesIO()
    np.savez(out, document=np.frombuffer(text, dtype=np.uint8), **arrays)
    return out.getvalue()


def fuzz_journal(data: bytes) -> None:
    """Any content behind a true checkpoint; or, behind a first byte of 1, entries whose digests agree."""
    saved, text = run()
    if data[:1] == b"\x01":
        head = text[: journal.HEAD.size]
        out, digest = head, journal._digest(head, b"")
        for body in data[1:].split(b"\xff\xfe"):
            digest = journal._digest(body, digest)
            out += journal.FRAME.pack(len(body), digest) + body
        data = b"\x00" + out
    resumed({"run.npz": saved, "run.npz.journal": data[1:]})


METHODS = ("zo-fw", "zsfw-dvr", "explore-correct", "acc-szofw", "jaguar")


def fuzz_tell(data: bytes) -> None:
    """Numbers of any kind: refused before anything is counted, or taken by the method without a warning."""
    method = METHODS[(data[0] if data else 0) % len(METHODS)]
    session = zofw.Session(zofw.L1Ball(1.0), dim=DIM, n=N, method=method, budget=300, max_iter=6, rng=0)
    numbers = np.frombuffer(data[1 : 1 + (len(data) - 1) // 8 * 8], dtype="<f8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at = 0
        while (query := session.ask()) is not None and at < len(numbers):
            size = len(query.anchors) * query.width
            values = np.resize(numbers[at : at + size], size)
            spread = np.resize(np.abs(values), (len(query.anchors), query.count)) if query.variance else None
            paid = session.nfev
            try:
                session.tell(query, Answer(values, spread))
            except ValueError as error:
                assert len(str(error)) > 20 and session.nfev == paid and session.ask() is query
                return
            assert session.nfev == paid + query.cost
            at += size
    assert np.isfinite(session.x).all()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "libsvm": fuzz_libsvm,
    "spec": fuzz_spec,
    "checkpoint": fuzz_checkpoint,
    "journal": fuzz_journal,
    "tell": fuzz_tell,
}

SPEC = """name = "small"
seeds = [1, 2]
tune = { seeds = [7], grid = [0.1, 1.0] }
[profile.quick]
seeds = [3]
[[case]]
name = "c"
problem = "m:f"
set = { name = "l1-ball", radius = 1.0 }
budget = 100
parameters = { batch = 3 }
[[method]]
name = "zo-fw"
settings = { radius = "=1/batch" }
[[claim]]
id = "one"
says = "it is best"
test = "lowest"
method = "zo-fw"
"""


def seeds(target: str) -> Iterator[bytes]:
    """Inputs that reach something."""
    saved, text = run()
    if target == "libsvm":
        yield b"1+1 1:0.5 3:2e-3 # comment\r\n-1\n"
        yield b"01 0:.5 10:-1.\n\n0 qid:3\n"
    elif target == "spec":
        yield SPEC.encode()
        yield SPEC.replace("[profile.quick]\nseeds = [3]\n", "").encode()
    elif target == "checkpoint":
        yield b"\x00" + saved
        with np.load(io.BytesIO(saved)) as file:
            document = json.loads(file["document"].tobytes())
        yield b"\x01" + json.dumps(document["body"]).encode()
    elif target == "journal":
        yield b"\x00" + text
        at, bodies = journal.HEAD.size, []
        while at < len(text):
            length, _ = journal.FRAME.unpack_from(text, at)
            bodies.append(text[at + journal.FRAME.size : at + journal.FRAME.size + length])
            at += journal.FRAME.size + length
        yield b"\x01" + b"\xff\xfe".join(bodies[:20])
    else:
        rng = np.random.default_rng(0)
        for method in range(len(METHODS)):
            yield bytes([method]) + rng.standard_normal(60).tobytes()
            yield bytes([method]) + (1e99 * rng.standard_normal(60)).tobytes()
