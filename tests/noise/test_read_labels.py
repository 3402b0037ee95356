"""Label files: read, checked, never unpickled."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data import numpy_files as npz
from noiseproof.noise import corrupt, read_labels

WANTED = [3, 0, 2]


def write(path, text):
    path.write_text(text)
    return path


def test_file_formats(tmp_path):
    np.save(tmp_path / "a.npy", np.array(WANTED, dtype="uint8"))
    np.save(tmp_path / "column.npy", np.array(WANTED).reshape(3, 1))
    np.savez(tmp_path / "a.npz", worse=np.array(WANTED), clean=np.zeros(3, int))
    np.savez_compressed(tmp_path / "one.npz", only=np.array(WANTED))
    files = [
        (tmp_path / "a.npy", None),
        (tmp_path / "column.npy", None),
        (tmp_path / "a.npz", "worse"),
        (tmp_path / "one.npz", None),
        (write(tmp_path / "a.csv", "id,label\n0,3\n1, 0\n2,2\n"), "label"),
        (write(tmp_path / "bare.csv", "3\n0\n2"), None),
        (write(tmp_path / "one.csv", "\ufefflabel\r\n3\r\n0\r\n2\r\n\r\n"), None),
        (write(tmp_path / "a.json", "[3, 0, 2]"), None),
        (write(tmp_path / "key.json", '{"noisy": [3, 0, 2], "clean": [1, 1, 1]}'), "noisy"),
        (write(tmp_path / "one.json", '{"noisy": [3, 0, 2]}'), None),
        (write(tmp_path / "index.JSON", '{"2": 2, "0": 3, "1": 0}'), None),
    ]
    for path, key in files:
        labels = read_labels(path, key, length=3, num_classes=4)
        assert labels.dtype == torch.int64
        assert labels.tolist() == WANTED, path


@pytest.mark.parametrize(
    ("name", "text", "key", "message"),
    [
        ("a.csv", "id,label\n0,3\n1,cat\n", "label", "row 1 .* has 'cat', not a number"),
        ("a.csv", "id,label\n0,3\n1\n", "label", "row 1 .* has '', not a number"),
        ("a.csv", "id,label\n0,3\n", None, "key= is missing, choose key= from 'id', 'label'"),
        ("a.csv", "id,label\n0,3\n", "lable", "there is no 'lable', choose key= from 'id', 'label'"),
        ("a.csv", "0,1\n2,3\n", "label", "there is no 'label'"),
        ("a.csv", "0,1\n2,3\n", None, r"a\.csv has shape \(2, 2\)"),
        ("a.json", "[1, 2", None, "cannot read .*a.json"),
        ("a.json", "3", None, "a list of labels is needed, got int"),
        ("a.json", '[1, "cat"]', None, "entry 1 is 'cat', not a number"),
        ("a.json", "[1, true]", None, "entry 1 is True"),
        ("a.json", "[1, null]", None, "entry 1 is None"),
        ("a.json", "[[1, 2], [3]]", None, "not a regular list"),
        ("a.json", "[1]", "k", "not a JSON object"),
        ("a.json", '{"0": 1, "2": 1}', None, "do not run from 0 to 1 without gaps"),
        ("a.json", "[" * 100_000, None, "cannot read"),
        ("a.npy", "no array", None, "cannot read"),
        ("a.npz", "no archive", None, "cannot read"),
        ("a.pt", "", None, "pickles such as .pt and .pkl are never opened"),
        ("labels", "", None, "no file extension is not one of .npy, .npz, .csv, .json"),
    ],
)
def test_invalid_files_are_refused(tmp_path, name, text, key, message):
    with pytest.raises(ValueError, match=message):
        read_labels(write(tmp_path / name, text), key)


def test_values_are_checked(tmp_path):
    path = write(tmp_path / "a.json", "[1, 12, 3]")
    with pytest.raises(ValueError, match=r"a\.json\[1\] = 12 is not a valid class: with 10 classes"):
        read_labels(path, num_classes=10)
    with pytest.raises(ValueError, match="holds 3 labels, expected 4"):
        read_labels(path, length=4)
    with pytest.raises(TypeError, match=r"\[1\] = 2\.5 is a float64.*not a whole"):
        read_labels(write(tmp_path / "b.json", "[1.0, 2.5]"))
    with pytest.raises(TypeError, match=r"\[1\] = 2\.5 is a float64.*not a whole"):
        read_labels(write(tmp_path / "b.csv", "1\n2.5"))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_labels(tmp_path / "nothing.npy")
    np.save(tmp_path / "a.npy", np.array([1]))
    with pytest.raises(ValueError, match="single array: it has no key"):
        read_labels(tmp_path / "a.npy", "k")


class Bomb:
    def __reduce__(self):
        return (open, ("executed", "w"))


def test_pickles_are_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = np.array([Bomb(), 1], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", a=objects)
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Bomb()))
    with zipfile.ZipFile(tmp_path / "raw.npz", "w") as archive:
        archive.writestr("a.npy", pickle.dumps(Bomb()))
    for name in ("a.npy", "a.npz", "raw.npy", "raw.npz"):
        with pytest.raises((ValueError, TypeError)):
            read_labels(tmp_path / name)
    assert not (tmp_path / "executed").exists()


def test_oversized_array_is_refused_before_allocation(tmp_path, monkeypatch):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (10**12,)})
    (tmp_path / "giant.npy").write_bytes(header.getvalue() + b"\0" * 64)
    with pytest.raises(ValueError, match="cannot read"):
        read_labels(tmp_path / "giant.npy")
    with zipfile.ZipFile(tmp_path / "giant.npz", "w") as archive:
        archive.writestr("a.npy", (tmp_path / "giant.npy").read_bytes())
    with pytest.raises(ValueError, match=r"1000000000000.* but it has 64"):
        read_labels(tmp_path / "giant.npz")
    np.savez_compressed(tmp_path / "zeros.npz", a=np.zeros(100_000, dtype="int64"))
    monkeypatch.setattr(npz, "MAX_BYTES", 10_000)
    with pytest.raises(ValueError, match="800128 bytes unpacked, more than 10000"):
        read_labels(tmp_path / "zeros.npz")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 99), max_size=30))
def test_json_and_csv_round_trip(tmp_path_factory, labels):
    folder = tmp_path_factory.mktemp("labels")
    assert read_labels(write(folder / "a.json", json.dumps(labels))).tolist() == labels
    assert read_labels(write(folder / "a.csv", "label\n" + "\n".join(map(str, labels)))).tolist() == labels


def test_human_noise_uses_permanent_indices(tmp_path):
    clean, given_labels = np.arange(50) % 5, (np.arange(50) * 7) % 5
    np.save(tmp_path / "people.npy", given_labels)
    spec = f'human("{tmp_path / "people.npy"}")'
    whole = corrupt(clean, spec, num_classes=5, seed=0)
    assert whole.labels.tolist() == given_labels.tolist()
    assert whole.manifest.rate is None
    part = corrupt(clean[[8, 3]], spec, num_classes=5, seed=9, index=[8, 3])
    assert part.labels.tolist() == given_labels[[8, 3]].tolist()
    with pytest.raises(ValueError, match="holds 50 labels, the data 10: pass the permanent indices"):
        corrupt(clean[:10], spec, num_classes=5, seed=0)
    with pytest.raises(ValueError, match="which do not include the index 50"):
        corrupt([0, 0], spec, num_classes=5, seed=0, index=[1, 50])
    with pytest.raises(ValueError, match="exact=True does not apply"):
        corrupt(clean, spec, num_classes=5, seed=0, exact=True)
    with pytest.raises(ValueError, match=r"people.npy\[\d+\] = \d is not a valid class"):
        corrupt(np.zeros(50, int), spec, num_classes=2, seed=0)
