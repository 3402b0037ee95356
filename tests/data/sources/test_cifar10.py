"""CIFAR-10 in its three forms."""

import hostile_pickles as h
import numpy as np
import pytest
import tiny_cifar as tiny

from noiseproof.data import DataMissingError, PickleRefusedError, load

LABELS = list(range(10))


def written(root, form, count=5):
    """Five training batches of ten images and one test batch."""
    names = [*(f"data_batch_{n}" for n in range(1, count + 1)), "test_batch"]
    for seed, name in enumerate(names):
        pixels = tiny.images(10, seed)
        if form == "binary":
            tiny.write_binary(root / "cifar10" / "cifar-10-batches-bin" / f"{name}.bin", pixels, LABELS)
        else:
            tiny.write_python(root / "cifar-10-batches-py" / name, pixels, labels=LABELS)
    return np.concatenate([tiny.as_batch(tiny.images(10, seed)) for seed in range(5)])


@pytest.mark.parametrize("form", ["binary", "python"])
def test_official_file_formats(form, tmp_path):
    expected = written(tmp_path, form)
    train, test = load("cifar10", root=tmp_path), load("cifar10", root=tmp_path, split="test")
    assert (train.inputs.numpy() == expected).all()
    assert (test.inputs.numpy() == tiny.as_batch(tiny.images(10, 5))).all()
    assert train.label.tolist() == LABELS * 5
    assert train.clean_label.tolist() == LABELS * 5
    assert train.class_names[3] == "cat"


def test_npz(tmp_path):
    pixels = tiny.images(10)
    arrays = {
        f"{key}_{split}": value
        for split in ("train", "test")
        for key, value in (("x", tiny.as_npz(pixels)), ("y", np.array(LABELS, np.uint8)))
    }
    np.savez(tmp_path / "cifar10.npz", **arrays)
    assert (load("cifar10", root=tmp_path).inputs.numpy() == tiny.as_batch(pixels)).all()
    arrays["x_train"] = pixels
    np.savez(tmp_path / "cifar10.npz", **arrays)
    with pytest.raises(ValueError, match=r"x_train is uint8 \(10, 3072\), expected uint8 \(N, 32, 32, 3\)"):
        load("cifar10", root=tmp_path)


def test_missing_batch_is_reported(tmp_path):
    written(tmp_path, "binary", count=4)
    with pytest.raises(DataMissingError, match=r"missing: data_batch_5\.bin"):
        load("cifar10", root=tmp_path)


def test_truncated_and_invalid_batches_are_refused(tmp_path):
    written(tmp_path, "binary")
    path = tmp_path / "cifar10" / "cifar-10-batches-bin" / "data_batch_2.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"data_batch_2\.bin has 30729 bytes, not a multiple of 3073"):
        load("cifar10", root=tmp_path)
    path.write_bytes(whole[:3073] + b"\x0a" + whole[3074:])
    with pytest.raises(ValueError, match=r"data_batch_2\.bin: record 1 has label 10, which is not below 10"):
        load("cifar10", root=tmp_path)


def test_malicious_batch_is_refused(tmp_path):
    written(tmp_path, "python")
    path = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    path.write_bytes(h.hostile(tmp_path / "sentinel")["os.system in a batch"])
    with pytest.raises(PickleRefusedError, match="data_batch_3 is refused"):
        load("cifar10", root=tmp_path)
    assert not (tmp_path / "sentinel").exists()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({b"labels": h.numbers([1])}, r"no uint8 array 'data'"),
        ({b"data": h.array((1, 3), b"abc"), b"labels": h.numbers([1])}, r"of shape \(N, 3072\)"),
        ({b"data": h.array((1, 3072), b"a" * 3072)}, "no list 'labels' of 1"),
        ({b"data": h.array((1, 3072), b"a" * 3072), b"labels": h.numbers([1, 2])}, "no list 'labels' of 1"),
        (
            {b"data": h.array((1, 3072), b"a" * 3072), b"labels": b"](" + h.text("a") + b"e"},
            "only whole numbers",
        ),
    ],
)
def test_batches_with_wrong_contents_are_refused(entries, message, tmp_path):
    (tmp_path / "test_batch").write_bytes(h.batch(entries))
    with pytest.raises(ValueError, match=message):
        load("cifar10", root=tmp_path, split="test")
