"""Arrays of .npz files that are mapped instead of read."""

import io
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data import load, numpy_files
from noiseproof.data.numpy_files import read_npz, read_or_map

SAVERS = [np.savez, np.savez_compressed]
X = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)


def streams(root):
    return sorted(root.glob("streams/*"))


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    dtype=st.sampled_from(["<f4", ">f4", "|u1", "<i8", "|b1", "<f8", "<f2"]),
    fortran=st.booleans(),
    before=st.integers(0, 70),
    save=st.sampled_from(SAVERS),
)
@settings(deadline=None, max_examples=60)
def test_mapped_array_equals_the_read_array(shape, dtype, fortran, before, save, tmp_path_factory):
    folder = tmp_path_factory.mktemp("npz")
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    array = np.asfortranarray(array) if fortran else array
    save(folder / "a.npz", first=np.zeros(before, np.uint8), x=array, last=np.ones(3))
    mapped = read_or_map(folder / "a.npz", "x", folder, stream=True)
    assert isinstance(mapped, np.memmap)
    assert mapped.dtype == array.dtype
    assert np.array_equal(mapped, array)
    assert np.array_equal(mapped, read_npz(folder / "a.npz", ["x"])[0])


@pytest.mark.parametrize("save", SAVERS)
def test_unpacked_only_once(save, tmp_path, monkeypatch):
    save(tmp_path / "a.npz", x=X)
    read_or_map(tmp_path / "a.npz", "x", tmp_path, stream=True)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("read again"))
    assert np.array_equal(read_or_map(tmp_path / "a.npz", "x", tmp_path, stream=True), X)
    assert len(streams(tmp_path)) == 1


@pytest.mark.parametrize("save", SAVERS)
def test_read_only_root_is_an_error(save, tmp_path):
    (tmp_path / "root").write_text("a file where a folder should be")
    save(tmp_path / "a.npz", x=X)
    with pytest.raises(OSError, match=r"streamed form of .*a\.npz .*root=.* or pass stream=False"):
        read_or_map(tmp_path / "a.npz", "x", tmp_path / "root", stream=True)


def test_large_files_are_streamed_by_default(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", x=X)
    monkeypatch.setattr("noiseproof.memory.available_memory", lambda: 4 * (X.nbytes + 128) - 1)
    assert isinstance(read_or_map(tmp_path / "a.npz", "x", tmp_path), np.memmap)
    assert not isinstance(read_or_map(tmp_path / "a.npz", "x", tmp_path, stream=False), np.memmap)
    monkeypatch.setattr("noiseproof.memory.available_memory", lambda: 4 * (X.nbytes + 128))
    assert not isinstance(read_or_map(tmp_path / "a.npz", "x", tmp_path), np.memmap)


def mapped_or_error(path, root):
    try:
        return read_or_map(path, "x", root, stream=True)
    except ValueError as problem:
        return str(problem)


@pytest.mark.parametrize("save", SAVERS)
def test_flipped_bit_is_detected_or_harmless(save, tmp_path):
    path = tmp_path / "a.npz"
    save(path, x=X)
    content = path.read_bytes()
    complaints = 0
    for place in [*range(0, len(content), 11), *range(len(content) - 120, len(content))]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        found = mapped_or_error(path, tmp_path / str(place))
        if isinstance(found, str):
            assert "a.npz: " in found
            complaints += 1
        else:
            assert np.array_equal(found, X), place
    assert complaints > 80


@pytest.mark.parametrize("save", SAVERS)
def test_damaged_member_is_reported_and_leaves_no_files(save, tmp_path):
    path = tmp_path / "a.npz"
    save(path, x=X)
    content = bytearray(path.read_bytes())
    content[600] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz: member 'x\.npy': .*(CRC|decompressing)"):
        read_or_map(path, "x", tmp_path, stream=True)
    assert not streams(tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [((2**40,), "|u1", "header has shape"), ((3,), "|O", "Python objects"), ((-3,), "|u1", "below 0")],
)
def test_wrong_headers_are_refused(method, shape, dtype, message, tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("x.npy", header.getvalue() + b"abc")
    with pytest.raises(ValueError, match=rf"a\.npz: member 'x\.npy': .*{message}"):
        read_or_map(tmp_path / "a.npz", "x", tmp_path, stream=True)


def test_insufficient_disk_space_is_detected_before_writing(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", x=X)

    def full(folder, needed):
        assert needed == X.nbytes + 128
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numpy_files, "require_space", full)
    with pytest.raises(OSError, match=r"No space left.*stream=False"):
        read_or_map(tmp_path / "a.npz", "x", tmp_path, stream=True)
    assert not list((tmp_path / "streams").iterdir())


@pytest.mark.parametrize("save", SAVERS)
def test_arrays_stream_the_same_batches(save, tmp_path):
    label = np.arange(50) % 3
    save(tmp_path / "a.npz", x_train=X, y_train=label, x_test=X[:9], y_test=label[:9])
    path = (tmp_path / "a.npz").as_posix()
    for split in ("train", "test"):
        whole = load(f"arrays(path={path!r}, stream=False)", root=tmp_path, split=split)
        mapped = load(f"arrays(path={path!r}, stream=True)", root=tmp_path, split=split)
        assert isinstance(mapped.inputs, np.memmap)
        assert not isinstance(whole.inputs, np.memmap)
        for one, other in zip(whole.batch(slice(None)), mapped.batch(slice(None)), strict=True):
            assert torch.equal(one, other)


def test_npy_files_can_be_read_whole(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.arange(50) % 2)
    spec = f"arrays(path='{tmp_path.as_posix()}/x.npy', labels='{tmp_path.as_posix()}/y.npy'"
    assert isinstance(load(spec + ")").inputs, np.memmap)
    whole = load(spec + ", stream=False)").inputs
    assert type(whole) is np.ndarray
    assert np.array_equal(whole, X)
