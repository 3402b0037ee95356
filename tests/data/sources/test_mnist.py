"""MNIST in idx files and as .npz."""

import gzip
import struct

import numpy as np
import pytest

from noiseproof.data import load

PIXELS = np.random.default_rng(0).integers(0, 256, (20, 28, 28), np.uint8)
LABELS = np.arange(20, dtype=np.uint8) % 10


def write_idx(folder, prefix, end="-idx", pack=bytes, suffix="", labels=LABELS):
    folder.mkdir(parents=True, exist_ok=True)
    images = struct.pack(">4I", 0x803, *PIXELS.shape) + PIXELS.tobytes()
    (folder / f"{prefix}-images{end}3-ubyte{suffix}").write_bytes(pack(images))
    (folder / f"{prefix}-labels{end}1-ubyte{suffix}").write_bytes(
        pack(struct.pack(">2I", 0x801, len(labels)) + labels.tobytes())
    )


@pytest.mark.parametrize("place", [".", "mnist", "mnist/MNIST/raw"])
@pytest.mark.parametrize(("pack", "suffix"), [(bytes, ""), (gzip.compress, ".gz")])
@pytest.mark.parametrize("end", ["-idx", ".idx"])
def test_idx_files(place, pack, suffix, end, tmp_path):
    write_idx(tmp_path / place, "train", end, pack, suffix)
    write_idx(tmp_path / place, "t10k", end, pack, suffix)
    for split in ("train", "test"):
        data = load("mnist", root=tmp_path, split=split)
        assert data.sample_shape == (1, 28, 28)
        assert (data.inputs[:, 0].numpy() == PIXELS).all()
        assert data.label.tolist() == data.clean_label.tolist() == LABELS.tolist()


def test_npz(tmp_path):
    np.savez(tmp_path / "mnist.npz", x_train=PIXELS, y_train=LABELS, x_test=PIXELS[:10], y_test=LABELS[:10])
    assert len(load("mnist", root=tmp_path, split="test")) == 10


def test_idx_datasets_in_another_folder(tmp_path):
    write_idx(tmp_path / "letters", "train", labels=LABELS + 1)
    path = (tmp_path / "letters").as_posix()
    with pytest.raises(ValueError, match=r"label\[9\] = 10 is not a valid class"):
        load(f"mnist(path={path!r})")
    with pytest.warns(UserWarning, match="no sample has the label 0"):
        assert load(f"mnist(path={path!r}, num_classes=11)").num_classes == 11


def test_different_numbers_of_images_and_labels_are_refused(tmp_path):
    write_idx(tmp_path, "train", labels=LABELS[:10])
    with pytest.raises(ValueError, match=r"\(20, 28, 28\) images and \(10,\) labels"):
        load("mnist", root=tmp_path)
