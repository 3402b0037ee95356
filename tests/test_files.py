"""Only regular files of the expected size are read, and changed bytes are detected."""

import json
import os
import threading
import tracemalloc

import pytest
import torch
from safetensors.torch import save_file

from noiseproof import atomic, files
from noiseproof.files import DamagedFileError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither pipes nor /dev/zero in folders")


def error_within(seconds, function, *arguments):
    """The error that the function raises; the test fails if it does not return in time."""
    found = []

    def call():
        try:
            function(*arguments)
        except Exception as problem:
            found.append(problem)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"still reading after {seconds} s"
    return found[0] if found else None


@pytest.fixture(params=["pipe", "/dev/zero", "folder"])
def irregular_path(request, tmp_path):
    """A path that is not a regular file, and what it is."""
    path = tmp_path / "odd"
    if request.param == "pipe":
        os.mkfifo(path)
        return path, "a named pipe"
    if request.param == "folder":
        path.mkdir()
        return path, "a folder"
    path.symlink_to(request.param)
    return path, "a device"


@pytest.mark.parametrize(
    "read",
    [
        files.open_regular,
        lambda path: files.read_bytes(path, 100),
        files.read_json,
        lambda path: files.read_tensors(path, 100),
    ],
    ids=["open", "bytes", "json", "tensors"],
)
def test_files_that_are_not_regular_are_refused_at_once(irregular_path, read):
    path, kind = irregular_path
    problem = error_within(5, read, path)
    assert isinstance(problem, DamagedFileError)
    assert str(problem) == f"cannot read {path}: it is not a regular file but {kind}"


def test_links_to_regular_files_are_read(tmp_path):
    (tmp_path / "file").write_text('{"a": 1}')
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert files.read_json(tmp_path / "link") == {"a": 1}


def test_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read_bytes(tmp_path / "nowhere", 10)


def test_size_is_checked_before_reading(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    for read in (files.read_json, lambda path: files.read_tensors(path, 1 << 30)):
        with pytest.raises(DamagedFileError, match="sparse: it has 1,099,511,627,776 bytes"):
            read(path)
    (tmp_path / "ten").write_bytes(b"0123456789")
    assert files.read_bytes(tmp_path / "ten", 10) == b"0123456789"
    with pytest.raises(DamagedFileError, match="it has 10 bytes, more than 9"):
        files.read_bytes(tmp_path / "ten", 9)


def test_memory_depends_on_the_file_not_on_the_limit(tmp_path):
    (tmp_path / "ten").write_bytes(b"0123456789")
    tracemalloc.start()
    try:
        files.read_bytes(tmp_path / "ten", 1 << 40)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"{", "Expecting"),
        (b"\xff", "utf-8"),
        (b"[1]", "does not contain a JSON object"),
        (b"1" * 5000, "integer string conversion"),
    ],
    ids=["list", "object", "cut", "bytes", "no object", "digits"],
)
def test_invalid_json_is_reported(tmp_path, content, words):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DamagedFileError, match=words) as caught:
        files.read_json(tmp_path / "a.json")
    assert str(caught.value).startswith(f"cannot read {tmp_path / 'a.json'}: ")


def test_every_flipped_bit_of_a_tensor_file_is_detected(tmp_path):
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}
    path = tmp_path / "a.safetensors"
    atomic.write_tensors(path, tensors, {"class_names": json.dumps(["x", "é"])}, checked=True)
    found, about = files.read_tensors(path, 1 << 20)
    assert about == {"class_names": json.dumps(["x", "é"])}
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    content = path.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(DamagedFileError):
                same_meaning(files.read_tensors(path, 1 << 20), found, about)


def same_meaning(read, tensors, about):
    """Raise DamagedFileError if only white space of the header or the name of the checksum changed."""
    now, words = read
    if about.items() <= words.items() and now.keys() == tensors.keys():
        assert all(torch.equal(now[name], tensors[name]) for name in now)
        raise DamagedFileError("nothing", "changed")


def test_file_without_a_checksum_is_read(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "a.safetensors", {"by": "another program"})
    found, about = files.read_tensors(tmp_path / "a.safetensors", 1 << 20)
    assert (found["a"].tolist(), about) == ([1.0, 1.0], {"by": "another program"})


def test_oversized_header_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    for length in (1 << 60, 1 << 24):
        path.write_bytes(length.to_bytes(8, "little") + b"{}")
        with pytest.raises(DamagedFileError, match=f"its header has the invalid length {length:,}"):
            files.read_tensors(path, 1 << 20)
