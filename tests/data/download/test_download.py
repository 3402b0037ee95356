import gzip
import hashlib
import io
import re
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch

from noiseproof.data.download import fetch as download_https
from noiseproof.data.download.fetch import DATASETS, LABELS, Dataset, Download, fetch, verify

BODY = bytes(range(256)) * 300


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves ``server.bodies``: bytes, or a function that writes the answer itself."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.bodies.get(self.path, answer(404))
        if callable(body):
            body(self)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def answer(code: int, *, content: bytes = b"", **headers):
    def write(handler):
        handler.send_response(code)
        for header, value in headers.items():
            handler.send_header(header.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)
        handler.close_connection = True

    return write


def endless(handler):
    """A body without announced length that never ends; the number of bytes sent is kept."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(bytes(1 << 16))
            handler.server.sent += 1 << 16
    except OSError:
        handler.close_connection = True


@pytest.fixture
def server(monkeypatch):
    """A local server, with plain http allowed in the library."""
    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.bodies, found.asked, found.sent = {}, [], 0
    found.url = f"http://127.0.0.1:{found.server_port}"
    monkeypatch.setattr(download_https, "PREFIXES", ("https://", f"{found.url}/"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def toy_dataset(server, monkeypatch):
    """Puts files on the server and a dataset called "toy" of them into DATASETS."""

    def make(bodies, *, form="files", contents=None, **changes):
        downloads = []
        for name, body in bodies.items():
            server.bodies[f"/{name}"] = body
            content = body if isinstance(body, bytes) else BODY
            facts = {"size": len(content), "sha256": sha(content), **changes}
            downloads.append(Download(f"{server.url}/{name}", **facts))
        contents = contents or {load.file: load.sha256 for load in downloads}
        monkeypatch.setitem(DATASETS, "toy", Dataset("free", tuple(downloads), form=form, contents=contents))

    return make


def tree(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


def test_files_are_fetched_once(server, toy_dataset, tmp_path):
    toy_dataset({"a.bin": BODY, "b.bin": b"b"})
    before = verify("toy", tmp_path)
    assert (before.present, before.missing, before.wrong) == ((), ("a.bin", "b.bin"), ())
    assert not before.is_complete
    found = fetch("toy", tmp_path, progress=False)
    assert found.is_complete
    assert found.present == ("a.bin", "b.bin")
    assert (tmp_path / "toy" / "a.bin").read_bytes() == BODY
    assert tree(tmp_path) == ["toy/a.bin", "toy/b.bin"]
    fetch("toy", tmp_path, progress=False)
    assert server.asked == ["/a.bin", "/b.bin"]


def test_only_missing_and_wrong_files_are_fetched(server, toy_dataset, tmp_path):
    toy_dataset({"a.bin": BODY, "b.bin": b"b", "c.bin": b"c"})
    fetch("toy", tmp_path, progress=False)
    (tmp_path / "toy/a.bin").unlink()
    (tmp_path / "toy/b.bin").write_bytes(b"x")
    report = verify("toy", tmp_path)
    assert (report.present, report.missing, report.wrong) == (("c.bin",), ("a.bin",), ("b.bin",))
    server.asked.clear()
    assert fetch("toy", tmp_path, progress=False).is_complete
    assert server.asked == ["/a.bin", "/b.bin"]


def cut(handler):
    answer(200, content=BODY[:1000], Content_Length=str(len(BODY)))(handler)


def cut_without_length(handler):
    answer(200, content=BODY[:1000])(handler)


def cut_chunked(handler):
    answer(200, content=b"400\r\n" + BODY[:1024] + b"\r\n400\r\nxy", Transfer_Encoding="chunked")(handler)


FAILURES = {
    "wrong hash": (bytes(len(BODY)), {"sha256": sha(BODY)}, ValueError, "does not match the known hash"),
    "cut": (cut, {}, OSError, "IncompleteRead|Connection broken"),
    "cut without a length": (cut_without_length, {}, ValueError, "ended after 1,000 of 76,800 bytes"),
    "cut in chunks": (cut_chunked, {}, OSError, "cannot download"),
    "announced too large": (BODY + b"!", {"size": len(BODY)}, ValueError, "has 76,801 bytes or more"),
    "too large without a length": (answer(200, content=BODY + b"!"), {}, ValueError, "76,801 bytes or more"),
    "endless": (endless, {}, ValueError, "bytes or more, expected 76,800"),
    "not found": (answer(404), {}, OSError, "404"),
    "server error": (answer(500), {}, OSError, "500"),
    "silent end": (
        lambda handler: setattr(handler, "close_connection", True),
        {},
        OSError,
        "cannot download",
    ),
    "redirect to http": (
        answer(302, Location="http://localhost:9/x"),
        {},
        ValueError,
        "refused to download .* https",
    ),
    "redirect to a file": (answer(302, Location="file:///etc/passwd"), {}, ValueError, "refused to download"),
    "endless redirect": (answer(302, Location="/a.bin"), {}, OSError, "redirects"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failed_download_is_reported_in_one_line_and_leaves_no_files(case, server, toy_dataset, tmp_path):
    body, changes, error, words = FAILURES[case]
    toy_dataset({"a.bin": body}, **changes)
    with pytest.raises(error, match=words) as caught:
        fetch("toy", tmp_path / "root", progress=False)
    assert "a.bin" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == []
    assert list((tmp_path / "root").iterdir()) == []


def test_endless_body_is_stopped(server, toy_dataset, tmp_path):
    toy_dataset({"a.bin": endless}, size=1 << 20)
    with pytest.raises(ValueError, match="refused"):
        fetch("toy", tmp_path, progress=False)
    assert server.sent < 64 << 20


def test_failure_of_the_second_file_keeps_existing_files(toy_dataset, tmp_path):
    toy_dataset({"a.bin": BODY, "b.bin": answer(500)})
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/mine.txt").write_text("precious")
    with pytest.raises(OSError, match="500"):
        fetch("toy", tmp_path, progress=False)
    assert tree(tmp_path) == ["toy/mine.txt"]


def test_redirects_within_the_allowed_addresses_are_followed(server, toy_dataset, tmp_path):
    server.bodies["/elsewhere"] = BODY
    toy_dataset({"a.bin": answer(302, Location="/elsewhere")})
    assert fetch("toy", tmp_path, progress=False).is_complete


def test_plain_http_is_refused_before_connecting(server, toy_dataset, tmp_path, monkeypatch):
    toy_dataset({"a.bin": BODY})
    monkeypatch.setattr(download_https, "PREFIXES", ("https://",))
    with pytest.raises(ValueError, match="https"):
        fetch("toy", tmp_path, progress=False)
    assert server.asked == []


def test_gzipped_bodies_are_not_decompressed(toy_dataset, tmp_path):
    packed = gzip.compress(BODY)
    body = answer(200, content=packed, Content_Encoding="gzip", Content_Length=str(len(packed)))
    toy_dataset({"a.gz": body}, size=len(packed), sha256=sha(packed))
    fetch("toy", tmp_path, progress=False)
    assert (tmp_path / "toy/a.gz").read_bytes() == packed


def tar_of(**members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(f"batches/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_archives_are_unpacked_and_removed(toy_dataset, tmp_path):
    toy_dataset(
        {"a.tar.gz": tar_of(one=BODY, readme=b"x")}, form="archive", contents={"batches/one": sha(BODY)}
    )
    assert fetch("toy", tmp_path, progress=False).present == ("batches/one",)
    assert tree(tmp_path) == ["toy/batches/one", "toy/batches/readme"]
    (tmp_path / "toy/batches/one").write_bytes(b"damaged")
    assert verify("toy", tmp_path).wrong == ("batches/one",)
    assert fetch("toy", tmp_path, progress=False).is_complete


@pytest.mark.parametrize("members", [{"one": b"other"}, {"two": BODY}, {"../../evil": BODY}])
def test_archive_with_wrong_contents_leaves_no_files(members, toy_dataset, tmp_path):
    toy_dataset({"a.tar.gz": tar_of(**members)}, form="archive", contents={"batches/one": sha(BODY)})
    with pytest.raises(ValueError, match=r"a.tar.gz|batches/one"):
        fetch("toy", tmp_path / "root", progress=False)
    assert tree(tmp_path) == []


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


HOSTILE = {
    "a file outside": [member("../../../evil")],
    "a symbolic link outside": [member("link", tarfile.SYMTYPE, "../.."), member("link/evil")],
    "a hard link outside": [member("link", tarfile.LNKTYPE, "../../evil")],
    "a device": [member("null", tarfile.CHRTYPE)],
    "a pipe": [member("pipe", tarfile.FIFOTYPE)],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_archive_that_writes_outside_its_folder_leaves_no_files(case, toy_dataset, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for info in HOSTILE[case]:
            tar.addfile(info)
    toy_dataset({"a.tar.gz": out.getvalue()}, form="archive", contents={"batches/one": sha(BODY)})
    with pytest.raises(ValueError, match=r"a\.tar\.gz cannot be unpacked"):
        fetch("toy", tmp_path / "root", progress=False)
    assert tree(tmp_path) == []


def human_files(seed: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """Files in the format of the authors of CIFAR-N, and their contents."""
    generator = np.random.default_rng(seed)
    files, contents = {}, {}
    for file, names in LABELS.items():
        labels = {key: generator.integers(0, 10, 500) for key in names}
        out = io.BytesIO()
        torch.save(labels, out)
        files[file] = out.getvalue()
        contents |= {
            f"cifar_n.npz#{names[key]}": sha(labels[key].astype(np.uint8).tobytes()) for key in names
        }
    return files, contents


def test_human_labels_are_converted_and_checked_by_content(toy_dataset, tmp_path):
    files, contents = human_files(0)
    toy_dataset(files, form="human_labels", contents=contents, size=None, sha256=None)
    assert fetch("toy", tmp_path, progress=False).is_complete
    assert tree(tmp_path) == ["toy/cifar_n.npz"]
    with np.load(tmp_path / "toy/cifar_n.npz", allow_pickle=False) as arrays:
        assert {f"cifar_n.npz#{name}" for name in arrays.files} == set(contents)
        assert all(arrays[name].dtype == np.uint8 for name in arrays.files)


def test_wrong_human_labels_are_not_installed(toy_dataset, tmp_path):
    toy_dataset(human_files(1)[0], form="human_labels", contents=human_files(0)[1], size=None, sha256=None)
    with pytest.raises(ValueError, match="not the official one"):
        fetch("toy", tmp_path, progress=False)
    assert tree(tmp_path) == []


class Evil:
    def __reduce__(self):
        return (eval, ("__import__('pathlib').Path('evil').touch()",))


def saved(content: object) -> bytes:
    out = io.BytesIO()
    torch.save(content, out)
    return out.getvalue()


@pytest.mark.parametrize(
    "body",
    [saved({"clean_label": Evil()}), saved({"clean_label": torch.zeros(3)}), saved({}), b"x", b""],
    ids=["code", "other tensors", "nothing inside", "no archive", "empty"],
)
def test_malicious_label_files_have_no_effect_and_leave_no_files(body, toy_dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files, contents = human_files(0)
    toy_dataset(
        {**files, "CIFAR-10_human.pt": body}, form="human_labels", contents=contents, size=None, sha256=None
    )
    with pytest.raises(ValueError, match=r"CIFAR-10_human.pt"):
        fetch("toy", tmp_path / "root", progress=False)
    assert tree(tmp_path) == []


def test_damaged_npz_is_reported_as_wrong(toy_dataset, tmp_path):
    toy_dataset(human_files(0)[0], form="human_labels", contents=human_files(0)[1])
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/cifar_n.npz").write_bytes(b"PK\x03\x04 damaged")
    assert len(verify("toy", tmp_path).wrong) == len(human_files(0)[1])


def test_progress_goes_to_stderr(toy_dataset, tmp_path, capsys):
    toy_dataset({"a.bin": BODY})
    fetch("toy", tmp_path, progress=True)
    assert capsys.readouterr().out == ""


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="unknown dataset 'cifar1', did you mean 'cifar10'"):
        fetch("cifar1", "root")
    with pytest.raises(ValueError, match="known: cifar10, cifar100, cifar_n, digits, mnist"):
        verify("xyz", "root")


def test_digits_need_no_download(tmp_path):
    assert fetch("digits", tmp_path / "root").is_complete
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("name", DATASETS)
def test_catalogue_is_consistent(name):
    dataset = DATASETS[name]
    assert dataset.licence
    assert bool(dataset.contents) == bool(dataset.downloads)
    for load in dataset.downloads:
        assert load.url.startswith("https://")
        assert re.fullmatch(r"[\w.-]+", load.file)
        assert load.sha256 is None or re.fullmatch("[0-9a-f]{64}", load.sha256)
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in dataset.contents.values())
    if dataset.form == "files":
        assert set(dataset.contents) == {load.file for load in dataset.downloads}


def test_downloads_except_human_labels_have_a_hash():
    unverified = {
        name for name, found in DATASETS.items() if any(load.sha256 is None for load in found.downloads)
    }
    assert unverified == {"cifar_n"}
