"""Classes of a table, read at once or streamed, for training and test rows."""

import warnings

import pytest

from noiseproof.data import load


def tables(folder, stream, **labels):
    """One table per split with these labels, and a spec for them."""
    for split, column in labels.items():
        lines = [f"{number},{number * number},{label}" for number, label in enumerate(column)]
        (folder / f"{split}.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    return f"csv(path={(folder / '{split}.csv').as_posix()!r}, stream={stream})"


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param


@pytest.mark.parametrize(
    ("labels", "names", "numbers"),
    [
        ([0, 2, 1, 2], "012", [0, 2, 1, 2]),
        ([1, 2, 3, 1], "123", [0, 1, 2, 0]),
        ([5, 0, 2, 5], "025", [2, 0, 1, 2]),
        (["01", "02", "01"], "12", [0, 1, 0]),
        (["True", "False", "True"], ("False", "True"), [1, 0, 1]),
        (["TRUE", "TRUE", "TRUE"], ("True",), [0, 0, 0]),
        (["b", "1", "a"], "1ab", [2, 0, 1]),
    ],
)
def test_classes_are_the_unique_labels(labels, names, numbers, stream, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load(tables(tmp_path, stream, train=labels), root=tmp_path)
    assert data.class_names == tuple(names)
    assert data.label.tolist() == numbers


def test_numeric_labels_are_sorted_numerically(stream, tmp_path):
    data = load(tables(tmp_path, stream, train=[10, 9, 100, 9]), root=tmp_path)
    assert data.class_names == ("9", "10", "100")
    assert data.label.tolist() == [1, 0, 2, 0]


def test_test_rows_use_the_training_class_numbers(stream, tmp_path):
    spec = tables(tmp_path, stream, train=[1, 2, 3, 5], test=[5, 3])
    with pytest.warns(UserWarning, match=r"no sample has the label 0 \(1\), 1 \(2\)"):
        data = load(spec, root=tmp_path, split="test")
    assert data.class_names == load(spec, root=tmp_path).class_names == ("1", "2", "3", "5")
    assert data.label.tolist() == [3, 2]


@pytest.mark.parametrize("stray", [0, 4, 6, -1, 2**63])
def test_label_not_in_training_is_refused(stray, stream, tmp_path):
    spec = tables(tmp_path, stream, train=[1, 2, 3, 5], test=[1, stray])
    with pytest.raises(
        ValueError, match=rf"test\.csv: row 1 has the label {stray} in 'label', which is not a class"
    ):
        load(spec, root=tmp_path, split="test")


def test_clean_labels_define_classes(tmp_path):
    (tmp_path / "a.csv").write_text("a,label,truth\n1,2,3\n2,5,5\n3,2,2\n")
    with pytest.warns(UserWarning, match=r"no sample has the label 1 \(3\)"):
        data = load(f"csv(path={(tmp_path / 'a.csv').as_posix()!r}, clean_label='truth')")
    assert data.class_names == ("2", "3", "5")
    assert (data.label.tolist(), data.clean_label.tolist()) == ([0, 2, 0], [1, 2, 0])


def test_invalid_labels_are_refused(stream, tmp_path):
    with pytest.raises(ValueError, match="row 1 has the label -1 in 'label', below 0: leave the row out if"):
        load(tables(tmp_path, stream, train=[1, -1, 2]), root=tmp_path)
    with pytest.raises(TypeError, match=r"labels in 'label' have fractions, such as 2\.5: use integers or"):
        load(tables(tmp_path, stream, train=["1.0", "2.5", "3.0"]), root=tmp_path)


def test_integral_floats_and_minus_one_one_are_labels(stream, tmp_path):
    data = load(tables(tmp_path, stream, train=["1.0", "2.0", "3.0"]), root=tmp_path)
    assert data.class_names == ("1", "2", "3")
    data = load(tables(tmp_path, stream, train=[1, -1, 1]), root=tmp_path)
    assert (data.class_names, data.label.tolist()) == (("-1", "1"), [1, 0, 1])
