"""Numpy files."""

import numpy as np
import pytest

from noiseproof.data import load
from noiseproof.data.locations import NoSplitError

X, Y = np.arange(24, dtype=np.float32).reshape(4, 2, 3), np.array([0, 1, 1, 0], np.uint8)


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2])
    spec = f"arrays(path={(tmp_path / 'a.npz').as_posix()!r})"
    assert (load(spec).batch([3]).input.numpy() == X[[3]]).all()
    assert len(load(spec, split="test")) == 2
    with pytest.raises(ValueError, match="file contains its labels"):
        load(spec[:-1] + ", labels='y.npy')")


def test_npy_is_mapped(tmp_path):
    np.save(tmp_path / "x_train.npy", X)
    np.save(tmp_path / "y_train.npy", Y)
    folder = tmp_path.as_posix()
    spec = f"arrays(path='{folder}/x_{{split}}.npy', labels='{folder}/y_{{split}}.npy')"
    data = load(spec)
    assert isinstance(data.inputs, np.memmap)
    assert (data.batch([2, 1]).input.numpy() == X[[2, 1]]).all()
    with pytest.raises(FileNotFoundError, match=r"x_test\.npy is not a file"):
        load(spec, split="test")


@pytest.mark.parametrize("content", [b"", b"nonsense", "object", "cut"])
def test_damaged_and_malicious_files_are_refused(content, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([{}], object) if content == "object" else X, allow_pickle=True)
    if content == "cut":
        path.write_bytes(path.read_bytes()[:-4])
    elif isinstance(content, bytes):
        path.write_bytes(content)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(ValueError, match=r"cannot map .*x\.npy"):
        load(f"arrays(path={path.as_posix()!r}, labels={(tmp_path / 'y.npy').as_posix()!r})")


def test_other_file_types_are_refused():
    with pytest.raises(ValueError, match=r"path='a\.npy' with labels=None: expected an \.npz file"):
        load("arrays(path='a.npy')")


def test_number_of_classes_is_that_of_training(tmp_path):
    folder = tmp_path.as_posix()
    for test_labels, stray in (
        (np.array([0, 0]), None),
        (np.array([0, 2]), r"label\[1\] = 2 is not a valid class"),
    ):
        named = {"x_train": X, "y_train": Y, "x_test": X[:2], "y_test": test_labels}
        np.savez(tmp_path / "a.npz", **named)
        for name, array in named.items():
            np.save(tmp_path / f"{name}.npy", array)
        for spec in (
            f"arrays(path='{folder}/a.npz')",
            f"arrays(path='{folder}/x_{{split}}.npy', labels='{folder}/y_{{split}}.npy')",
        ):
            if stray:
                with pytest.raises(ValueError, match=stray):
                    load(spec, split="test")
            else:
                with pytest.warns(UserWarning, match="no sample has the label 1"):
                    assert load(spec, split="test").num_classes == load(spec).num_classes == 2


def test_npz_without_test_arrays_has_no_test_split(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X, y_train=Y)
    spec = f"npz(path={(tmp_path / 'a.npz').as_posix()!r})"
    assert len(load(spec)) == 4
    with pytest.raises(NoSplitError, match=r"a\.npz has no x_test and y_test"):
        load(spec, split="test")


@pytest.mark.parametrize("stream", [False, True])
def test_unlabelled_inputs_can_be_read(stream, tmp_path):
    np.savez(tmp_path / "a.npz", x_test=X)
    np.savez(tmp_path / "b.npz", x_train=X, y_train=Y)
    np.save(tmp_path / "c.npy", X)
    for name, split in (("a.npz", "test"), ("b.npz", "train"), ("c.npy", "train")):
        path = (tmp_path / name).as_posix()
        spec = f"npz(path={path!r}, labelled=False, stream={stream})"
        data = load(spec, root=tmp_path, split=split)
        assert (data.batch(slice(None)).input.numpy() == X).all()
        assert (data.class_names, data.label.tolist()) == (("unlabelled",), [0, 0, 0, 0])
        assert isinstance(data.inputs, np.memmap) == stream
    for name in ("b.npz", "c.npy"):
        with pytest.raises(NoSplitError, match=r"no x_test$|has no test split"):
            load(f"npz(path={(tmp_path / name).as_posix()!r}, labelled=False)", split="test")


def test_missing_labels_error_suggests_labelled_false(tmp_path):
    np.savez(tmp_path / "a.npz", x_test=X)
    spec = f"npz(path={(tmp_path / 'a.npz').as_posix()!r})"
    with pytest.raises(ValueError, match=r"no array 'y_test' .*, or add labelled=False to predict inputs"):
        load(spec, split="test")
    with pytest.raises(ValueError, match=r"no array 'x_train' \(it has: x_test\)"):
        load(spec[:-1] + ", labelled=False)")
    with pytest.raises(
        ValueError, match=r"labels='y\.npy' and labelled=False: expected an \.npz or \.npy file"
    ):
        load("npz(path='a.npz', labels='y.npy', labelled=False)")
    np.savez(tmp_path / "a.npz", x_train=np.float32(3))
    with pytest.raises(ValueError, match="inputs are a scalar"):
        load(spec[:-1] + ", labelled=False)")


def test_value_beyond_float32_is_reported(tmp_path):
    large = X.astype(np.float64)
    large[2, 1, 0] = 1e300
    np.savez(tmp_path / "a.npz", x_train=large, y_train=Y)
    with pytest.raises(
        ValueError, match=r"sample 2 contains 1e\+300 at \[1, 0\], which exceeds the largest float32"
    ):
        load(f"npz(path={(tmp_path / 'a.npz').as_posix()!r})")


def test_missing_npz_file_or_arrays_error_lists_required_names(tmp_path):
    np.savez(tmp_path / "a.npz", data=X, target=Y)
    folder = tmp_path.as_posix()
    with pytest.raises(
        ValueError, match=r"no array 'x_train' \(it has: data, target\): name inputs and labels"
    ):
        load(f"arrays(path='{folder}/a.npz')")
    with pytest.raises(FileNotFoundError, match=r"b\.npz is not a file: give an \.npz with x_train, y_train"):
        load(f"arrays(path='{folder}/b.npz')")


def test_text_labels_are_class_names(tmp_path):
    inputs = np.zeros((2, 3))
    np.savez(tmp_path / "a.npz", x_train=inputs, y_train=["dog", "cat"], x_test=inputs, y_test=["dog", "dog"])
    spec = f"npz(path='{tmp_path.as_posix()}/a.npz', duplicates='ignore')"
    assert (load(spec).class_names, load(spec).label.tolist()) == (("cat", "dog"), [1, 0])
    with pytest.warns(UserWarning, match=r"no sample has the label 0 \(cat\)"):
        assert load(spec, split="test").label.tolist() == [1, 1]
    np.savez(tmp_path / "a.npz", x_train=inputs, y_train=np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match=r"label\[0\] = 0\.5 has a fraction"):
        load(spec)
