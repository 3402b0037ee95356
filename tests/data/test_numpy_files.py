"""Arrays in .npz files, and files with wrong headers."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from noiseproof.data.numpy_files import read_npz


def test_arrays_are_returned_in_the_requested_order(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(3), y=np.ones((2, 2), ">f4"))
    y, x = read_npz(tmp_path / "a.npz", ["y", "x"])
    assert x.tolist() == [0, 1, 2]
    assert y.dtype == np.dtype(">f4")


def test_missing_array_is_an_error(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=np.arange(3))
    with pytest.raises(ValueError, match=r"a\.npz: it has no array 'y_train' \(it has: x_train\)"):
        read_npz(tmp_path / "a.npz", ["x_train", "y_train"])


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{}, []], object))
    with pytest.raises(ValueError, match="contains Python objects"):
        read_npz(tmp_path / "a.npz", ["x"])


def test_shape_larger_than_the_file_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + b"abc")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="header has shape"):
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


def test_damaged_content_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(1000, np.uint8))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[600] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match="CRC"):
        read_npz(tmp_path / "a.npz", ["x"])


ARRAYS = {
    "x": np.random.default_rng(0).integers(0, 9, (9, 300)),
    "y": np.random.default_rng(1).integers(0, 3, 9),
}
"""Large enough that the header of x is looked at before its checksum is known."""
SAVERS = [np.savez, np.savez_compressed]


def read_or_error(path):
    """The arrays, or the text of the ValueError."""
    try:
        return dict(zip(ARRAYS, read_npz(path, list(ARRAYS)), strict=True))
    except ValueError as problem:
        return str(problem)


@pytest.mark.parametrize("save", SAVERS)
def test_truncated_file_is_reported_by_name(save, tmp_path):
    path = tmp_path / "a.npz"
    save(path, **ARRAYS)
    content = path.read_bytes()
    for cut in [*range(150), *range(150, len(content), 211), *range(len(content) - 250, len(content))]:
        path.write_bytes(content[:cut])
        assert "a.npz: " in read_or_error(path), cut


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Data type alias:DeprecationWarning")
@pytest.mark.parametrize("save", SAVERS)
def test_flipped_bit_is_detected_or_harmless(save, tmp_path):
    path = tmp_path / "a.npz"
    save(path, **ARRAYS)
    content = path.read_bytes()
    starts = [content.index(b"PK\x03\x04", 1), content.index(b"PK\x01\x02")]
    near = [place for start in (0, *starts) for place in range(start, min(start + 150, len(content)))]
    complaints = 0
    for place in [*near, *range(0, len(content), 211)]:
        for bit in (0, 5):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            found = read_or_error(path)
            if isinstance(found, str):
                assert "a.npz: " in found
                complaints += 1
                continue
            for name, array in ARRAYS.items():
                assert found[name].dtype == array.dtype, (place, bit)
                assert np.array_equal(found[name], array), (place, bit)
    assert complaints > 300


def directory_entry(content, member):
    return content.rindex(member.encode(), 0, content.rindex(b"PK\x05\x06")) - 46


@pytest.mark.parametrize("save", SAVERS)
@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (8, 1, "encrypted"),
        (8, 1 << 5, "compressed patched data"),
        (10, 77, "compression method is not supported"),
    ],
)
def test_unreadable_member_is_reported(save, offset, value, message, tmp_path):
    path = tmp_path / "a.npz"
    save(path, **ARRAYS)
    content = bytearray(path.read_bytes())
    for start, extra in ((directory_entry(bytes(content), "y.npy"), 0), (content.index(b"y.npy") - 30, -2)):
        content[start + offset + extra] = value
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"cannot read .*a\.npz: member 'y\.npy': .*{message}"):
        read_npz(path, ["y"])
    assert np.array_equal(read_npz(path, ["x"])[0], ARRAYS["x"])


def test_damaged_compression_is_reported_with_the_member(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **ARRAYS)
    content = bytearray(path.read_bytes())
    start = content.index(b"x.npy") + 60
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz: member 'x\.npy': .*(decompressing|CRC)"):
        read_npz(path, ["x"])


def test_bytes_after_the_array_are_refused(tmp_path):
    """The checksum is right but the header is wrong, so that the values would be wrong."""
    content = io.BytesIO()
    np.save(content, np.arange(10))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content.getvalue().replace(b"(10,)", b"(9,) "))
    with pytest.raises(ValueError, match=r"'x\.npy': its header has shape \(9,\) of int64, .* but it has 80"):
        read_npz(tmp_path / "a.npz", ["x"])


def test_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "a.npz", ["x"])


def test_oversized_array_is_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", x=np.arange(100))
    monkeypatch.setattr("noiseproof.data.numpy_files.MAX_BYTES", 100)
    with pytest.raises(ValueError, match="more than 100"):
        read_npz(tmp_path / "a.npz", ["x"])
