"""Atomic writes: old or new content, errors with a remedy, no temporary files left."""

import errno
import json
import os
import stat
import subprocess
import sys

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file

from noiseproof import atomic

MAX_FILE_NAME = "é" * 127 + "x"
"""255 bytes in UTF-8, the most that common file systems take."""


def failing(number, what=""):
    def fail(*arguments):
        raise OSError(number, what or os.strerror(number))

    return fail


@pytest.mark.parametrize("name", ["plain", "two words.json", "ünï côdé 数据.bin", ".hidden", MAX_FILE_NAME])
def test_any_file_name(tmp_path, name):
    for content in (b"old", b"", b"new" * 100_000):
        atomic.write_bytes(tmp_path / name, content)
        assert (tmp_path / name).read_bytes() == content
    assert os.listdir(tmp_path) == [name]


def test_text_is_utf8_with_unchanged_line_ends(tmp_path):
    atomic.write_text(str(tmp_path / "a"), "é\r\n\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\r\n\n"


def test_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    atomic.write_text(tmp_path / "link", "x")
    assert not (tmp_path / "link").is_symlink()
    assert [(tmp_path / name).read_text() for name in ("link", "victim")] == ["x", "precious"]


def test_folders_are_not_created_through_links(tmp_path):
    atomic.make_folder(tmp_path / "a" / "b")
    atomic.make_folder(tmp_path / "a" / "b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match=r"link: it is a symbolic link; replace the link by"):
        atomic.make_folder(tmp_path / "link")


def opened(path):
    descriptor = atomic.open_in_place(path, os.O_RDWR)
    os.close(descriptor)


def test_file_with_several_links_is_not_modified_in_place(tmp_path):
    opened(tmp_path / "new")
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "second name").hardlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    for name, words in {
        "link": "it is a symbolic link",
        "second name": "it has several hard links",
        "pipe": "it is not a regular file",
    }.items():
        with pytest.raises(OSError, match=words):
            opened(tmp_path / name)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_file_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        atomic.write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_file_is_flushed_before_its_name(tmp_path, monkeypatch):
    """The content is flushed before the file is renamed, and the folder before write_bytes returns."""
    seen = []
    for name in ("fsync", "replace"):

        def recorded(*arguments, name=name, original=getattr(os, name)):
            kind = "folder" if name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode) else "file"
            seen.append(f"{name} {kind}")
            return original(*arguments)

        monkeypatch.setattr(os, name, recorded)
    atomic.write_text(tmp_path / "a", "x")
    assert seen == ["fsync file", "replace file", "fsync folder"]


@pytest.mark.parametrize("function", ["open", "write", "fsync", "replace", "close"])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free space and run the same command again"),
        (errno.EDQUOT, "free space and run the same command again"),
        (errno.EROFS, "make the folder writable or choose another one"),
        (errno.EACCES, "make the folder writable or choose another one"),
        (errno.EIO, "correct that"),
    ],
)
def test_disk_error_is_explained_and_keeps_the_old_file(tmp_path, monkeypatch, function, number, advice):
    path = tmp_path / "my file"
    path.write_text("old")
    with monkeypatch.context() as patched:
        patched.setattr(os, function, failing(number))
        with pytest.raises(OSError, match=advice) as caught:
            atomic.write_bytes(path, b"x" * 12_345)
    assert (caught.value.errno, type(caught.value)) == (number, type(OSError(number, "")))
    assert f"cannot write 12,345 bytes to {path}: {os.strerror(number)}; " in str(caught.value)
    assert str(caught.value).endswith("; the old file is unchanged")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["my file"]


def test_error_while_flushing_the_folder_reports_the_new_file(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    original = os.fsync

    def fail(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "broken disk")
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"broken disk; .*; the new file is in place, but"):
        atomic.write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_file_systems_without_fsync_are_accepted(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    atomic.write_text(tmp_path / "a", "x")
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
def test_ctrl_c_leaves_no_temporary_file(tmp_path, monkeypatch, function):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, function, interrupt)
        with pytest.raises(KeyboardInterrupt):
            atomic.write_text(tmp_path / "a", "x")
    assert os.listdir(tmp_path) == []


def test_partial_writes_are_continued(tmp_path, monkeypatch):
    original = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: original(descriptor, data[:7]))
    atomic.write_bytes(tmp_path / "a", bytes(range(100)))
    assert (tmp_path / "a").read_bytes() == bytes(range(100))


def test_invalid_folders_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError, match=r"file/a: .*a part of the path is a file"):
        atomic.write_text(tmp_path / "file" / "a", "x")
    with pytest.raises(FileNotFoundError, match=r"no/a: .*create the folder first"):
        atomic.write_text(tmp_path / "no" / "a", "x")
    with pytest.raises(IsADirectoryError, match="it is a folder, choose another name"):
        atomic.write_text(tmp_path, "x")
    with pytest.raises(OSError, match="choose a shorter name"):
        atomic.write_text(tmp_path / (MAX_FILE_NAME + "x"), "x")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to read-only folders"
)
def test_read_only_folder_is_an_error(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match="make the folder writable"):
        atomic.write_text(tmp_path / "a", "x")
    tmp_path.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process; Windows has no fork")
def test_only_temporary_files_are_removed(tmp_path):
    others = ["a.tmp", ".noiseproof-settings", "x.unfinished", ".noiseproof-folder.unfinished"]
    for name in others[:3]:
        (tmp_path / name).write_text("mine")
    (tmp_path / others[3]).mkdir()
    code = (
        "import os, sys; from noiseproof import atomic;"
        "os.replace = lambda *a: os.kill(os.getpid(), 9); atomic.write_text(sys.argv[1], 'x')"
    )
    for folder in (tmp_path, tmp_path / others[3]):
        subprocess.run([sys.executable, "-c", code, folder / "a"], check=False)  # noqa: S603
        assert len(list(folder.glob(".*"))) == {tmp_path: 3}.get(folder, 1)
    assert len(atomic.remove_temporary_files(tmp_path)) == 2
    assert os.listdir(tmp_path / others[3]) == []
    assert sorted(os.listdir(tmp_path)) == sorted(others)
    assert atomic.remove_temporary_files(tmp_path / "nothing") == []


def test_any_tensor(tmp_path):
    whole = torch.arange(24.0).reshape(2, 3, 4)
    tensors = {
        "transposed": whole.transpose(0, 2),
        "strided": whole[:, ::2, 1:],
        "expanded": torch.tensor([1.0, 2.0]).expand(3, 2),
        "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "scalar": torch.tensor(3, dtype=torch.int16),
        "empty": torch.empty(0, 3),
        "same": whole,
        "same again": whole,
        "view of it": whole[1],
        "trained": torch.nn.Parameter(whole),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "negative": torch.tensor([1 + 2j]).conj().imag,
        "nan": torch.tensor([float("nan"), -0.0]),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "flag": torch.tensor([True, False]),
    }
    atomic.write_tensors(tmp_path / "t", tensors)
    found = load_file(tmp_path / "t")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (found[name].shape, found[name].dtype) == (tensor.shape, tensor.dtype), name
        torch.testing.assert_close(found[name], tensor.detach(), rtol=0, atol=0, equal_nan=True)
    assert torch.signbit(found["nan"][1])


@pytest.mark.parametrize("count", [1, 8])
def test_metadata_and_the_same_bytes_every_time(tmp_path, count):
    tensors = {"b": torch.arange(3), "a": torch.ones(5), "é": torch.tensor(2.0).half()}
    metadata = {f"key {i}": f'"ü{i}' for i in range(count)}
    atomic.write_tensors(tmp_path / "t", tensors, metadata)
    with safe_open(tmp_path / "t", "pt") as file:
        assert file.metadata() == metadata
        assert all(torch.equal(file.get_tensor(name), tensor) for name, tensor in tensors.items())
    written = (tmp_path / "t").read_bytes()
    backwards = dict(reversed(metadata.items()))
    assert all(atomic.tensor_bytes(tensors, backwards) == written for _ in range(20))
    assert (8 + int.from_bytes(written[:8], "little")) % 8 == 0
    assert json.loads(written[8 : 8 + int.from_bytes(written[:8], "little")])["a"]["shape"] == [5]


def test_no_tensors():
    assert load(atomic.tensor_bytes({})) == {}


@pytest.mark.parametrize(
    "tensor",
    [torch.eye(2).to_sparse(), torch.empty(2, device="meta"), torch.ones(1, dtype=torch.complex128)],
    ids=["sparse", "meta", "complex128"],
)
def test_tensors_that_cannot_be_stored_are_refused(tmp_path, tensor):
    with pytest.raises(ValueError, match=r"tensor 'my one' \(torch\..*\) cannot be stored: it must be dense"):
        atomic.write_tensors(tmp_path / "t", {"fine": torch.ones(1), "my one": tensor})
    assert os.listdir(tmp_path) == []


def test_reserved_tensor_name_is_refused():
    with pytest.raises(ValueError, match="'__metadata__' is not a valid name"):
        atomic.tensor_bytes({"__metadata__": torch.ones(1)})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_tensors_of_a_gpu():
    found = load(atomic.tensor_bytes({"a": torch.arange(6.0, device="cuda").reshape(2, 3).t()}))
    assert torch.equal(found["a"], torch.arange(6.0).reshape(2, 3).t())


def test_without_sync_only_flush_flushes(tmp_path, monkeypatch):
    flushed = []
    real = os.fsync
    monkeypatch.setattr(
        os,
        "fsync",
        lambda descriptor: (flushed.append(os.readlink(f"/proc/self/fd/{descriptor}")), real(descriptor)),
    )
    atomic.write_bytes(tmp_path / "a", b"new", sync=False)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert flushed == []
    atomic.flush([tmp_path / "a", tmp_path / "gone"])
    assert flushed == [str(tmp_path / "a"), str(tmp_path)]
