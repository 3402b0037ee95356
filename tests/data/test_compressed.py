"""Compressed data is read as far as its size allows, and bombs are refused before they fill memory."""

import bz2
import gzip
import io
import lzma
import resource
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

from noiseproof.data import load
from noiseproof.data.compressed import ALWAYS_ALLOWED, LimitedReader, open_packed
from noiseproof.data.numpy_files import check_directory, read_npz

ROWS = b"a,b,label\n" + b"".join(b"%d,%d,%d\n" % (n % 7, n * n, n % 3) for n in range(200))


def zipped(content, name="rows.csv"):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return memory.getvalue()


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}


def peak():
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_table_equals_the_plain_table(tmp_path, kind):
    (tmp_path / "rows.csv").write_bytes(ROWS)
    (tmp_path / f"rows.csv.{kind}").write_bytes(PACKERS[kind](ROWS))
    for stream in (False, True):
        plain = load(f"csv(path='{tmp_path}/rows.csv', stream={stream})", root=tmp_path)
        packed = load(f"csv(path='{tmp_path}/rows.csv.{kind}', stream={stream})", root=tmp_path)
        if not stream:
            plain, packed = plain.encoded(plain.fit_features()), packed.encoded(packed.fit_features())
        assert packed.batch(slice(None)).input.equal(plain.batch(slice(None)).input)
        assert packed.label.equal(plain.label)


@pytest.mark.parametrize(
    "kind", ["gz", "zip", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("xz", "bz2"))]
)
def test_endless_stream_is_stopped(tmp_path, kind):
    bomb = tmp_path / f"rows.csv.{kind}"
    bomb.write_bytes(PACKERS[kind](b"0" * (ALWAYS_ALLOWED + 1)))
    with open_packed(bomb) as file, pytest.raises(ValueError, match="more than 67,108,864 bytes"):
        sum(map(len, iter(lambda: file.read(1 << 20), b"")))


SLOW = [kind if kind == "gz" else pytest.param(kind, marks=pytest.mark.slow) for kind in PACKERS]


@pytest.mark.parametrize("kind", SLOW)
@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_decompression_bomb_is_refused(tmp_path, kind, stream):
    """72 MB of zeros in a file of some kilobytes: little memory is used, and no file is left in the cache."""
    bomb = tmp_path / f"rows.csv.{kind}"
    bomb.write_bytes(PACKERS[kind](b"a,label\n" + b"0,0\n" * 18_000_000))
    before = peak()
    words = rf"rows\.csv\.{kind}: it unpacks to more than 67,108,864 bytes, 100 times its size"
    with pytest.raises(ValueError, match=words):
        load(f"csv(path='{bomb}', stream={stream})", root=tmp_path / "cache")
    assert peak() - before < 1000
    assert list(tmp_path.glob("cache/streams/*")) == []


def test_damaged_archive_is_reported(tmp_path):
    for kind, packer in PACKERS.items():
        path = tmp_path / f"rows.csv.{kind}"
        path.write_bytes(packer(ROWS)[:60])
        with pytest.raises(ValueError, match=rf"cannot read the table .*rows\.csv\.{kind}: "):
            load(f"csv(path='{path}')")
    with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
        archive.writestr("a.csv", ROWS)
        archive.writestr("b.csv", ROWS)
    with pytest.raises(ValueError, match="the zip archive has 2 files, expected one table"):
        load(f"csv(path='{tmp_path}/two.csv.zip')")
    (tmp_path / "rows.csv.tar.gz").write_bytes(gzip.compress(ROWS))
    with pytest.raises(ValueError, match="is an archive: unpack it, and name the table in it"):
        load(f"csv(path='{tmp_path}/rows.csv.tar.gz')")


def test_parquet_bomb_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = pd.DataFrame({"a": np.zeros(40_000_000, np.int8)})
    rows.assign(label=pd.Categorical.from_codes(rows["a"], ["x"])).to_parquet(path)
    assert path.stat().st_size < 2_000_000
    before = peak()
    for stream in (False, True):
        with pytest.raises(ValueError, match=r"rows\.parquet: its metadata declare \d+,\d+,\d+ bytes, more"):
            load(f"parquet(path='{path}', stream={stream})", root=tmp_path)
    assert peak() - before < 300


def test_array_bomb_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("x_train.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.zeros((4 * ALWAYS_ALLOWED + 1,), np.int8))
        with archive.open("y_train.npy", "w") as member:
            np.lib.format.write_array(member, np.zeros(1, np.int64))
    before = peak()
    with pytest.raises(ValueError, match=r"member 'x_train\.npy': it unpacks to 268,435,585 bytes, more"):
        read_npz(path, ["x_train"])
    assert peak() - before < 100
    with pytest.raises(ValueError, match="it unpacks to"):
        load(f"arrays(path='{path}', stream=True)", root=tmp_path)


def test_size_limit_is_exact():
    for size, allowed in ((100, True), (101, False)):
        stream = io.BufferedReader(LimitedReader(io.BytesIO(b"x" * size), 100, io.BytesIO()))
        if allowed:
            assert len(stream.read()) == 100
        else:
            with pytest.raises(ValueError, match="more than 100 bytes"):
                stream.read()


def test_uncompressed_files_are_opened_unchanged(tmp_path):
    (tmp_path / "a.csv").write_bytes(ROWS)
    with open_packed(tmp_path / "a.csv") as file:
        assert file.read() == ROWS


def many(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0", b"")
        archive.filelist *= members  # the directory lists the same member again and again


def test_archive_with_too_many_members_is_refused_at_once(tmp_path):
    many(tmp_path / "many.zip", 100_500)  # so many that the count needs a ZIP64 record
    begin = time.perf_counter()
    with pytest.raises(ValueError, match="it has 100,500 members"):
        read_npz(tmp_path / "many.zip", ["x"])
    assert time.perf_counter() - begin < 1


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"PK\x05\x06" * 9, b"\0" * 100_000])
def test_check_directory_ignores_files_that_are_not_archives(content):
    check_directory(io.BytesIO(content), 10)


@pytest.mark.parametrize(
    "names", ["a,label,label", "label,a,label", "label,label,a", '\n\n"label",a,"label"']
)
def test_repeated_label_column_is_refused(tmp_path, names):
    """The second column would be a feature that contains the label."""
    path = tmp_path / "rows.csv"
    path.write_text(f"{names}\n1,2,3\n4,5,6\n")
    with pytest.raises(ValueError, match=r"rows\.csv: the column 'label' occurs more than once in the"):
        load(f"csv(path='{path}')")
    for kind, packer in PACKERS.items():
        (tmp_path / f"rows.csv.{kind}").write_bytes(packer(path.read_bytes()))
        with pytest.raises(ValueError, match="occurs more than once"):
            load(f"csv(path='{path}.{kind}')")


def test_other_repeated_columns_are_allowed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,a,label,label.1\n1,2,u,3\n4,5,v,6\n")
    assert load(f"csv(path='{path}')").columns == ("a", "a.1", "label.1")
    path.write_text("file,file,label\n1,2,u\n")
    with pytest.raises(ValueError, match="'file' occurs more than once"):
        load(f"csv(path='{path}', image='file')")


def test_parquet_with_repeated_names_is_refused(tmp_path):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table([[1, 2], [3, 4], ["u", "v"]], names=["a", "a", "label"])
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        load(f"parquet(path='{tmp_path}/rows.parquet')")
