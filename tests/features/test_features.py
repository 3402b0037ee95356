"""Features: accepted inputs, matrices and stored state."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix

from noiseproof.features import Features
from noiseproof.features.store import ARRAYS, FACTS, load_features, save_features

CELLS = {
    "text": st.one_of(st.none(), st.text(max_size=12)),
    "words": st.lists(st.sampled_from(["good", "bad", "ä", "電影", "🙂"]), max_size=7).map(" ".join),
    "number": st.one_of(st.none(), st.floats(width=64), st.integers(-(10**20), 10**20)),
    "decimal": st.one_of(
        st.none(), st.floats(-1e6, 1e6).map(lambda x: f"{x:.2f}".replace(".", ",")), st.just("n/a")
    ),
    "bool": st.one_of(st.none(), st.booleans()),
    "date": st.one_of(st.none(), st.dates().map(str), st.datetimes().map(str)),
    "mixed": st.one_of(st.none(), st.integers(), st.text(max_size=3), st.booleans(), st.binary(max_size=2)),
    "nothing": st.none(),
}


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    columns = {
        f"{kind} {at}": draw(st.lists(CELLS[kind], min_size=rows, max_size=rows))
        for at, kind in enumerate(kinds)
    }
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def copy_of(features):
    facts, arrays = features.state()
    return Features.from_state(
        json.loads(json.dumps(facts)), {name: array.copy() for name, array in arrays.items()}
    )


def check(features, X):
    """Check all documented properties of the matrices of X."""
    again = copy_of(features)
    matrix = features.transform(X)
    assert (matrix.dtype, matrix.ndim, matrix.flags.c_contiguous) == (np.float32, 2, True)
    assert np.isfinite(matrix).all()
    assert matrix.shape[1] == len(features.names) == len(set(features.names))
    assert np.array_equal(matrix, again.transform(X))
    assert features.numeric(X).shape == matrix.shape
    assert np.array_equal(features.numeric(X), again.numeric(X), equal_nan=True)
    assert (again.kind, again.names, again.left_out) == (features.kind, features.names, features.left_out)
    found = features.sparse(X)
    assert (found is None) == (features.kind not in ("text", "sparse"))
    if found is not None:
        assert isinstance(found, csr_matrix)
        assert (found != again.sparse(X)).nnz == 0
    return matrix


@given(table=tables(), other=tables())
@settings(deadline=None, max_examples=25)
def test_any_table(table, other):
    features = Features()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            features.fit(table)
        except ValueError as problem:
            assert "all columns of X are empty" in str(problem)  # noqa: PT017
            return
    check(features, table)
    new = dict.fromkeys(table.columns, other.iloc[:, 0])
    check(features, pd.DataFrame(new))


@given(st.lists(st.one_of(st.none(), st.text(max_size=30)), min_size=1, max_size=15), st.text(max_size=9))
@settings(deadline=None, max_examples=20)
def test_any_texts(texts, other):
    features = Features()
    if not any(isinstance(text, str) for text in texts) or not any(text and text.strip() for text in texts):
        with pytest.raises(ValueError, match=r"empty|shape"):
            features.fit(texts)
        return
    assert features.fit(texts).kind == "text"
    check(features, texts)
    check(features, [other, ""])


@pytest.mark.parametrize(
    ("X", "kind", "names"),
    [
        (np.array([[1.0, 2], [3, np.nan]]), "numbers", ["x0", "x1", "x1 is missing"]),
        (torch.tensor([[1, 2], [3, 5]]), "numbers", ["x0", "x1"]),
        (torch.tensor([[1, 2], [3, 5]], dtype=torch.bfloat16), "numbers", ["x0", "x1"]),
        (np.ma.array([[1, 2], [3, 5]]), "numbers", ["x0", "x1"]),
        (np.ma.array([[1, 2], [3, 5]], mask=[[0, 0], [0, 1]]), "numbers", ["x0", "x1", "x1 is missing"]),
        (np.ma.array(["a", "b"], mask=[0, 1]), "text", ["text:  a "]),
        ([[1, "a"], [2, "b"]], "table", ["0", "1=a", "1=b"]),
        ({"a": [1, 2], "b": [True, False]}, "numbers", ["a", "b"]),
        ([{"a": 1}, {"a": None}], "numbers", ["a", "a is missing"]),
        (pd.DataFrame({"a": pd.Categorical([2, 1])}), "table", ["a=1", "a=2"]),
        (pd.DataFrame({"a": [1]}), "numbers", ["a"]),
        (pd.Series([1.5, 2]), "numbers", ["x"]),
        (np.zeros((3, 2, 2), np.uint8), "images", ["x0", "x1", "x2", "x3"]),
        (coo_matrix(np.eye(3)), "sparse", ["component 0", "component 1", "component 2"]),
    ],
)
def test_kinds_of_input(X, kind, names):
    features = Features()
    features.fit(X)
    assert (features.kind, features.names) == (kind, names)
    check(features, X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "no rows"),
        (np.arange(3), r"shape \(3,\): expected one row per sample"),
        ([[1, 2], [3]], "different lengths"),
        (["", None, " "], "all texts of X are empty"),
        ({"a": [None, None]}, "all columns of X are empty"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' occurs more than once"),
        (np.zeros((3, 0)), "no features"),
        (pd.DataFrame({"a": []}), "no rows"),
    ],
)
def test_unusable_inputs_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        Features().fit(X)


@pytest.mark.parametrize("odd", [7, b"text"])
def test_list_of_texts_with_another_value_is_refused(odd):
    with pytest.raises(TypeError, match=rf"X\[2\] is {odd!r}: expected texts only"):
        Features().fit(["a text", None, odd])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_texts_may_be_missing(missing):
    assert Features().fit(["a text", missing, "another"]).kind == "text"


@pytest.mark.parametrize("X", [None, "text", 5, np.array([[1j]]), pd.DataFrame({"a": [1j, 2j]})])
def test_other_types_are_refused(X):
    with pytest.raises(TypeError, match=r"expected|complex"):
        Features().fit(X)


@pytest.mark.filterwarnings("ignore:not used as features")
def test_transform_of_new_rows():
    table = pd.DataFrame(
        {
            "age": [20.0, 30, 41],
            "city": ["Oslo", "Rome", "Rome"],
            "day": ["2020-01-01", "2021-05-05", "2022-02-02"],
        }
    )
    features = Features().fit(table)
    whole = features.transform(table)
    assert np.array_equal(features.transform(table[["day", "city", "age"]].assign(extra=1)), whole)
    assert np.array_equal(features.transform(table.to_numpy()), whole), "without names, by position"
    strange = pd.DataFrame(
        {"age": ["n/a", "30,5", None], "city": ["Paris", None, 5], "day": ["soon", None, 3]}
    )
    names = features.names
    found = check(features, strange)
    with pytest.warns(UserWarning, match=r"'age' \(a number .* '30,5'\), 'day' \(a date .* 'soon'\)"):
        features.warn_of_unreadable(strange)
    assert (found[:, [at for at, name in enumerate(names) if name.startswith("city")]] == 0).all()
    with pytest.raises(
        ValueError, match=r"^X has no column 'age', 'day', which was used in training; its columns are: city$"
    ):
        features.transform(table[["city"]])
    with pytest.raises(ValueError, match="not fitted"):
        Features().transform(table)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_texts_for_a_model_of_numbers_are_named(kind):
    features = Features().fit(kind([[1.0, 2.5], [3.0, 4.5]]))
    with pytest.warns(UserWarning, match=r"missing: columns '1' \(a number in training, now 'b'\)$"):
        features.warn_of_unreadable([["1", "b"], ["2", "d"]])
    features.warn_of_unreadable([["1", "2"], ["3", "4"]])


@pytest.mark.parametrize(
    ("X", "where"),
    [
        (np.array([[1, np.inf], [2, 3]]), ""),
        (pd.DataFrame({"a": [1, 2], "b": [-np.inf, 3], "t": ["x", "y"]}), ": columns 'b'"),
        (csr_matrix([[0, np.inf], [2, 3]]), ""),
        (np.array([[[1, np.inf], [2, 3]], [[4, 5], [6, 7]]]), ""),
    ],
)
def test_infinite_values_are_named(X, where):
    features = Features().fit(X)
    with pytest.warns(UserWarning, match=f"^infinite values of X are read as missing{where}$"):
        features.warn_of_unreadable(X)


def test_structured_arrays_are_refused():
    with pytest.raises(TypeError, match=r"X is a structured array: pass pd.DataFrame\(X\)"):
        Features().fit(np.array([(1.0, 2)] * 3, dtype=[("a", float), ("b", int)]))


def test_numeric_returns_unstandardised_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(1000, 5, 500), "b": rng.exponential(2, 500)})
    table.loc[0, "b"] = 1e12
    table.loc[1, "a"] = None
    features = Features()
    matrix = features.fit_transform(table)
    assert np.abs(matrix[:, :2]).max() <= 8
    assert np.allclose(matrix[2:, :2].mean(0), 0, atol=0.1)
    assert np.allclose(matrix[2:, :2].std(0), 1, atol=0.25)
    assert matrix[:2, features.names.index("a is missing")].tolist() == [0, 1]
    plain = features.numeric(table)
    assert np.isnan(plain[1, 0])
    assert plain[2, 0] == np.float32(table["a"][2])


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e40, 1e300])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, csr_matrix, lambda X: X.reshape(-1, 2, 2)])
def test_features_do_not_depend_on_the_unit_of_the_numbers(kind, factor):
    X = np.random.default_rng(0).normal(size=(50, 4))
    matrix = Features().fit_transform(kind(X))
    assert np.allclose(check(Features().fit(kind(X * factor)), kind(X * factor)), matrix, atol=1e-4)


def test_text_components_have_a_common_scale():
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(200)])
    texts = [" ".join(rng.choice(words[:100] if row % 2 else words[100:], 20)) for row in range(300)]
    matrix = Features(dimensions=20).fit_transform(texts)
    spread = matrix.std(0)
    assert np.sqrt((matrix**2).mean()) == pytest.approx(1, abs=0.05)
    assert spread.max() > 1.5 * spread.min(), "columns are not standardised one by one"
    groups = matrix[::2].mean(0) - matrix[1::2].mean(0)
    assert np.linalg.norm(groups) > 2


def test_fit_uses_training_rows_only():
    train, new = {"a": [1.0, 2, 3], "b": ["x", "y", "x"]}, {"a": [1e6, None, 5], "b": ["z", "z", None]}
    features = Features().fit(train)
    before = json.dumps(features.state()[0])
    features.transform(new)
    assert json.dumps(features.state()[0]) == before
    assert features.names == ["a", "b=x", "b=y"]


def test_images_have_one_common_scale():
    images = np.random.default_rng(0).integers(0, 255, (20, 4, 4), dtype=np.uint8)
    images[:, 0, 0] = 7
    matrix = Features().fit_transform(images)
    assert matrix.shape == (20, 16)
    assert (matrix[:, 0] == matrix[0, 0]).all()
    assert matrix.std() == pytest.approx(1, abs=1e-5)
    with pytest.raises(ValueError, match=r"shape \(3, 3\), but \(4, 4\) in training"):
        Features().fit(images).transform(np.zeros((1, 3, 3)))


def test_state_round_trips(tmp_path):
    features = Features().fit(
        {"a": ["1,5", "2", None], "t": ["ein Text hier drin", "noch ein Text hier", "vier Wörter sind da"]}
    )
    save_features(tmp_path, features)
    assert sorted(path.name for path in tmp_path.iterdir()) == [FACTS, ARRAYS]
    again = load_features(tmp_path)
    new = {"a": ["3,25"], "t": ["ein Wort"]}
    assert np.array_equal(again.transform(new), features.transform(new))
    (tmp_path / ARRAYS).write_bytes(b"garbage")
    with pytest.raises(ValueError, match=f"cannot read .*{ARRAYS}"):
        load_features(tmp_path)
    (tmp_path / FACTS).write_text('{"version": 9}')
    with pytest.raises(ValueError, match="cannot read"):
        load_features(tmp_path)
    assert load_features(tmp_path / "nowhere") is None


def test_embeddings_from_a_local_folder(tmp_path, monkeypatch):
    class Model:
        def __init__(self, folder, local_files_only):
            assert local_files_only

        def encode(self, texts, **_):
            return np.array([[len(text), text.count("e"), 1.0] for text in texts])

    monkeypatch.setitem(
        __import__("sys").modules, "sentence_transformers", type("M", (), {"SentenceTransformer": Model})
    )
    texts = ["one", "three eels", "", "seven"]
    features = Features(embedding=str(tmp_path))
    matrix = features.fit_transform(texts)
    assert features.names == ["text: 0", "text: 1", "text: 2"]
    assert np.corrcoef(matrix[:, 0], [3, 10, 0, 5])[0, 1] > 0.999
    check(features, texts)
    with pytest.raises(ValueError, match=r"nowhere' is not a folder: .*nothing is downloaded"):
        Features(embedding="nowhere").fit(texts)
