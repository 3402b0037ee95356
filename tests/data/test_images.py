"""Lazily read images: exact pixels, named errors, and 360 broken files."""

import os
import pickle
import struct
import zlib

import numpy as np
import pytest
from image_samples import encoded, flipped, picture, truncated
from PIL import Image

from noiseproof.data import BrokenFileError, ImageFiles, load
from noiseproof.data.images import read_image


def written(folder, contents, suffix):
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"{number:03d}.{suffix}")
        paths[-1].write_bytes(content)
    return paths


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp"])
def test_lossless_pixels_are_exact(suffix, tmp_path):
    paths = written(tmp_path, [encoded(seed, suffix) for seed in range(3)], suffix)
    images = ImageFiles(paths).read(np.array([2, 0]))
    assert images.shape == (2, 3, 16, 24)
    assert (images.numpy() == np.stack([picture(2), picture(0)]).transpose(0, 3, 1, 2)).all()


def test_jpeg_grey_and_resized(tmp_path):
    paths = written(tmp_path, [encoded(0, "jpg"), encoded(1, "jpg", width=40, height=40)], "jpg")
    assert ImageFiles(paths, mode="L", size=8).read(np.array([0, 1])).shape == (2, 1, 8, 8)
    assert ImageFiles(paths, size=(8, 12)).read(np.array([1])).shape == (1, 3, 8, 12)
    with pytest.raises(
        ValueError, match=r"sample 0 .*000.jpg\) is 24 x 16 but sample 1 .* is 40 x 40: pass size"
    ):
        ImageFiles(paths).read(np.array([0, 1]))
    assert ImageFiles(paths, size=4).read(np.array([], int)).shape == (0, 3, 4, 4)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp"])
def test_every_truncated_file_is_listed(suffix, tmp_path):
    generator = np.random.default_rng(1)
    whole = [encoded(seed, suffix) for seed in range(60)]
    broken = set(range(1, 60, 2))
    contents = [truncated(c, generator) if n in broken else c for n, c in enumerate(whole)]
    paths = written(tmp_path, contents, suffix)
    found = ImageFiles(paths).broken()
    assert {file.index for file in found} == broken
    for file in found:
        assert file.path == str(paths[file.index])
        assert file.problem


def test_png_with_a_flipped_bit_is_listed_or_unchanged(tmp_path):
    generator = np.random.default_rng(2)
    paths = written(tmp_path, [flipped(encoded(seed, "png"), generator) for seed in range(120)], "png")
    listed = {file.index for file in ImageFiles(paths).broken()}
    assert len(listed) > 110
    for number in set(range(120)) - listed:
        assert (read_image(paths[number]) == picture(number).transpose(2, 0, 1)).all()


def test_every_flipped_bit_of_a_smooth_png_is_detected(tmp_path):
    """A damaged smooth picture can be decoded, so the checksums must be verified."""
    y, x = np.mgrid[:64, :64]
    pixels = np.stack([4 * x, 4 * y, 2 * (x + y)], 2).astype(np.uint8)
    path = tmp_path / "smooth.png"
    Image.fromarray(pixels).save(path)
    whole = path.read_bytes()
    refused = 0
    for bit in range(8 * len(whole)):
        turned = bytearray(whole)
        turned[bit // 8] ^= 1 << bit % 8
        path.write_bytes(turned)
        try:
            assert (read_image(path) == pixels.transpose(2, 0, 1)).all(), bit
        except (OSError, ValueError):
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize("suffix", ["jpg", "webp", "bmp"])
def test_flipped_bits_never_crash(suffix, tmp_path):
    generator = np.random.default_rng(3)
    paths = written(tmp_path, [flipped(encoded(seed, suffix), generator) for seed in range(40)], suffix)
    files = ImageFiles(paths, size=8)
    listed = {file.index for file in files.broken()}
    readable = np.array(sorted(set(range(40)) - listed))
    assert files.read(readable).shape == (len(readable), 3, 8, 8)


def test_error_has_index_and_path_and_can_be_pickled(tmp_path):
    paths = written(tmp_path, [encoded(0, "png"), b"no image"], "png")
    with pytest.raises(BrokenFileError, match=r'sample 17, .*001.png: .*on_error="skip"') as caught:
        ImageFiles(paths, index=[5, 17]).read(np.array([0, 1]))
    assert pickle.loads(pickle.dumps(caught.value)).broken == caught.value.broken
    paths[0].unlink()
    with pytest.raises(BrokenFileError, match="No such file"):
        ImageFiles(paths).read(np.array([0]))


def test_other_formats_are_refused(tmp_path):
    for kind in ("GIF", "TIFF", "PPM"):
        path = tmp_path / f"{kind}.png"
        Image.fromarray(picture(0)).save(path, kind)
        with pytest.raises(ValueError, match=r"^it is not a JPEG, PNG, WebP or BMP image$"):
            read_image(path)


def test_messages_contain_no_memory_addresses(tmp_path):
    paths = written(tmp_path, [b"no image", b""], "png")
    problems = [file.problem for file in ImageFiles(paths).broken()]
    assert problems == ["it is not a JPEG, PNG, WebP or BMP image"] * 2


def bomb(width, height):
    """A PNG that declares more pixels than it has."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"0" * 99))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(8001, 8000), (10_000, 10_000), (60_000, 60_000)])
def test_pixel_bombs_are_refused_before_decoding(size, tmp_path):
    (tmp_path / "bomb.png").write_bytes(bomb(*size))
    with pytest.raises(ValueError, match=r"pixels are more than 64000000|DecompressionBomb"):
        read_image(tmp_path / "bomb.png")


def test_palettes_alpha_and_deep_pixels(tmp_path):
    image = Image.fromarray(picture(0))
    image.convert("RGBA").save(tmp_path / "alpha.png")
    image.quantize(8).save(tmp_path / "palette.png", transparency=b"\x00" * 8)
    Image.fromarray(picture(0)[:, :, 0].astype(np.uint16) * 257).save(tmp_path / "deep.png")
    assert (read_image(tmp_path / "alpha.png") == picture(0).transpose(2, 0, 1)).all()
    assert (read_image(tmp_path / "palette.png") == 255).all()
    with pytest.raises(ValueError, match="do not fit into 8 bits"):
        read_image(tmp_path / "deep.png")


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("suffix", ["png", "webp"])
def test_transparent_pixels_are_white(tmp_path, suffix, mode):
    """A drawing on a transparent background whose hidden colour is black, as most programs save it."""
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[2:6, 2:6] = [0, 0, 0, 255]
    pixels[0, 0] = [0, 0, 0, 128]
    Image.fromarray(pixels).save(tmp_path / f"a.{suffix}", lossless=True)
    found = read_image(tmp_path / f"a.{suffix}", mode=mode)
    assert (found[:, 2:6, 2:6] == 0).all()
    assert (found[:, 7] == 255).all()
    assert (found[:, 0, 0] == 127).all()


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither pipes nor /dev/zero")
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero"])
def test_files_that_are_not_regular_are_refused_at_once(tmp_path, kind):
    path = tmp_path / "a.png"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(kind)
    with pytest.raises(BrokenFileError, match=r"sample 0, .*: it is not a regular file but a (device|named)"):
        ImageFiles([path]).read(np.array([0]))
    table = tmp_path / "rows.csv"
    table.write_text(f"file,label\n{path},u\n{path},v\n")
    data = load(f'csv(path="{table}", image="file")')
    with pytest.raises(BrokenFileError, match="it is not a regular file"):
        data.batch([1])


def test_settings_are_checked(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="mode='CMYK'"):
        ImageFiles([], mode="CMYK")
    with pytest.raises(ValueError, match="size=0"):
        ImageFiles([], size=0)
    (tmp_path / "a.png").write_bytes(encoded(0, "png"))
    monkeypatch.setattr("noiseproof.data.images.MAX_BYTES", 10)
    with pytest.raises(ValueError, match="more than 10"):
        read_image(tmp_path / "a.png")
