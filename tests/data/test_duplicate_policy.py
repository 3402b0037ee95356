"""Repeated inputs: warnings, errors, and how to turn them off."""

import re
import warnings

import numpy as np
import pytest
import torch

import noiseproof
from noiseproof.data import SOURCES, LabelledData, find_duplicates, load
from noiseproof.data.duplicates import is_cheap

ROWS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]])
AGREE, DIFFER = [0, 1, 0, 1], [0, 1, 0, 0]


@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_equal_inputs_with_different_labels_cause_a_warning():
    with pytest.warns(
        UserWarning, match=r"sample 13 repeats sample 11 \(labels 1 and 0\): .*find_dup"
    ) as seen:
        LabelledData(ROWS, DIFFER, index=[10, 11, 12, 13])
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert '"ignore"' in str(seen[0].message)


def test_warning_lists_the_first_duplicates_and_counts_all():
    with pytest.warns(UserWarning, match=r"sample 3 repeats sample 0 .*; and 6 more: "):
        LabelledData(torch.tensor([[1, 2]] * 10), list(range(10)))


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("inputs", "label"),
    [
        (ROWS, AGREE),
        (torch.zeros(4, 2), DIFFER),
        (np.full((4, 3, 2), 7), DIFFER),
        (torch.tensor([[1.0], [2.0], [1.0], [2.0]]), DIFFER),
    ],
)
def test_equal_labels_and_constant_inputs_cause_no_warning_by_default(inputs, label):
    data = LabelledData(inputs, label)
    assert find_duplicates(data)


def test_duplicates_beside_constant_inputs_are_found():
    inputs = torch.cat([torch.zeros(3, 2), ROWS])
    with pytest.warns(UserWarning, match=r"^sample 6 repeats sample 4 \(labels 1 and 0\): "):
        LabelledData(inputs, [0, 1, 1, *DIFFER])


@pytest.mark.usefixtures("silent")
def test_ignore_policy_is_silent():
    LabelledData(ROWS, DIFFER, duplicates="ignore").validate("ignore")


@pytest.mark.parametrize("label", [AGREE, DIFFER])
def test_warn_and_error_policies_cover_all_duplicates(label):
    with pytest.warns(
        UserWarning, match=r"sample 2 repeats sample 0 \(same label\); sample 3 repeats sample 1"
    ):
        LabelledData(ROWS, label, duplicates="warn")
    with pytest.raises(ValueError, match=r"sample 2 repeats sample 0 \(same label\)"):
        LabelledData(ROWS, label, duplicates="error")
    with pytest.raises(ValueError, match="sample 1 repeats sample 0"):
        LabelledData(torch.zeros(2, 1), [0, 1], duplicates="error")
    LabelledData(ROWS[:2], label[:2], duplicates="error")


def test_unknown_policy_is_refused_before_reading():
    with pytest.raises(ValueError, match="duplicates='warm' is unknown, choose one of ignore, warn, error"):
        LabelledData(ROWS, DIFFER, duplicates="warm")
    with pytest.raises(ValueError, match="duplicates='warm'"):
        load("cifar10", duplicates="warm")


def test_large_and_streamed_inputs_are_searched_only_on_request(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", ROWS.numpy())
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert is_cheap(ROWS)
    assert is_cheap(ROWS.numpy())
    assert not is_cheap(mapped)
    assert not is_cheap(torch.zeros(4, 2, device="meta"))
    monkeypatch.setattr("noiseproof.data.duplicates.CHEAP_BYTES", ROWS.nbytes - 1)
    assert not is_cheap(ROWS)
    monkeypatch.setattr("noiseproof.data.duplicates.CHEAP_BYTES", ROWS.nbytes)
    assert is_cheap(ROWS)
    monkeypatch.setattr("noiseproof.data.duplicates.CHEAP_SAMPLES", 3)
    assert not is_cheap(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LabelledData(ROWS, DIFFER)
        LabelledData(mapped, DIFFER)
    with pytest.raises(ValueError, match="sample 2 repeats sample 0"):
        LabelledData(mapped, DIFFER, duplicates="error")


def test_with_labels_does_not_search_for_duplicates():
    """Noise on clean duplicates causes no warning."""
    data = LabelledData(ROWS, AGREE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.with_labels(DIFFER).subset([0, 1, 3])
    with pytest.warns(UserWarning, match="sample 3 repeats sample 1"):
        data.with_labels(DIFFER).validate()


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,label\n1,2,0\n3,4,1\n1,2,1\n")
    return f"csv(path={path.as_posix()!r})"


def test_load_warns_once_and_accepts_the_keyword(table, tmp_path):
    for policy in (None, "warn"):
        with pytest.warns(UserWarning, match="sample 2 repeats sample 0") as seen:
            load(table, duplicates=policy)
        assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load(table, duplicates="ignore")
        load(data)
    for again in (table, data, table[:-1] + ", stream=True)"):
        with pytest.raises(ValueError, match=r"sample 2 repeats sample 0 \(labels 0 and 1\)"):
            load(again, root=tmp_path, duplicates="error")


def test_advice_of_the_warning_works(table, tmp_path):
    """The command line has only the spec."""
    with pytest.warns(UserWarning, match="sample 2 repeats sample 0") as seen:
        data = load(table)
    advised = re.findall(
        r'noiseproof\.data\.(\w+)\(data\)|csv\(path="rows.csv"(, .*)\)', str(seen[0].message)
    )
    (listed, _), (_, option) = advised
    assert len(getattr(noiseproof.data, listed)(data)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(table[:-1] + option + ")")
        load(table[:-1] + option + ", stream=True)", root=tmp_path)


def test_policy_in_the_spec_of_any_source(table):
    load('digits(duplicates="error")')
    with pytest.raises(ValueError, match="sample 2 repeats sample 0"):
        load(table[:-1] + ', duplicates="error")')
    with pytest.warns(UserWarning, match="sample 2 repeats sample 0"):
        load(table[:-1] + ', duplicates="error")', duplicates="warn")
    with pytest.raises(ValueError, match="duplicates='warm' is unknown, choose one of ignore, warn, error"):
        load('cifar10(duplicates="warm")')
    with pytest.raises(ValueError, match="csv has no option 'duplicate', did you mean 'duplicates'"):
        load(table[:-1] + ', duplicate="ignore")')


def test_warning_contains_class_names(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,label\n1,2,1\n3,4,2\n1,2,3\n")
    with pytest.warns(UserWarning, match=r"sample 2 repeats sample 0 \(labels 1 and 3\)"):
        load(f"csv(path={(tmp_path / 'a.csv').as_posix()!r})")


def test_load_restores_the_default_after_a_failure(monkeypatch):
    monkeypatch.setitem(SOURCES, "broken", lambda *, root, split: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load("broken", duplicates="ignore")
    with pytest.warns(UserWarning, match="sample 3 repeats sample 1"):
        LabelledData(ROWS, DIFFER)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("split", ["train", "test"])
def test_digits_have_no_duplicates(split):
    load("digits", split=split, duplicates="error")
