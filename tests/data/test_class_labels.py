"""Labels of the types that users have."""

import numpy as np
import pytest
import torch

from noiseproof.data.class_labels import as_class_numbers

KINDS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4", ">u2"]


@pytest.mark.parametrize("kind", KINDS)
def test_integers_of_any_size(kind):
    labels = np.array([3, 0, 100], kind)
    assert as_class_numbers(labels).tolist() == [3, 0, 100]
    assert as_class_numbers(labels[::-1]).tolist() == [100, 0, 3]
    assert as_class_numbers(labels).dtype == torch.int64
    if not kind.startswith(">"):
        assert as_class_numbers(torch.from_numpy(labels)).tolist() == [3, 0, 100]


def test_bools_lists_and_read_only_arrays():
    assert as_class_numbers(torch.tensor([True, False])).tolist() == [1, 0]
    assert as_class_numbers((2, 1)).tolist() == [2, 1]
    assert as_class_numbers(np.frombuffer(b"\x01\x02", np.uint8)).tolist() == [1, 2]
    assert as_class_numbers(range(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_integral_floats_are_refused_with_a_hint(make):
    with pytest.raises(TypeError, match=r"label\[0\] = 1\.0 is a float.*whole numbers.*astype\('int64'\)"):
        as_class_numbers(make([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"label\[1\] = 0\.5 .*not a whole number"):
        as_class_numbers(make([1.0, 0.5]))
    with pytest.raises(TypeError, match=r"label\[1\] = nan"):
        as_class_numbers(make([1.0, float("nan")]))


def test_text_and_missing_labels_are_refused():
    with pytest.raises(TypeError, match=r"label\[0\] = cat is a str.*class_names"):
        as_class_numbers(["cat", "dog"])
    with pytest.raises(TypeError, match=r"clean_label\[1\] = None is a NoneType"):
        as_class_numbers([1, None], "clean_label")


def test_invalid_shapes_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\).*argmax"):
        as_class_numbers(np.zeros((2, 3), int))
    with pytest.raises(ValueError, match=r"shape \(\)"):
        as_class_numbers(3)


def test_integers_beyond_int64_are_refused():
    with pytest.raises(ValueError, match=r"label\[1\] = 18446744073709551615"):
        as_class_numbers(np.array([0, 2**64 - 1], np.uint64))
