"""Arrays in .npz files, and files that lie."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from noiseproof.data.npz import read_npz


def test_arrays_in_the_order_asked_for(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(3), y=np.ones((2, 2), ">f4"))
    y, x = read_npz(tmp_path / "a.npz", ["y", "x"])
    assert x.tolist() == [0, 1, 2]
    assert y.dtype == np.dtype(">f4")


def test_missing_arrays_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=np.arange(3))
    with pytest.raises(ValueError, match=r"a\.npz: it has no array 'y_train' \(it has: x_train\)"):
        read_npz(tmp_path / "a.npz", ["x_train", "y_train"])


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{}, []], object))
    with pytest.raises(ValueError, match="holds Python objects"):
        read_npz(tmp_path / "a.npz", ["x"])


def test_a_shape_that_the_file_does_not_back(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + b"abc")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="says shape"):
            read_npz(tmp_path / "a.npz", ["x"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("cut", [0, 10, 100, -1])
def test_truncated_files(cut, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(100))
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content[:cut])
    with pytest.raises(ValueError, match=r"cannot read .*a\.npz"):
        read_npz(tmp_path / "a.npz", ["x"])


def test_damaged_content(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(1000, np.uint8))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[600] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match="CRC"):
        read_npz(tmp_path / "a.npz", ["x"])


def test_too_large(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", x=np.arange(100))
    monkeypatch.setattr("noiseproof.data.npz.MOST_BYTES", 100)
    with pytest.raises(ValueError, match="more than 100"):
        read_npz(tmp_path / "a.npz", ["x"])
