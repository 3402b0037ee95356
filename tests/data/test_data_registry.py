"""Loading of data by spec."""

import subprocess
import sys

import pytest
import torch

from noiseproof.data import SOURCES, DataMissingError, LabelledData, load

PUBLISHED = ["digits", "mnist", "cifar10", "cifar100", "cifar_n", "vehicles10"]
REAL_WORLD = ["clothing1m", "webvision", "animal10n", "food101n", "mars"]
EXPECTED = [*PUBLISHED, "folder", "csv", "parquet", "arrays", "npz", "huggingface", *REAL_WORLD]


def test_sources_are_registered():
    assert list(SOURCES) == EXPECTED
    assert type(SOURCES) is dict


def test_labelled_data_is_returned_unchanged():
    data = LabelledData(torch.zeros(2, 1), [0, 1])
    assert load(data) is data


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cifar11", r"unknown source 'cifar11', did you mean 'cifar10'\?"),
        ("cifar_n(kin='worse')", r"cifar_n has no option 'kin', did you mean 'kind'\?"),
        ("cifar10(root='x')", "cifar10 has no option 'root'"),
        ("folder", r'folder needs path=..., as in folder\(path="..."\)'),
        ("cifar_n(kind='worst')", "kind='worst' is unknown, choose one of aggre"),
        ("huggingface", "give a dataset"),
    ],
)
def test_invalid_arguments_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        load(spec)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "cifar100", "cifar_n", "vehicles10"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_missing_data_error_has_instructions(name, split, tmp_path):
    needed = {"cifar_n": "cifar10", "vehicles10": "cifar100"}.get(name, name)
    with pytest.raises(DataMissingError, match=f"noiseproof data get {needed}\n"):
        load(name, root=tmp_path, split=split)


@pytest.mark.parametrize("name", PUBLISHED)
def test_splits_are_checked(name, tmp_path):
    with pytest.raises(ValueError, match="split='validation' is unknown"):
        load(name, root=tmp_path, split="validation")


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="got list"):
        load(["digits"])


def test_registered_source_of_the_user(monkeypatch):
    def mine(*, root, split, count=2):
        return LabelledData(torch.zeros(count, 1), list(range(count)), name=split)

    monkeypatch.setitem(SOURCES, "mine", mine)
    assert repr(load("mine(count=3)", split="test")) == "LabelledData(test: 3 samples, 3 classes)"


def test_import_does_not_load_optional_packages():
    heavy = "{'pandas', 'sklearn', 'PIL', 'datasets', 'pooch', 'matplotlib', 'torchvision'}"
    code = f"import sys, noiseproof.data; assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


@pytest.mark.parametrize(
    ("path", "meant"),
    [("my rows.csv", "csv"), ("a/b.Parquet", "parquet"), ("x.npz", "npz"), ("photos/train", "folder")],
)
def test_path_without_a_source_suggests_the_spec(path, meant):
    with pytest.raises(ValueError, match=rf"is a path, not a source: write {meant}\(path=\"{path}\"\)"):
        load(path)
