import gzip
import io
import lzma
import random
import shutil
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
from hostile_archives import (
    ABSOLUTE,
    END,
    HELLO,
    HOSTILE,
    files,
    patched_fields,
    tar_bytes,
    zip_bytes,
    zip_entry,
    zip_with_second_name,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data.archive import unpack as archive_module
from noiseproof.data.archive.names import Names, safe_parts
from noiseproof.data.archive.unpack import ArchiveError, Limits, unpack

ENDINGS = ["", ".gz", ".bz2", ".xz"]


def tree(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


@pytest.mark.parametrize("case", [*HOSTILE, *ABSOLUTE])
def test_hostile_archives_are_refused_and_leave_nothing(case, tmp_path):
    content = HOSTILE[case] if case in HOSTILE else ABSOLUTE[case](f"{tmp_path.as_posix()}/evil")
    source, inside = tmp_path / "archive", tmp_path / "work" / "deep"
    source.write_bytes(content)
    inside.mkdir(parents=True)
    before = tree(tmp_path)
    tracemalloc.start()
    with pytest.raises(ArchiveError) as caught:
        unpack(source, inside / "out")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(source) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before
    assert most < 16 << 20  # the dictionary of xz is 8 MiB


def test_there_are_at_least_thirty_hostile_archives():
    assert len(HOSTILE) >= 30


@pytest.mark.parametrize("ending", ENDINGS)
def test_tar_round_trip(ending, tmp_path):
    big = random.Random(0).randbytes(1 << 21)  # noqa: S311
    source = tmp_path / f"a.tar{ending}"
    with tarfile.open(source, "w" + (f":{ending[1:]}" if ending else "")) as tar:
        tar.addfile(dir_entry("./"))
        tar.addfile(dir_entry("batches/empty"))
        for name, content in (("batches/one.bin", big), ("./two.txt", HELLO), ("ünï/" + "x" * 120, b"")):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o4777
            tar.addfile(info, io.BytesIO(content))
    found = unpack(source, tmp_path / "out")
    assert [str(path.relative_to(tmp_path / "out")) for path in found] == [
        "batches/one.bin",
        "two.txt",
        "ünï/" + "x" * 120,
    ]
    assert [path.read_bytes() for path in found] == [big, HELLO, b""]
    assert (tmp_path / "out/batches/empty").is_dir()
    assert not any(path.stat().st_mode & 0o7111 for path in found)


def dir_entry(name):
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_round_trip(method, tmp_path):
    (tmp_path / "a.zip").write_bytes(
        zip_bytes("a/b.txt", zip_entry("empty/", content=b""), "c", method=method)
    )
    found = unpack(tmp_path / "a.zip", tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in found] == ["a/b.txt", "c"]
    assert all(path.read_bytes() == HELLO for path in found)
    assert (tmp_path / "out/empty").is_dir()


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_dialect_of_tar(format, tmp_path):  # noqa: A002
    (tmp_path / "a.tar").write_bytes(
        tar_bytes(("d/" * 40 + "f" * 80, {"mtime": 7}), ("g", {}), format=format)
    )
    assert [path.read_bytes() for path in unpack(tmp_path / "a.tar", tmp_path / "out")] == [HELLO, HELLO]


def test_a_second_name_is_refused_where_zipfile_would_follow_it(tmp_path):
    """Python 3.11 ignores the field, later versions rename the member."""
    (tmp_path / "a.zip").write_bytes(zip_with_second_name())
    try:
        found = unpack(tmp_path / "a.zip", tmp_path / "out")
    except ArchiveError as refused:
        assert "second name" in str(refused)  # noqa: PT017
        assert tree(tmp_path) == ["a.zip"]
    else:
        assert found == [tmp_path / "out/a.txt"]


def test_an_empty_folder_is_taken_and_a_full_one_is_not(tmp_path):
    (tmp_path / "a.tar").write_bytes(files("a"))
    (tmp_path / "out").mkdir()
    unpack(tmp_path / "a.tar", tmp_path / "out")
    with pytest.raises(FileExistsError, match="exists and is not an empty folder"):
        unpack(tmp_path / "a.tar", tmp_path / "out")
    assert tree(tmp_path) == ["a.tar", "out", "out/a"]


def zeros(count: int, mode: str) -> bytes:
    """``count`` zero bytes as the one member of an archive, compressed piece by piece."""
    if mode == "zip":
        deflate = zlib.compressobj(1, wbits=-15)
        piece = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
        stored = zip_bytes(("zeros", piece * (count >> 20) + deflate.flush()), method=zipfile.ZIP_STORED)
        return patched_fields(stored, method=8, size=count)
    info = tarfile.TarInfo("zeros")
    info.size = count
    block = gzip.compress(bytes(1 << 20), 1)
    return gzip.compress(info.tobuf()) + block * (count >> 20) + gzip.compress(END)


@pytest.mark.parametrize("mode", ["tar.gz", "zip"])
def test_a_bomb_is_stopped_before_the_cap(mode, tmp_path, monkeypatch):
    written = count_written_bytes(monkeypatch)
    (tmp_path / "bomb").write_bytes(zeros(1 << 30, mode))
    cap = 10 << 20
    with pytest.raises(ArchiveError, match="zeros"):
        unpack(tmp_path / "bomb", tmp_path / "out", limits=Limits(total_bytes=cap))
    assert sum(written) <= 1.1 * cap
    with pytest.raises(ArchiveError, match="bytes of the archive"):
        unpack(tmp_path / "bomb", tmp_path / "out")
    assert tree(tmp_path) == ["bomb"]


def count_written_bytes(monkeypatch) -> list[int]:
    written: list[int] = []
    genuine = archive_module.Budget.spend

    def spend(self, name, size):
        genuine(self, name, size)
        written.append(size)

    monkeypatch.setattr(archive_module.Budget, "spend", spend)
    return written


def test_a_bomb_of_many_members_is_stopped_at_the_cap(tmp_path, monkeypatch):
    written = count_written_bytes(monkeypatch)
    content = [zip_entry(f"{number}", content=bytes(1 << 16)) for number in range(200)]
    (tmp_path / "bomb").write_bytes(zip_bytes(*content))
    cap = 1 << 20
    with pytest.raises(ArchiveError, match="'16' brings the unpacked size to 1,114,112 bytes"):
        unpack(tmp_path / "bomb", tmp_path / "out", limits=Limits(total_bytes=cap, ratio=1e9))
    assert sum(written) == cap
    assert tree(tmp_path) == ["bomb"]


def test_zeros_after_the_end_of_a_tar_are_counted_too(tmp_path):
    (tmp_path / "bomb").write_bytes(gzip.compress(files("a")) + gzip.compress(bytes(1 << 20), 1) * 1000)
    with pytest.raises(ArchiveError, match="unpacks to over"):
        unpack(tmp_path / "bomb", tmp_path / "out", limits=Limits(total_bytes=1 << 22))


def test_too_many_members(tmp_path):
    (tmp_path / "many").write_bytes(files(*map(str, range(20))))
    assert len(unpack(tmp_path / "many", tmp_path / "out", limits=Limits(members=20))) == 20
    with pytest.raises(ArchiveError, match="more than 19 members, the first too many is '19'"):
        unpack(tmp_path / "many", tmp_path / "other", limits=Limits(members=19))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("content", [files("a"), zip_bytes("a")])
def test_a_full_disk_is_said_before_anything_is_written(content, tmp_path, monkeypatch):
    (tmp_path / "archive").write_bytes(content)
    usage = shutil.disk_usage(tmp_path)._replace(free=3)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match="3 are free on the disk"):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert tree(tmp_path) == ["archive"]


def test_an_interrupted_unpack_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "archive").write_bytes(files("a", "b"))

    def interrupted(self, name, size):
        if name == "b":
            raise KeyboardInterrupt

    monkeypatch.setattr(archive_module.Budget, "spend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert tree(tmp_path) == ["archive"]


def test_a_missing_archive_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        unpack(tmp_path / "nothing.tar", tmp_path / "out")
    assert tree(tmp_path) == []


def test_an_xz_stream_that_wants_much_memory(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    (tmp_path / "a.tar.xz").write_bytes(lzma.compress(files("a"), filters=filters))
    with pytest.raises(ArchiveError, match="Memory usage limit"):
        unpack(tmp_path / "a.tar.xz", tmp_path / "out")


@given(st.text(max_size=40))
@settings(deadline=None)
def test_accepted_names_stay_inside(name):
    try:
        parts = safe_parts(name)
    except ArchiveError:
        return
    folder = Path("/somewhere/inside")
    assert folder.joinpath(*parts).is_relative_to(folder)
    assert ".." not in parts
    assert not any(set(part) & set("/\\:\0\n") for part in parts)


@given(st.lists(st.text("aA./é", min_size=1, max_size=6), max_size=6))
@settings(deadline=None)
def test_accepted_files_are_all_different_on_any_system(names):
    seen = Names()
    accepted = []
    for name in names:
        try:
            accepted.append(str(seen.add(name, is_folder=False)).casefold())
        except ArchiveError:
            continue
    assert len(set(accepted)) == len(accepted)
    assert not any(other.startswith(one + "/") for one in accepted for other in accepted)


@pytest.mark.parametrize("seed", range(150))
def test_damaged_archives_never_crash(seed, tmp_path):
    """One byte changed anywhere: unpacked or refused, and never anything outside the folder."""
    plain = files("a", "d/b")[:3072]
    damaged = bytearray([gzip.compress(plain, mtime=0), plain, zip_bytes("a", "d/b")][seed % 3])
    damaged[(seed * 7919) % len(damaged)] ^= 1 << (seed % 8)
    (tmp_path / "archive").write_bytes(bytes(damaged))
    try:
        unpack(tmp_path / "archive", tmp_path / "out")
    except ArchiveError:
        assert tree(tmp_path) == ["archive"]
    else:
        assert {path.split("/")[0] for path in tree(tmp_path)} == {"archive", "out"}
