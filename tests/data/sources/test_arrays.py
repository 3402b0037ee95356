"""Numpy files."""

import numpy as np
import pytest

from noiseproof.data import load
from noiseproof.data.sources.split import NoSplitError

X, Y = np.arange(24, dtype=np.float32).reshape(4, 2, 3), np.array([0, 1, 1, 0], np.uint8)


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2])
    spec = f"arrays(path={(tmp_path / 'a.npz').as_posix()!r})"
    assert (load(spec).batch([3]).input.numpy() == X[[3]]).all()
    assert len(load(spec, split="test")) == 2
    with pytest.raises(ValueError, match="has its labels inside"):
        load(spec[:-1] + ", labels='y.npy')")


def test_npy_is_mapped(tmp_path):
    np.save(tmp_path / "x_train.npy", X)
    np.save(tmp_path / "y_train.npy", Y)
    folder = tmp_path.as_posix()
    spec = f"arrays(path='{folder}/x_{{split}}.npy', labels='{folder}/y_{{split}}.npy')"
    data = load(spec)
    assert isinstance(data.inputs, np.memmap)
    assert (data.batch([2, 1]).input.numpy() == X[[2, 1]]).all()
    with pytest.raises(FileNotFoundError, match=r"x_test\.npy is no file"):
        load(spec, split="test")


@pytest.mark.parametrize("content", [b"", b"nonsense", "object", "cut"])
def test_damaged_and_hostile_files(content, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([{}], object) if content == "object" else X, allow_pickle=True)
    if content == "cut":
        path.write_bytes(path.read_bytes()[:-4])
    elif isinstance(content, bytes):
        path.write_bytes(content)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(ValueError, match=r"cannot map .*x\.npy"):
        load(f"arrays(path={path.as_posix()!r}, labels={(tmp_path / 'y.npy').as_posix()!r})")


def test_other_files():
    with pytest.raises(ValueError, match=r"path='a\.npy' with labels=None: expected an \.npz file"):
        load("arrays(path='a.npy')")


def test_the_number_of_classes_is_that_of_training(tmp_path):
    folder = tmp_path.as_posix()
    for test_labels, stray in ((np.array([0, 0]), None), (np.array([0, 2]), r"label\[1\] = 2 is no class")):
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


def test_an_npz_file_without_test_arrays_is_training_data_alone(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X, y_train=Y)
    spec = f"npz(path={(tmp_path / 'a.npz').as_posix()!r})"
    assert len(load(spec)) == 4
    with pytest.raises(NoSplitError, match=r"a\.npz has no x_test and y_test"):
        load(spec, split="test")


def test_an_npz_file_that_is_absent_or_has_other_names_says_which_it_needs(tmp_path):
    np.savez(tmp_path / "a.npz", data=X, target=Y)
    folder = tmp_path.as_posix()
    with pytest.raises(
        ValueError, match=r"no array 'x_train' \(it has: data, target\): name inputs and labels"
    ):
        load(f"arrays(path='{folder}/a.npz')")
    with pytest.raises(FileNotFoundError, match=r"b\.npz is no file: one \.npz holds x_train, y_train"):
        load(f"arrays(path='{folder}/b.npz')")
