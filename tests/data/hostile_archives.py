"""Archives that must be refused, built byte by byte."""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib

HELLO = b"hello"


def tar_bytes(*entries, format=tarfile.PAX_FORMAT, pax=None):  # noqa: A002
    """A tar of (name, attributes) entries with the content "hello"."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format, pax_headers=pax) as tar:
        for name, attributes in entries:
            info = tarfile.TarInfo(name)
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            is_file = info.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
            info.size = len(HELLO) if is_file else 0
            tar.addfile(info, io.BytesIO(HELLO) if is_file else None)
    return out.getvalue()


def files(*names):
    return tar_bytes(*((name, {}) for name in names))


def link(name, target, kind=tarfile.SYMTYPE):
    return name, {"type": kind, "linkname": target}


def checked(header: bytearray) -> bytes:
    """The 512 bytes of a header with the right sum."""
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header)


def raw_header(name: bytes, *, size: bytes = b"00000000005", kind: bytes = b"0") -> bytes:
    header = bytearray(512)
    header[: len(name)] = name
    header[100:108], header[124 : 124 + len(size)], header[156:157] = b"0000644\0", size, kind
    header[257:265] = b"ustar\x0000"
    return checked(header)


def with_base256_size(name: bytes, size: int) -> bytes:
    sign = b"\xff" if size < 0 else b"\x80"
    return raw_header(name, size=sign + (size % (1 << 88)).to_bytes(11, "big"))


def pax_record(key: str, value: str) -> bytes:
    length = len(f" {key}={value}\n".encode())
    total = length + len(str(length))
    total = length + len(str(total))
    return f"{total} {key}={value}\n".encode()


def pax_file(key, value, name="innocent"):
    record = pax_record(key, value)
    size = f"{len(record):011o}".encode()
    padding = b"\0" * (-len(record) % 512)
    return raw_header(b"pax", size=size, kind=b"x") + record + padding + body(name.encode())


def body(name: bytes) -> bytes:
    return raw_header(name) + HELLO + b"\0" * 507


END = b"\0" * 1024


def zip_bytes(*entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for entry in entries:
            info, content = entry if isinstance(entry, tuple) else (entry, HELLO)
            archive.writestr(info, content)
    return out.getvalue()


def zip_entry(name, *, mode=0, content=HELLO):
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    info.external_attr = mode << 16
    info.create_system = 3
    return info, content


def patched(content: bytes, old: bytes, new: bytes) -> bytes:
    assert old in content
    assert len(old) == len(new)
    return content.replace(old, new)


def zip_with_flag(bit: int) -> bytes:
    content = bytearray(zip_bytes("a.txt"))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= bit
    return bytes(content)


def zip_claiming(size: int) -> bytes:
    return patched_fields(zip_bytes("a.txt"), method=8, size=size)


def patched_fields(archive: bytes, *, method: int, size: int) -> bytes:
    """Local header and table of contents of the one member claim this method and size."""
    content = bytearray(archive)
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = content.index(signature) + offset
        struct.pack_into("<H", content, start, method)
        struct.pack_into("<I", content, start + 14, size)
    return bytes(content)


def zip_with_second_name() -> bytes:
    """An Info-ZIP unicode path field (0x7075) that renames the member."""
    info = zipfile.ZipInfo("a.txt")
    new = b"../evil"
    info.extra = struct.pack("<HHBL", 0x7075, 5 + len(new), 1, zlib.crc32(b"a.txt")) + new
    return zip_bytes((info, HELLO))


HOSTILE = {
    "tar parent": files("../evil"),
    "tar parent inside": files("a/../../evil"),
    "tar parent and back": files("a/../evil"),
    "tar double slash": files("//server/share/evil"),
    "tar drive": files("C:/evil"),
    "tar drive relative": files("C:evil"),
    "tar backslash": files("..\\..\\evil"),
    "tar stream of a file": files("a.txt:evil"),
    "tar NUL in pax path": pax_file("path", "evil\0.txt") + END,
    "tar parent in pax path": pax_file("path", "../evil") + END,
    "tar parent in GNU long name": tar_bytes(
        ("x/" * 80 + "../" * 90 + "evil", {}), format=tarfile.GNU_FORMAT
    ),
    "tar newline": files("evil\nname"),
    "tar escape": files("\x1b[31mevil"),
    "tar bytes that are no text": body(b"evil\xff") + END,
    "tar no name": body(b"") + END,
    "tar dot as a file": files("."),
    "tar symlink out": tar_bytes(link("evil", "/etc/passwd")),
    "tar symlink inside": tar_bytes(("a", {}), link("evil", "a")),
    "tar file through a symlink": tar_bytes(link("door", ".."), ("door/evil", {})),
    "tar hardlink out": tar_bytes(link("evil", "/etc/passwd", tarfile.LNKTYPE)),
    "tar hardlink inside": tar_bytes(("a", {}), link("evil", "a", tarfile.LNKTYPE)),
    "tar fifo": tar_bytes(("evil", {"type": tarfile.FIFOTYPE})),
    "tar character device": tar_bytes(("evil", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3})),
    "tar block device": tar_bytes(("evil", {"type": tarfile.BLKTYPE})),
    "tar contiguous": raw_header(b"evil", kind=b"7") + HELLO + b"\0" * 507 + END,
    "tar unknown type": raw_header(b"evil", kind=b"Z") + HELLO + b"\0" * 507 + END,
    "tar sparse": pax_file("GNU.sparse.map", "0,1,999999999999,1") + END,
    "tar duplicate": files("a", "a"),
    "tar duplicate by dot": files("a/b", "./a//b"),
    "tar case": files("Readme", "README"),
    "tar case of a folder": files("A/x", "a/y"),
    "tar sharp s": files("strasse", "straße"),
    "tar accents": files(unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")),
    "tar file then folder": files("a", "a/b"),
    "tar folder then file": files("a/b", "a"),
    "tar Windows device": files("a/NUL.txt"),
    "tar trailing dot": files("a."),
    "tar trailing space": files(".. /evil"),
    "tar long part": files("e" * 256),
    "tar long name": files("/".join(["ev"] * 2000)),
    "tar huge pax header": raw_header(b"pax", size=b"77777777777", kind=b"x") + END,
    "tar huge long name": raw_header(b"././@LongLink", size=b"77777777777", kind=b"L") + END,
    "tar huge member": with_base256_size(b"evil", 1 << 60) + END,
    "tar negative member": body(b"a") + with_base256_size(b"evil", -1024) + END,
    "tar negative pax size": pax_file("size", "-2048") + END,
    "tar pax in pax in pax": raw_header(b"pax", size=b"00000000000", kind=b"x") * 5000 + END,
    "tar cut in a member": body(b"a")[:700],
    "tar cut in a header": body(b"a") + body(b"b")[:300],
    "tar damaged header": body(b"a") + b"\1" + body(b"b")[1:] + END,
    "tar.gz with wrong checksum": gzip.compress(files("a"))[:-8] + b"\0" * 8,
    "tar.gz cut": gzip.compress(files("a"))[:-20],
    "tar.bz2 damaged": bz2.compress(files("a"))[:60] + b"\0" * 60,
    "tar.xz cut": lzma.compress(files("a"))[:-30],
    "empty": b"",
    "text": b"<!doctype html><p>404" * 100,
    "zip parent": zip_bytes(zip_entry("../evil")),
    "zip backslash": zip_bytes(zip_entry("..\\evil")),
    "zip drive": zip_bytes(zip_entry("C:/evil")),
    "zip NUL": patched(zip_bytes("evil?.txt"), b"evil?.txt", b"evil\0.txt"),
    "zip symlink": zip_bytes(zip_entry("evil", mode=stat.S_IFLNK | 0o777, content=b"/etc/passwd")),
    "zip device": zip_bytes(zip_entry("evil", mode=stat.S_IFCHR | 0o666)),
    "zip fifo": zip_bytes(zip_entry("evil", mode=stat.S_IFIFO | 0o666)),
    "zip case": zip_bytes("Readme", "README"),
    "zip duplicate": zip_bytes("a/x", "a//x"),
    "zip encrypted": zip_with_flag(0x1),
    "zip lzma": zip_bytes("a.txt", method=zipfile.ZIP_LZMA),
    "zip other name inside": zip_bytes("a.txt").replace(b"a.txt", b"b.txt", 1),
    "zip claims less": zip_claiming(3),
    "zip claims more": zip_claiming(4096),
    "zip claims far more": zip_claiming(0xFFFFFFF0),
    "zip wrong checksum": patched(zip_bytes("a", method=zipfile.ZIP_STORED), HELLO, b"hellO"),
    "zip cut": zip_bytes("a.txt")[:-10],
    "zip folder with content": patched(zip_bytes("evil!"), b"evil!", b"evil/"),
}

ABSOLUTE = {"tar absolute": files, "zip absolute": lambda path: zip_bytes(zip_entry(path))}
"""Archives of a file that names its absolute place; the test chooses a place of its own."""
