"""Where files are found, how they are downloaded, verified and kept."""

from __future__ import annotations

import bz2
import hashlib
import http.server
import io
import os
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from zofw.storage import write_whole
from zofw_paper.data import (
    Archive,
    DataError,
    DataPart,
    Dataset,
    File,
    Kind,
    cache_folder,
    catalogue,
    fetch,
    load,
    locate,
    verify,
)

TEXT = b"+1 1:0.5 3:2\n-1 2:1\n-1\n"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty user's cache, and no ZOFW_DATA."""
    monkeypatch.delenv("ZOFW_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "zofw"


@dataclass
class Site:
    """What the server answers by path: content, or a broken-off answer if the length is overstated."""

    url: str
    pages: dict[str, bytes] = field(default_factory=dict)
    missing_bytes: int = 0
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here.requests.append(self.path)
            content = here.pages.get(self.path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content) + here.missing_bytes))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here = Site(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield here
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch):
    """Put an entry into the catalogue for one test."""

    def put(*files: File, name: str = "toy", **counts: object) -> None:
        part = DataPart(files, **({"n": 3, "d": 3, "nnz": 3, "labels": {-1: 2, 1: 1}} | counts))
        monkeypatch.setitem(catalogue._CATALOGUE, name, Dataset(name, Kind.SPARSE, "", {"all": part}))

    return put


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_given_folder_comes_before_the_cache(cache, add, tmp_path, monkeypatch) -> None:
    add(File("libsvm/toy", sha(TEXT)))
    assert locate("toy") == {"libsvm/toy": None}
    second = put(cache / "data/libsvm/toy", TEXT)
    assert locate("toy") == {"libsvm/toy": second}
    first = put(tmp_path / "given/libsvm/toy.bz2", bz2.compress(TEXT))
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path / "given"))
    assert fetch("toy") == {"libsvm/toy": first}
    assert load("toy")[0].toarray().tolist() == [[0.5, 0, 2], [0, 1, 0], [0, 0, 0]]
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"ZOFW_DATA is set to .*nowhere, which is not a folder"):
        locate("toy")


def test_cache_folder(monkeypatch) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == Path.home() / ".cache" / "zofw"
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == Path("/elsewhere/zofw")


def test_download_is_verified_and_kept(cache, add, site) -> None:
    site.pages["/toy.bz2"] = bz2.compress(TEXT)
    add(File("libsvm/toy", sha(TEXT), urls=(f"{site.url}/gone", f"{site.url}/toy.bz2")))
    Z, y = load("toy")
    assert (Z.shape, y.tolist()) == ((3, 3), [1, -1, -1])
    assert (cache / "data/libsvm/toy.bz2").read_bytes() == site.pages["/toy.bz2"]
    assert site.requests == ["/gone", "/toy.bz2"]
    load("toy")
    assert len(site.requests) == 2
    assert not list(cache.rglob("*.part"))


def test_wrong_checksum_is_never_kept(cache, add, site) -> None:
    site.pages["/toy"] = b"<html>not found</html>"
    add(File("libsvm/toy", sha(TEXT), urls=(f"{site.url}/toy",)))
    with pytest.raises(DataError, match="has the sha256") as caught:
        fetch("toy")
    assert f"put it at {cache / 'data/libsvm/toy'}" in str(caught.value)
    assert not list(cache.rglob("toy*"))


def test_broken_off_download(cache, add, site) -> None:
    site.pages["/toy"] = TEXT
    site.missing_bytes = 7
    add(File("libsvm/toy", sha(TEXT), urls=(f"{site.url}/toy",)))
    with pytest.raises(DataError, match=r"broke off after 23 of 30 bytes|could not be downloaded"):
        fetch("toy")
    assert not list(cache.rglob("toy*"))


def test_without_a_network_the_error_says_what_to_put_where(cache, add, tmp_path, monkeypatch) -> None:
    add(File("libsvm/toy", sha(TEXT), urls=("http://127.0.0.1:9/toy",)))
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path))
    with pytest.raises(DataError) as caught:
        load("toy")
    sentence = str(caught.value)
    for part in (
        "libsvm/toy of the data set toy",
        f"not in {tmp_path / 'libsvm'} or {cache / 'data/libsvm'}",
        "Get it from http://127.0.0.1:9/toy",
        f"put it at {cache / 'data/libsvm/toy'}",
        "at libsvm/toy in the folder that ZOFW_DATA names",
    ):
        assert part in sentence
    add(File("libsvm/toy", sha(TEXT)))
    with pytest.raises(DataError, match="It cannot be downloaded"):
        load("toy")


def test_damaged_file_is_an_error_and_stays(cache, add, site) -> None:
    site.pages["/toy"] = TEXT
    add(File("libsvm/toy", sha(TEXT), urls=(f"{site.url}/toy",)))
    damaged = put(cache / "data/libsvm/toy", TEXT + b" ")
    with pytest.raises(DataError, match="damaged or another file") as caught:
        load("toy")
    assert str(damaged) in str(caught.value)
    assert site.requests == []
    (check,) = verify("toy")
    assert (check.status, check.path) == ("damaged", damaged)
    put(cache / "data/libsvm/toy.bz2", bz2.compress(TEXT)[:-3])
    damaged.unlink()
    with pytest.raises(DataError, match="truncated or damaged bzip2 archive"):
        load("toy")


def test_unknown_checksum_is_recorded_at_the_first_download(cache, add, site) -> None:
    site.pages["/toy"] = TEXT
    add(File("libsvm/toy", None, urls=(f"{site.url}/toy",)))
    assert [check.status for check in verify("toy")] == ["missing"]
    load("toy")
    path, record = cache / "data/libsvm/toy", cache / "data/libsvm/toy.sha256"
    assert record.read_text() == f"{sha(TEXT)}  toy\n"
    assert [check.status for check in verify("toy")] == ["ok"]
    path.write_bytes(TEXT.replace(b"0.5", b"0.6"))
    with pytest.raises(DataError, match=r"toy.sha256 beside it says"):
        load("toy")
    record.unlink()
    assert [check.status for check in verify("toy")] == ["no checksum"]
    path.write_bytes(TEXT.replace(b"-1\n", b"-1 1:1\n"))
    assert [check.status for check in verify("toy")] == ["damaged"]


def test_counts_are_asserted(cache, add) -> None:
    put(cache / "data/libsvm/toy", TEXT)
    for wrong in ({"n": 4}, {"nnz": 2}, {"labels": {-1: 1, 1: 2}}):
        add(File("libsvm/toy", sha(TEXT)), **wrong)
        with pytest.raises(DataError, match=r"toy: (n|nnz|label counts) is .*, but toy has"):
            load("toy")


def test_binary_cache_is_used_and_keyed_by_its_source(cache, add, monkeypatch) -> None:
    path = put(cache / "data/libsvm/toy", TEXT)
    add(File("libsvm/toy", None))
    fresh = load("toy")
    with monkeypatch.context() as patch:
        patch.setattr("zofw_paper.data.loading.read_libsvm", None)
        again = load("toy")
    assert again[0].toarray().tolist() == fresh[0].toarray().tolist()
    assert again[1].tolist() == fresh[1].tolist()
    path.write_bytes(TEXT.replace(b"0.5", b"0.6"))
    assert load("toy")[0][0, 0] == 0.6
    assert len(list((cache / "parsed").iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"nonsense", b"\x93NUMPY\x01\x00"])
def test_damaged_binary_cache_is_parsed_again(cache, add, damage, caplog) -> None:
    put(cache / "data/libsvm/toy", TEXT)
    add(File("libsvm/toy", sha(TEXT)))
    load("toy")
    (kept,) = (cache / "parsed").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    assert load("toy")[0].nnz == 3
    assert "is unusable" in caplog.text
    assert kept.read_bytes() == whole
    for cut in range(0, len(whole), 97):
        kept.write_bytes(whole[:cut] + bytes([whole[cut] ^ 255]) + whole[cut + 1 :])
        assert load("toy")[0].toarray().tolist() == [[0.5, 0, 2], [0, 1, 0], [0, 0, 0]]


def test_unwritable_cache_is_done_without(cache, add, tmp_path, monkeypatch, caplog, site) -> None:
    put(tmp_path / "given/libsvm/toy", TEXT)
    add(File("libsvm/toy", sha(TEXT)))
    monkeypatch.setenv("ZOFW_DATA", str(tmp_path / "given"))
    put(tmp_path / "file", b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load("toy")[0].nnz == 3
    assert "cannot be written" in caplog.text
    site.pages["/toy"] = TEXT
    add(File("libsvm/other", sha(TEXT), urls=(f"{site.url}/toy",)))
    with pytest.raises(DataError, match=r"cannot be written: .* Set XDG_CACHE_HOME"):
        load("toy")


def tar(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def test_archive_is_downloaded_once_and_its_members_are_kept(cache, add, site) -> None:
    members = {"box/one": b"first", "box/two": b"second", "box/other": b"third"}
    site.pages["/box.tar.gz"] = tar(members)
    archive = Archive(f"{site.url}/box.tar.gz", sha(site.pages["/box.tar.gz"]), "box")
    add(File("toys/one", sha(b"first"), archive=archive), File("toys/two", sha(b"second"), archive=archive))
    assert fetch("toy") == {"toys/one": cache / "data/toys/one", "toys/two": cache / "data/toys/two"}
    assert site.requests == ["/box.tar.gz"]
    assert (cache / "data/toys/two").read_bytes() == b"second"
    assert not (cache / "data/toys/other").exists()
    assert [check.status for check in verify("toy")] == ["ok", "ok"]

    add(File("toys/three", sha(b"x"), archive=archive))
    with pytest.raises(DataError, match=r"contains no file box/three.*the member box/three"):
        fetch("toy")
    add(File("toys/other", sha(b"x"), archive=archive))
    with pytest.raises(DataError, match="member box/other has the sha256"):
        fetch("toy")
    add(File("toys/other", sha(b"third"), archive=Archive(archive.url, "0" * 64, "box")))
    with pytest.raises(DataError, match=r"but 0000.* was expected"):
        fetch("toy")
    site.pages["/box.tar.gz"] = b"no archive"
    add(File("toys/other", sha(b"third"), archive=Archive(archive.url, sha(b"no archive"), "box")))
    with pytest.raises(DataError, match="toys/other of the data set toy is not in"):
        fetch("toy")


def test_atomic_write_leaves_nothing_behind(tmp_path) -> None:
    target = put(tmp_path / "file", b"old")

    def fail(stream) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(target, fail)
    assert os.listdir(tmp_path) == ["file"]
    assert target.read_bytes() == b"old"
    write_whole(target, lambda stream: stream.write(b"new"))
    assert target.read_bytes() == b"new"
