"""Datasets of the Hugging Face library, through an object with the same interface."""

import sys
import types

import numpy as np
import pytest
import torch
from image_samples import picture
from PIL import Image

from noiseproof.data import from_huggingface, load


class ClassLabel:
    def __init__(self, names):
        self.names = names


class FakeDataset:
    """The part of the interface of datasets.Dataset that the library uses."""

    def __init__(self, columns, features, seen=None):
        self.columns, self.features, self.seen = columns, features, [] if seen is None else seen
        self.column_names = list(columns)

    def select_columns(self, names):
        return FakeDataset({name: self.columns[name] for name in names}, self.features, self.seen)

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, key):
        if isinstance(key, str):
            return self.columns[key]
        self.seen += key
        return {name: [values[i] for i in key] for name, values in self.columns.items()}


def pictures(count=4, **columns):
    images = [Image.fromarray(picture(seed)) for seed in range(count)]
    labels = [number % 2 for number in range(count)]
    features = {"image": object(), "label": ClassLabel(["cat", "dog"])}
    return FakeDataset({"image": images, "label": labels, **columns}, features)


def test_images_are_read_on_demand():
    rows = pictures()
    data = from_huggingface(rows)
    assert rows.seen == []
    assert data.class_names == ("cat", "dog")
    assert (data.batch([3, 1]).input[0].numpy() == picture(3).transpose(2, 0, 1)).all()
    assert rows.seen == [3, 1]
    assert from_huggingface(rows, mode="L", size=8).sample_shape == (1, 8, 8)


def test_rows_of_numbers():
    rows = FakeDataset({"features": [[1.0, 2.0], [3.0, 4.0]], "y": [0, 1]}, {"y": object()})
    data = from_huggingface(rows, label="y")
    assert data.batch([1]).input.tolist() == [[3, 4]]
    assert data.batch([1]).input.dtype == torch.float32
    assert data.subset([]).batch([]).input.shape == (0,)


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match=r"unknown column 'lab', did you mean 'label'\?"):
        from_huggingface(pictures(), label="lab")
    with pytest.raises(ValueError, match="the column of inputs is not known"):
        from_huggingface(pictures(), input="sound")
    with pytest.raises(ValueError, match="mode='P'"):
        from_huggingface(pictures(), mode="P")
    rows = pictures()
    rows.columns["image"][2] = rows.columns["image"][2].resize((5, 5))
    with pytest.raises(ValueError, match=r"sample 2 has shape \(3, 5, 5\) but sample 0"):
        from_huggingface(rows).batch([0, 2])


def test_from_disk(monkeypatch):
    fake = types.ModuleType("datasets")
    fake.load_from_disk = lambda path: {"train": pictures(4), "test": pictures(2)}
    monkeypatch.setitem(sys.modules, "datasets", fake)
    assert len(load("huggingface(path='somewhere')")) == 4
    assert len(load("huggingface(path='somewhere')", split="test")) == 2
    fake.load_from_disk = lambda path: pictures(3)
    assert len(load("huggingface(path='somewhere')")) == 3


def test_missing_datasets_package_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'noiseproof\[hf\]'"):
        load("huggingface(path='somewhere')")


def test_labels_as_an_array():
    rows = pictures()
    rows.columns["label"] = np.array([1, 0, 1, 0])
    assert from_huggingface(rows).label.tolist() == [1, 0, 1, 0]


def test_missing_split_is_reported(monkeypatch):
    fake = types.ModuleType("datasets")
    monkeypatch.setitem(sys.modules, "datasets", fake)
    fake.load_from_disk = lambda path: pictures(3)
    with pytest.raises(ValueError, match="somewhere is one dataset without a test split"):
        load("huggingface(path='somewhere')", split="test")
    fake.load_from_disk = lambda path: {"train": pictures(4), "tests": pictures(2)}
    with pytest.raises(ValueError, match=r"no split 'test', did you mean 'tests'\? \(known: train, tests\)"):
        load("huggingface(path='somewhere')", split="test")


@pytest.mark.parametrize("value", ["a text of words", None, ["a", "b"]])
def test_unusable_row_is_reported(value):
    rows = pictures()
    rows.columns["image"][2] = value
    with pytest.raises(ValueError, match="row 2: cannot use the value of column 'image'"):
        from_huggingface(rows).batch([0, 2, 3])


def test_undecodable_row_is_reported():
    class Undecodable(FakeDataset):
        def select_columns(self, names):
            return self

        def __getitem__(self, key):
            if not isinstance(key, str) and 3 in key:
                raise OSError("broken data stream")
            return super().__getitem__(key)

    whole = pictures()
    rows = Undecodable(whole.columns, whole.features)
    with pytest.raises(ValueError, match=r"row 3: .*OSError: broken data stream"):
        from_huggingface(rows).batch([1, 3])
    assert len(from_huggingface(rows).batch([1, 2]).input) == 2
