"""Find wrong labels in tables, texts and images by cross-fitting."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder

from noiseproof import NoiseproofClassifier, labels
from noiseproof.data import LabelledData, load
from noiseproof.labels.cross_fit_models import CROSS_FIT_MODELS, MANY_ROWS


def table(rows=300, rate=0.2, seed=0):
    """A table of numbers, categories, texts and missing values; its labels; which labels are wrong."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "size": clean * 2 + rng.normal(0, 0.7, rows),
            "colour": np.where(rng.random(rows) < 0.8, np.array(["red", "green", "blue"])[clean], "grey"),
            "note": [f"seen {('early', 'late', 'never')[k]} today" for k in clean],
        }
    )
    frame.loc[rng.random(rows) < 0.1, "size"] = np.nan
    wrong = rng.random(rows) < rate
    names = np.array(["ant", "bee", "cat"])
    return frame, names[np.where(wrong, (clean + 1) % 3, clean)], wrong


def precision(found, wrong):
    return average_precision_score(wrong, found.wrong_probability)


def test_wrong_labels_in_mixed_table_are_found():
    frame, given, wrong = table()
    found = labels.find(frame, label=given, folds=3)
    assert found.attrs["class_names"] == ["ant", "bee", "cat"]
    assert precision(found, wrong) > 0.95
    assert found.attrs["noise_rate"] == pytest.approx(wrong.mean(), abs=0.05)
    assert found.attrs["expected_wrong"] == pytest.approx(found.wrong_probability[found.is_label_issue].sum())
    assert not found.attrs["weak"]
    assert (found["index"] == np.arange(300)).all()


@pytest.mark.parametrize("rows", [1, 3])
def test_misspelt_class_names_change_few_suspects_in_other_rows(rows):
    data, clean = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    given = np.array(["a", "b", "c"])[np.where(rng.random(150) < 0.15, (clean + 1) % 3, clean)]
    before = labels.find(data, label=given, model=["linear", "trees"])
    given[rng.choice(150, 3 * rows, replace=False)] = np.repeat(["x", "y", "z"], rows)
    after = labels.find(data, label=given, model=["linear", "trees"])
    known = np.isin(given, ["a", "b", "c"])
    assert (before.is_label_issue == after.is_label_issue)[known].mean() > 0.93


@pytest.mark.parametrize("index", [range(7, 307), [3] * 300, [f"row {k}" for k in range(300)]])
def test_findings_have_the_index_of_the_data(index):
    frame, given, wrong = table()
    frame.index = index
    found = labels.find(frame, label=given, model="linear")
    assert found.index.equals(frame.index)
    assert (found["index"] == np.arange(300)).all()
    assert precision(found, wrong) > 0.9
    found = labels.find(frame[["size"]].to_numpy(), label=pd.Series(given, index), model="linear")
    assert found.index.equals(frame.index)


def test_class_names_that_differ_in_case_warn():
    frame, given, _ = table(60)
    given[:20] = np.char.upper(given[:20])
    with pytest.warns(UserWarning, match="label: classes whose names differ only in spaces or case: 'ANT'"):
        labels.find(frame, label=given, model="linear")


@pytest.mark.parametrize("missing", ["nan", "NA", "", "  "])
def test_class_names_that_look_like_missing_labels_warn(missing):
    frame, given, _ = table(60)
    given = given.astype(object)
    given[:5] = missing
    with pytest.warns(UserWarning, match=f"label: {missing!r} is a class that looks like missing labels"):
        labels.find(frame, label=given, model="linear")


def test_wrong_labels_of_texts_are_found():
    rng = np.random.default_rng(1)
    words = [["sea", "boat", "fish", "wave"], ["tree", "leaf", "wood", "root"]]
    clean = rng.integers(0, 2, 200)
    texts = [" ".join(rng.choice(words[k], 6)) + f" {rng.integers(100)}" for k in clean]
    wrong = rng.random(200) < 0.15
    found = labels.find(texts, label=(clean ^ wrong).astype(bool), folds=3)
    assert precision(found, wrong) > 0.95
    assert found.attrs["class_names"] == ["False", "True"]


@pytest.mark.parametrize(
    "model", ["linear", ["trees", "neighbours"], LogisticRegression(), GaussianNB(), KNeighborsClassifier(5)]
)
def test_model_names_and_estimators_are_accepted(model):
    frame, given, wrong = table()
    assert precision(labels.find(frame[["size", "colour"]], label=given, model=model, folds=3), wrong) > 0.6


def test_labelled_data_keeps_index_and_order():
    frame, given, wrong = table(150)
    data = LabelledData(frame[["size"]].fillna(0).to_numpy(np.float32), given)
    part = data.subset(np.arange(140)[::-1].copy())
    found = labels.find(part, model="trees")
    assert found["index"].tolist() == list(range(140))[::-1]
    assert precision(found, wrong[:140][::-1]) > 0.4


@pytest.mark.slow
def test_same_seed_gives_same_findings():
    frame, given, _ = table(120)
    first, second = (labels.find(frame, label=given, seed=5) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.slow
def test_network_finds_wrong_labels():
    digits = load_digits()
    rng = np.random.default_rng(0)
    wrong = rng.random(600) < 0.2
    given = np.where(wrong, (digits.target[:600] + 1) % 10, digits.target[:600])
    data = LabelledData(digits.images[:600, None].astype(np.float32) / 16, given)
    assert precision(labels.find(data, model="mlp", folds=3), wrong) > 0.9


def test_network_accepts_subsets_and_csv_files(monkeypatch, tmp_path):
    monkeypatch.setattr("noiseproof.labels.networks.default_epochs", lambda rows: 2)
    table(60)[0].assign(kind=table(60)[1]).to_csv(tmp_path / "rows.csv", index=False)
    selection = load("digits").subset(np.arange(60))
    for data in (selection, load(f'csv(path="{tmp_path / "rows.csv"}", label="kind")')):
        found = labels.find(data, model="mlp(hidden=8)", folds=2)
        assert found.predicted_label.between(0, data.num_classes - 1).all()


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3), (3, 8, 8)])
def test_network_reads_arrays_of_images(monkeypatch, shape):
    monkeypatch.setattr("noiseproof.labels.networks.default_epochs", lambda rows: 1)
    images = np.random.default_rng(0).integers(0, 255, (30, *shape), np.uint8)
    found = labels.find(images, label=np.arange(30) % 2, model="cnn4", folds=2)
    assert len(found) == 30


def test_groups_prevent_leakage_between_folds():
    """One nearest neighbour repeats the label of a near-duplicate, unless groups keep both in one fold."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(60, 4)), 2, axis=0) + rng.normal(0, 1e-3, (120, 4))
    given = np.repeat(rng.integers(0, 2, 60), 2)
    leaked = labels.find(rows, label=given, model=KNeighborsClassifier(1), folds=4)
    grouped = labels.find(
        rows, label=given, model=KNeighborsClassifier(1), folds=4, groups=np.arange(120) // 2
    )
    agrees = [(found.given_label == found.predicted_label).mean() for found in (leaked, grouped)]
    assert leaked.wrong_probability.mean() < grouped.wrong_probability.mean() or agrees[0] > agrees[1]


def test_invalid_arguments_raise():
    frame, given, _ = table(30)
    with pytest.raises(ValueError, match="model 'forest' is unknown, choose among linear, trees"):
        labels.find(frame, label=given, model=["forest"])
    with pytest.raises(ValueError, match=r"unknown model .forest..*trees, network, neighbours, kernel, mlp"):
        labels.find(frame, label=given, model="forest")
    with pytest.raises(TypeError, match="has no fit and predict_proba"):
        labels.find(frame, label=given, model=object())
    with pytest.raises(ValueError, match="all labels are 'ant'"):
        labels.find(frame, label=["ant"] * 30)
    with pytest.raises(ValueError, match="30"):
        labels.find(frame, label=given[:29])
    with pytest.raises(ValueError, match="folds=0 is out of range: choose 2 to 30"):
        labels.find(frame, label=given, folds=0)
    for options, kind, message in (
        ({"model": []}, ValueError, r"model=\[\] names no model: choose among linear"),
        ({"folds": "3"}, TypeError, "folds='3' must be a whole number"),
        ({"folds": 2.5}, TypeError, r"folds=2\.5 must be a whole number"),
        ({"seed": -1}, ValueError, "seed=-1 must be at least 0"),
        (
            {"groups": [[1, 2]] * 30},
            TypeError,
            r"groups must hold one number or text .* groups\[0\] is \[1, 2\]",
        ),
    ):
        with pytest.raises(kind, match=message):
            labels.find(frame, label=given, **options)
    with pytest.raises(TypeError, match=r"label is 'kind': .*, such as table\['kind'\]"):
        labels.find(frame, label="kind")
    with pytest.raises(FileNotFoundError, match=r"rows\.csv is not a run folder"):
        labels.find("rows.csv", label=given)


def test_default_folds_are_at_most_the_rows():
    assert labels.find(np.eye(3), label=["a", "b", "a"], model="linear").attrs["folds"] == 3


def test_labels_with_the_index_of_the_rows_in_another_order_warn():
    frame, given, _ = table(60)
    mixed = pd.Series(given).sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match="label has the index of X in another order, .* by position"):
        found = labels.find(frame, label=mixed, model="linear")
    assert (found.given_name == mixed.to_numpy()).all()
    with pytest.warns(UserWarning, match="y has the index of X in another order"):
        NoiseproofClassifier(model="linear").fit(frame, mixed)
    labels.find(frame, label=pd.Series(given, np.arange(60) + 60), model="linear")  # another index


class Boosted(LogisticRegression):
    """A user-defined estimator with the attribute ``steps``, which pipelines have too."""

    steps = 100


def test_estimator_with_attribute_steps_is_not_a_pipeline():
    frame, given, _ = table(60)
    rows = frame[["size"]].fillna(0)
    found, plain = (labels.find(rows, label=given, model=one) for one in (Boosted(), LogisticRegression()))
    pd.testing.assert_frame_equal(found, plain)


def texts_and_labels(rows=60):
    rng = np.random.default_rng(0)
    words = np.array([["sea", "boat", "fish"], ["tree", "leaf", "wood"]])
    clean = np.arange(rows) % 2
    texts = [" ".join(rng.choice(words[k], 5)) for k in clean]
    given = np.array(["water", "forest"])[clean]
    given[7] = "water"
    return texts, given


def test_pipeline_with_text_vectoriser_reads_texts(tmp_path):
    texts, given = texts_and_labels()
    pipe = make_pipeline(TfidfVectorizer(), LogisticRegression())
    union = make_pipeline(
        make_union(TfidfVectorizer(), CountVectorizer(analyzer="char")), LogisticRegression()
    )
    series, table = pd.Series([*texts[:-1], None]), pd.DataFrame({"text": texts})
    search = GridSearchCV(pipe, {"logisticregression__C": [1.0]}, cv=2)
    for model, rows in ((pipe, texts), (pipe, series), (pipe, table), (union, texts), (search, texts)):
        found = labels.find(rows, label=given, model=model, folds=2)
        assert found.is_label_issue.to_numpy().nonzero()[0].tolist()[:1] == [7]
    own = NoiseproofClassifier(estimator=pipe).fit(texts, given)
    assert own.predict(["sea boat", "a leaf"]).tolist() == ["water", "forest"]
    own.save(tmp_path / "own.noiseproof")
    assert NoiseproofClassifier.load(tmp_path / "own.noiseproof").predict(["leaf"]).tolist() == ["forest"]
    assert len(own.predict([None, None])) == 2
    nested = make_pipeline(make_pipeline(TfidfVectorizer()), LogisticRegression())
    assert len(labels.find(table, label=given, model=nested, folds=2)) == 60
    with pytest.raises(ValueError, match=r"TfidfVectorizer reads texts, but the rows have shape \(60, 2\)"):
        labels.find(table.assign(n=range(60)), label=given, model=pipe)


def test_pipeline_with_column_transformer_reads_columns():
    frame, given, wrong = table(90)
    frame = frame.set_index(np.arange(90) + 500)
    columns = make_column_transformer((SimpleImputer(), ["size"]), (OneHotEncoder(), ["colour"]))
    pipe = make_pipeline(columns, LogisticRegression())
    assert precision(labels.find(frame, label=given, model=pipe, folds=3), wrong) > 0.5
    data = LabelledData(frame, given)
    for part in (data.subset(np.arange(90)), data.encoded(data.fit_features())):
        assert precision(labels.find(part, model=pipe, folds=3), wrong) > 0.5
    own = NoiseproofClassifier(estimator=pipe).fit(frame, given)
    assert own.score(frame, given) > 0.6
    by_position = make_column_transformer(("passthrough", [1]))  # the constant column is not left out
    array = np.c_[np.zeros(90), frame["size"].fillna(0)]
    found = labels.find(array, label=given, model=make_pipeline(by_position, LogisticRegression()), folds=3)
    assert precision(found, wrong) > 0.4


def test_estimator_that_needs_columns_is_told_how_to_get_them():
    frame, given, _ = table(60)
    model = HistGradientBoostingClassifier(categorical_features=["colour"])
    with pytest.raises(
        ValueError, match=r"failed on the encoded rows, .* must be a Pipeline that begins"
    ) as e:
        labels.find(frame, label=given, model=model, folds=2)
    assert "\n" not in str(e.value)
    with pytest.raises(ValueError, match=r"^The 'C' parameter"):
        labels.find(frame, label=given, model=LogisticRegression(C=-1), folds=2)


def test_many_rows_change_the_solver_and_not_the_predictions():
    make = CROSS_FIT_MODELS["kernel"].make
    rows = np.random.default_rng(0).normal(size=(400, 3))
    label = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    few, many = (make(0, False, np.zeros((number, 3))) for number in (MANY_ROWS, MANY_ROWS + 1))
    assert (few[-1].solver, many[-1].solver) == ("lbfgs", "newton-cg")
    first, second = make(0, False, rows), make(0, False, rows)
    second.set_params(logisticregression=many[-1])
    difference = first.fit(rows, label).predict_proba(rows) - second.fit(rows, label).predict_proba(rows)
    assert abs(difference).max() < 0.02
