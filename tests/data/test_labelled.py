"""LabelledData: attributes, subsets and validation."""

import copy
import dataclasses
import random

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from noiseproof.data import Batch, LabelledData


def small(**options):
    inputs = torch.arange(12.0).reshape(4, 3)
    return LabelledData(inputs, [0, 1, 2, 1], clean_label=[0, 1, 2, 2], **options)


def test_batch_does_not_contain_clean_labels():
    batch = small().batch([2, 0])
    assert isinstance(batch, Batch)
    assert Batch._fields == ("input", "label", "index")
    assert batch.input.tolist() == [[6, 7, 8], [0, 1, 2]]
    assert batch.label.tolist() == [2, 0]
    assert batch.index.tolist() == [2, 0]
    assert batch.label.dtype == batch.index.dtype == torch.int64


def test_with_labels_shares_inputs_and_keeps_clean_labels():
    data = small()
    noisy = data.with_labels(torch.tensor([2, 2, 2, 2]))
    assert noisy.inputs is data.inputs
    assert noisy.label.tolist() == [2, 2, 2, 2]
    assert noisy.clean_label.tolist() == [0, 1, 2, 2]
    assert data.label.tolist() == [0, 1, 2, 1]
    assert data.with_labels([0] * 4, clean_label=[1] * 4).clean_label.tolist() == [1] * 4


def test_labels_are_copied():
    labels = np.array([0, 1, 2, 1])
    data = LabelledData(torch.zeros(4, 1), labels)
    labels[:] = 0
    assert data.label.tolist() == [0, 1, 2, 1]


def test_attributes_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        small().label = torch.zeros(4)


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_subsets_of_subsets_keep_permanent_indices(data):
    count = data.draw(st.integers(1, 30))
    whole = LabelledData(np.arange(count * 2).reshape(count, 2), np.arange(count), index=np.arange(count) * 7)
    part, expected = whole, np.arange(count)
    for _ in range(3):
        chosen = data.draw(st.lists(st.integers(0, max(len(part) - 1, 0)), unique=True)) if len(part) else []
        part, expected = part.subset(chosen), expected[np.array(chosen, int)]
    batch = part.batch(slice(None))
    assert batch.index.tolist() == (expected * 7).tolist()
    assert batch.label.tolist() == expected.tolist()
    assert batch.input[:, 0].tolist() == (expected * 2).tolist()
    assert part.num_classes == count
    assert len(part.inputs) == len(part)


def test_subset_shares_inputs():
    data = small()
    assert data.subset([1, 3]).subset([0]).inputs.base is data.inputs


@pytest.mark.parametrize(
    "change", ["plain", "reversed", "transposed", "read only", "big endian", "tensor", "cl"]
)
def test_batches_do_not_depend_on_memory_layout(change):
    array = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    made = {
        "plain": lambda: array,
        "reversed": lambda: array[::-1, :, ::-1].copy()[::-1, :, ::-1],
        "transposed": lambda: array.transpose(3, 2, 1, 0).copy().transpose(3, 2, 1, 0),
        "read only": lambda: np.frombuffer(array.tobytes(), np.float32).reshape(array.shape),
        "big endian": lambda: array.astype(">f4"),
        "tensor": lambda: torch.from_numpy(array),
        "cl": lambda: torch.from_numpy(array).to(memory_format=torch.channels_last),
    }[change]()
    batch = LabelledData(made, [0, 1]).batch([1, 0])
    assert batch.input.dtype == torch.float32
    assert torch.equal(batch.input, torch.from_numpy(array)[[1, 0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": [0, 1, 3]}, r"3 inputs|4 inputs and 3 labels"),
        (
            {"label": [0, 1, 2, 5], "class_names": list("abc")},
            r"label\[3\] = 5 is not a valid class: with 3 classes",
        ),
        ({"label": [0, -1, 2, 1]}, r"label\[1\] = -1 is not a valid class"),
        ({"label": [0, 1, 2, 1], "clean_label": [0, 1]}, "clean_label has 2 entries for 4"),
        (
            {"label": [0, 1, 2, 1], "clean_label": [0, 9, 1, 1], "class_names": list("abc")},
            r"clean_label\[1\] = 9",
        ),
        ({"label": [0, 1, 2, 1], "groups": [0, 1]}, "groups has 2 entries for 3 classes"),
        ({"label": [0, 1, 2, 1], "index": [0, 1]}, "index has 2 entries for 4"),
        ({"label": [0, 1, 2, 1], "index": [5, 1, 5, 2]}, "index contains 5"),
        ({"label": [0, 1, 2, 1], "index": [5, -1, 6, 2]}, "index contains -1"),
        ({"label": []}, "no samples"),
    ],
)
def test_invalid_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LabelledData(torch.zeros(4, 2), **options)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "make", [torch.from_numpy, lambda array: array, lambda a: torch.from_numpy(a).half()]
)
def test_first_non_finite_input_is_reported(bad, make, monkeypatch):
    monkeypatch.setattr("noiseproof.data.inputs.CHUNK", 8)
    array = np.zeros((9, 4), np.float32)
    array[7, 2] = array[8, 0] = bad
    with pytest.raises(ValueError, match=f"input of sample 7 contains {bad}"):
        LabelledData(make(array), [0, 1, 1, 1, 1, 1, 1, 1, 1])


def test_empty_classes_cause_a_warning():
    with pytest.warns(UserWarning, match=r"no sample has the label 1 \(b\), 3 \(d\)$") as caught:
        data = LabelledData(torch.zeros(2, 1), [0, 2], class_names=list("abcd"))
    assert data.num_classes == 4
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="and 88 more"):
        LabelledData(torch.zeros(2, 1), [0, 99])
    data.subset([0])


def test_with_labels_validates():
    with pytest.raises(ValueError, match=r"label\[2\] = 3 is not a valid class"):
        small().with_labels([0, 1, 3, 1])
    with pytest.raises(ValueError, match="label has 3 entries for 4"):
        small().with_labels([0, 1, 2])


@pytest.mark.parametrize("inputs", ["text", b"text", 5, None, {1, 2}])
def test_other_types_of_inputs_are_refused(inputs):
    with pytest.raises(TypeError, match="inputs"):
        LabelledData(inputs, [0, 1])


@pytest.mark.parametrize(
    "inputs",
    [
        ["good film", "bad film"],
        np.array(["good film", "bad film"]),
        pd.Series(["good film", "bad film"]),
        pd.DataFrame({"a": [1, None], "b": ["x", "y"]}),
        {"a": [1, 2], "b": ["x", "y"]},
        [{"a": 1, "b": "x"}, {"a": 2}],
        csr_matrix(np.eye(2)),
    ],
)
def test_tables_texts_and_sparse_matrices_are_inputs(inputs):
    data = LabelledData(inputs, ["no", "yes"])
    assert data.is_raw
    assert data.class_names == ("no", "yes")
    part = data.subset([1])
    encoded = part.encoded(data.fit_features())
    assert not encoded.is_raw
    assert encoded.sample_shape == data.sample_shape
    assert torch.equal(encoded.inputs, data.batch([1]).input)
    assert len(encoded.subset([0]).raw) == 1


def test_lists_of_numbers_are_arrays():
    assert LabelledData([[1, 2], [3, 4]], [0, 1]).batch([1]).input.tolist() == [[3, 4]]


def test_labels_of_any_type_define_class_names():
    inputs = torch.rand(3, 2)
    data = LabelledData(inputs, pd.Categorical(["b", "a", "c"]), clean_label=["b", "c", "b"])
    assert data.class_names == ("a", "b", "c")
    assert (data.label.tolist(), data.clean_label.tolist()) == ([1, 0, 2], [1, 2, 1])
    assert data.with_labels(["c", "c", "a"]).label.tolist() == [2, 2, 0]
    with pytest.raises(ValueError, match=r"label\[1\] = 'x' is not one of the classes a, b, c"):
        data.with_labels(["c", "x", "a"])
    assert LabelledData(inputs, [True, False, True]).class_names == ("False", "True")
    assert LabelledData(inputs, [1.0, 0.0, 1.0]).label.tolist() == [1, 0, 1]
    assert LabelledData(inputs, ["y", "x", "y"], class_names=["y", "x"]).label.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match=r"label\[1\] is missing \(None\)"):
        LabelledData(inputs, ["y", None, "y"])


def test_table_that_contains_its_labels_is_refused():
    table = pd.DataFrame({"a": [1, 2], "kind": ["x", "y"]})
    with pytest.raises(ValueError, match=r"contain the column of labels 'kind': .*drop\(columns='kind'\)"):
        LabelledData(table, table["kind"])


def test_scalar_inputs_are_refused():
    with pytest.raises(ValueError, match="scalar"):
        LabelledData(torch.tensor(1.0), [0])


def test_validate_can_be_repeated():
    data = small()
    data.validate()
    data.inputs[3, 1] = float("nan")
    with pytest.raises(ValueError, match="sample 3"):
        data.validate()


def test_to_moves_all_tensors_to_a_device():
    data = small().subset([3, 1]).to("cpu")
    assert isinstance(data.inputs, torch.Tensor)
    assert data.inputs.tolist() == [[9, 10, 11], [3, 4, 5]]
    assert data.index.tolist() == [3, 1]
    assert data.clean_label.tolist() == [2, 1]
    meta = small().to("meta").batch(torch.tensor([1], device="meta"))
    assert meta.input.shape == (1, 3)
    assert small().batch([0], device="meta").label.device.type == "meta"


def test_repr():
    data = small(name="tiny")
    assert repr(data) == "LabelledData(tiny: 4 samples, 3 classes)"
    assert data.sample_shape == (3,)
    assert data.class_names == ("0", "1", "2")


def test_global_random_state_is_unchanged():
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    copy.copy(small()).subset([1]).batch([0])
    assert torch.equal(states[0], torch.get_rng_state())
    assert (states[1] == np.random.get_state()[1]).all()
    assert states[2] == random.getstate()


def test_messages_include_the_permanent_index():
    index = [10, 11, 12, 13]
    with pytest.raises(ValueError, match=r"label\[2\] = 5 is not a valid class.*\(position 2 is sample 12\)"):
        LabelledData(torch.zeros(4, 1), [0, 1, 5, 1], class_names=["a", "b"], index=index)
    inputs = torch.zeros(4, 1)
    inputs[3] = float("nan")
    with pytest.raises(ValueError, match=r"input of sample 13 \(at position 3\) contains nan"):
        LabelledData(inputs, [0, 1, 1, 1], index=index)
    with pytest.raises(ValueError, match=r"\(position 1 is sample 3\)"):
        small().subset([2, 3]).with_labels([0, 9])


def test_subset_positions_are_unique_but_batch_positions_may_repeat():
    with pytest.raises(ValueError, match="position 2 occurs 3 times"):
        small().subset([0, 2, 1, 2, 2])
    assert small().batch([0, 0]).index.tolist() == [0, 0]
    assert len(small().subset([])) == 0


@pytest.mark.parametrize("what", ["label", "clean_label"])
def test_label_that_is_an_id_is_refused(what):
    labels = {"label": [0, 1], "clean_label": [0, 1]} | {what: [0, 10**12]}
    with pytest.raises(ValueError, match=rf"^{what}\[1\] = 1000000000000 .*an id\?.*pass class_names"):
        LabelledData(torch.zeros(2, 1), **labels)
    with pytest.raises(ValueError, match="position 1 is sample 8"):
        LabelledData(torch.zeros(2, 1), **labels, index=[3, 8])


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        ("cat", TypeError, "class_names is the text 'cat'"),
        (["cat", 3], TypeError, r"class_names\[1\] = 3 must be a string"),
        (["cat", "dog", "cat"], ValueError, r"class_names\[0\] and class_names\[2\] are both 'cat'"),
    ],
)
def test_class_names_must_be_unique_strings(names, kind, message):
    with pytest.raises(kind, match=message):
        LabelledData(torch.zeros(2, 1), [0, 1], class_names=names)
