"""NoiseproofClassifier: any table in, a model and the wrong labels out."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import noiseproof
from noiseproof import NoiseproofClassifier


def noisy_blobs(rows=400, rate=0.3, seed=0):
    X, clean = make_blobs(rows, 4, centers=3, cluster_std=2.0, random_state=seed)
    wrong = np.random.default_rng(seed).random(rows) < rate
    return X, np.where(wrong, (clean + 1) % 3, clean), clean, wrong


def test_classifier_is_exported():
    assert "NoiseproofClassifier" in dir(noiseproof)
    assert noiseproof.NoiseproofClassifier is NoiseproofClassifier


def test_classifier_learns_from_wrong_labels_and_finds_them():
    X, y, clean, wrong = noisy_blobs()
    model = NoiseproofClassifier(random_state=0).fit(X, y)
    assert model.score(X, clean) > 0.93
    found = model.find_label_issues()
    assert (found["index"] == np.arange(len(y))).all()
    assert found.is_label_issue[wrong].mean() > 0.9
    assert (model.corrected_labels_ == clean).mean() > 0.93
    assert model.noise_rate_ == pytest.approx(wrong.mean(), abs=0.06)
    assert model.transition_.shape == (3, 3)
    assert np.allclose(model.transition_.sum(1), 1)
    assert "held-out labels" in model.choice_


def test_table_of_mixed_columns_with_class_names():
    X, y, clean, _ = noisy_blobs()
    names = np.array(["ant", "bee", "cat"])
    table = pd.DataFrame(X, columns=list("abcd"))
    table["colour"] = np.where(X[:, 0] > X[:, 0].mean(), "red", "blue")
    table.loc[::7, "b"] = np.nan
    model = NoiseproofClassifier(folds=2, random_state=0).fit(table, names[y])
    assert model.score(table, names[clean]) > 0.9
    assert set(model.predict(table[["d", "c", "colour", "b", "a"]])) <= set(names)
    assert list(model.classes_) == list(names)
    assert np.allclose(model.predict_proba(table).sum(1), 1)


@pytest.mark.parametrize("index", [[9, 9, *range(98)], [f"row {k}" for k in range(100)]])
def test_findings_have_the_index_of_the_table_also_when_loaded(index, tmp_path):
    X, y, _, _ = noisy_blobs(100)
    model = NoiseproofClassifier(model="linear", random_state=0).fit(pd.DataFrame(X, index, list("abcd")), y)
    assert model.find_label_issues().index.tolist() == index
    model.save(tmp_path / "m")
    loaded = NoiseproofClassifier.load(tmp_path / "m").find_label_issues()
    pd.testing.assert_frame_equal(loaded, model.find_label_issues())


def test_name_of_the_index_is_saved(tmp_path):
    X, y, _, _ = noisy_blobs(30)
    table = pd.DataFrame(X, index=pd.Index(range(9, 39), name="key"))
    NoiseproofClassifier(model="linear", folds=2).fit(table, y).save(tmp_path / "m")
    assert NoiseproofClassifier.load(tmp_path / "m").find_label_issues().index.name == "key"


def test_sample_weights_that_cannot_be_used_are_named():
    X, y, _, _ = noisy_blobs(30)
    for weight, message in (
        ("balanced", "sample_weight='balanced' must be one number per row"),
        ([1] * 29 + [-1], r"sample_weight\[29\] = -1.0 must be finite"),
        ([0] * 30, "at least one non-zero number: all are 0"),
    ):
        with pytest.raises(ValueError, match=message):
            NoiseproofClassifier().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\(\) does not accept sample_weight: leave it"):
        NoiseproofClassifier(estimator=KNeighborsClassifier()).fit(X, y, [1] * 30)


def test_findings_contain_class_names_of_any_type(tmp_path):
    X, y, _, _ = noisy_blobs(60)
    for classes in (
        ["ant", "bee", "cat"],
        [7, 8, 9],
        [1, "bee", "cat"],
        pd.date_range("2026-01-01", periods=3),
    ):
        given = [list(classes)[code] for code in y]
        model = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(X, given)
        found = model.find_label_issues()
        assert found.given_name.tolist() == given
        assert found.predicted_name.tolist() == [list(classes)[code] for code in found.predicted_label]
        assert set(model.predict(X)) <= set(classes)
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(
        X, np.array([1, "bee", 3], object)[y]
    )
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        NoiseproofClassifier.load(tmp_path / "model").find_label_issues(), model.find_label_issues()
    )


@pytest.mark.parametrize(
    "classes",
    [
        list(pd.date_range("2026-01-01", periods=3)),
        [datetime.date(2026, 1, day) for day in (1, 2, 3)],
        [1, 3, "bee"],
        [1, 2**63 + 5, 2**64 - 1],
    ],
)
def test_classifiers_of_any_classes_can_be_scored_and_saved(classes, tmp_path):
    X, y, _, _ = noisy_blobs(60)
    given = np.array(classes, np.uint64 if classes[-1] == 2**64 - 1 else object)[y]
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(X, given)
    assert model.classes_.tolist() == classes
    assert model.score(X, given) == np.mean(model.predict(X) == given) > 0.5
    model.save(tmp_path / "model")
    loaded = NoiseproofClassifier.load(tmp_path / "model")
    assert loaded.classes_.tolist() == classes
    assert loaded.find_label_issues().given_name.tolist() == given.tolist()


def test_settings_of_numpy_are_saved(tmp_path):
    X, y, _, _ = noisy_blobs(30)
    numbers = {"folds": np.int64(3), "epochs": np.int64(1), "validation": np.float32(0.25)}
    model = NoiseproofClassifier(model="linear", random_state=np.int64(3), **numbers).fit(X, y)
    model.save(tmp_path / "model")
    settings = NoiseproofClassifier.load(tmp_path / "model").get_params()
    assert {name: settings[name] for name in ("random_state", *numbers)} == {"random_state": 3, **numbers}


def test_columns_of_lists_of_pyarrow():
    X, y, _, _ = noisy_blobs(60)
    lists = pd.Series([[1, 2], [3]] * 30, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "lists": lists})
    assert len(NoiseproofClassifier(model="linear", folds=2).fit(table, y).predict(table)) == 60


def test_rows_of_objects_that_contain_the_labels_are_refused():
    X, y, _, _ = noisy_blobs(60)
    names = np.array(["ant", "bee", "cat"])[y]
    rows = np.column_stack([X.astype(object), names])
    for given in (rows, rows.tolist()):
        with pytest.raises(ValueError, match="the column '4' of X contains the labels: leave it out"):
            NoiseproofClassifier().fit(given, names)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_infinite_values_give_a_warning(form):
    X, y, _, _ = noisy_blobs(30)
    infinite = X.copy()
    infinite[3, 1] = np.inf
    with pytest.warns(UserWarning, match="infinite values of X are read as missing") as told:
        model = NoiseproofClassifier(model="linear", folds=2).fit(form(infinite), y)
    assert len(told) == 1
    with pytest.warns(UserWarning, match="infinite values of X are read as missing"):
        model.predict(form(infinite))
    assert len(model.predict(form(X))) == 30


def test_missing_texts_are_predicted():
    texts = ["boat sea", "tree wood", None] * 10
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(texts, [0, 1, 2] * 10)
    for missing in ([None, None], pd.Series([None, None]), [np.nan, np.nan]):
        assert model.predict(missing).tolist() == [2, 2]


def test_dict_of_columns_and_labels_in_a_frame():
    X, y, _, _ = noisy_blobs(60)
    columns = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0)
    with pytest.warns(Warning, match="column-vector y"):
        model.fit(columns, pd.DataFrame({"y": y}))
    assert model.predict(columns).tolist() == model.predict(pd.DataFrame(columns)).tolist()
    with pytest.raises(ValueError, match="the columns of the dict X do not form a table"):
        model.fit(columns | {"b": [1.0]}, y)


def test_estimator_without_sparse_support_gets_components():
    texts = [f"{word} number {n}" for n in range(30) for word in ("boat sea", "tree wood")]
    y = ["boat", "tree"] * 30
    forest = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2)
    model = NoiseproofClassifier(estimator=forest, folds=2, random_state=0).fit(texts, y)
    assert model.score(texts, y) == 1


def test_texts():
    texts = [f"{word} number {n}" for n in range(60) for word in ("boat sea", "tree wood")]
    model = NoiseproofClassifier(folds=2, random_state=0).fit(texts, ["water", "land"] * 60)
    assert model.predict(["a boat on the sea", "wood of a tree"]).tolist() == ["water", "land"]


@pytest.mark.slow
def test_given_estimators_and_losses():
    X, y, clean, _ = noisy_blobs()
    other = NoiseproofClassifier(estimator=LogisticRegression(), random_state=0).fit(X, y)
    assert other.choice_.startswith("LogisticRegression on ")
    assert other.score(X, clean) > 0.9
    network = NoiseproofClassifier("gce(q=0.7)", "mlp(hidden='16')", random_state=0).fit(X, y)
    assert network.score(X, clean) > 0.9
    assert "gce(q=0.7)" in network.choice_


@pytest.mark.slow
def test_loss_auto_with_a_network():
    X, y, clean, _ = noisy_blobs()
    model = NoiseproofClassifier(model="mlp(hidden='16')", epochs=30, random_state=0).fit(X, y)
    assert model.score(X, clean) > 0.9
    assert "held-out labels" in model.choice_
    with pytest.raises(ValueError, match="sample_weight cannot be used with a network"):
        model.fit(X, y, np.ones(len(y)))


@pytest.mark.slow
def test_scikit_learn_tools():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(NoiseproofClassifier(random_state=0), {"model": ["linear", "trees"]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.85
    assert make_pipeline(StandardScaler(), NoiseproofClassifier(random_state=0)).fit(X, y).score(X, y) > 0.9
    assert clone(NoiseproofClassifier(model="linear")).get_params()["model"] == "linear"


@pytest.mark.slow
def test_same_random_state_gives_equal_results():
    X, y, _, _ = noisy_blobs(150)
    first, second = (NoiseproofClassifier(random_state=3).fit(X, y).predict_proba(X) for _ in range(2))
    assert (first == second).all()


class Pair(torch.nn.Linear):
    def __init__(self, num_classes, in_channels):
        super().__init__(in_channels, num_classes)

    def forward(self, rows):
        return super().forward(rows), rows


def test_invalid_arguments_are_reported_in_one_line():
    X, y, _, _ = noisy_blobs(50)
    with pytest.raises(ValueError, match="X has 50 rows and y has 49 labels"):
        NoiseproofClassifier().fit(X, y[:49])
    with pytest.raises(ValueError, match="y has one class, 0: at least two classes"):
        NoiseproofClassifier().fit(X, np.zeros(50, int))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(50,\)"):
        NoiseproofClassifier().fit(X, y, [1, 2, 3])
    with pytest.raises(ValueError, match="folds=1 must be a whole number, at least 2"):
        NoiseproofClassifier(folds=1).fit(X, y)
    with pytest.raises(ValueError, match="model='forest' is unknown: choose auto, linear"):
        NoiseproofClassifier(model="forest").fit(X, y)
    for settings, told in [
        ({"epochs": 0}, "epochs=0 must be a whole number, at least 1"),
        ({"loss": None}, r"loss=None must be a string, such as 'gce\(q=0\.7\)'"),
        ({"model": None}, "model=None must be the name of a model or a network"),
        ({"model": LogisticRegression()}, "give a scikit-learn classifier as estimator="),
        ({"loss": "gce", "model": "linear"}, "needs a network, but model='linear' is not one: leave out"),
        ({"loss": "binary(ce)"}, r"loss='binary\(ce\)' is not for classes"),
        ({"validation": "x"}, "validation='x' must be a number: 0 <= validation < 1"),
        ({"random_state": -1}, "random_state=-1 is out of range: 0 <= random_state"),
        ({"random_state": 2**32}, "random_state=4294967296 is out of range"),
        ({"loss": "gcee"}, "unknown loss 'gcee', did you mean 'gce'"),
        ({"estimator": "forest"}, "estimator='forest' must be a scikit-learn classifier with predict_proba"),
        ({"estimator": LogisticRegression}, "must be a scikit-learn classifier"),
        ({"estimator": LogisticRegression(), "loss": "gce"}, "estimator= and a network were given"),
        (
            {"model": torch.nn.Linear(4, 5)},
            r"model=Linear returns outputs of shape \(5,\): it must be \(3,\)",
        ),
        ({"model": torch.nn.Linear(7, 3)}, r"model=Linear does not accept rows of shape \(4,\)"),
        (
            {"model": lambda hidden: torch.nn.Linear(4, 3)},
            "has the parameter 'hidden': only num_classes, in_channels",
        ),
        ({"model": Pair}, "model=Pair returned a tuple: return the logits"),
        ({"model": "cnn8"}, r"rows of shape \(4,\): the network takes images .* use mlp"),
    ]:
        with pytest.raises((ValueError, TypeError), match=told):
            NoiseproofClassifier(**settings).fit(X, y)
    with pytest.raises(ValueError, match="every class has one row"):
        NoiseproofClassifier().fit(X[:2], [0, 1])
    with pytest.raises(Exception, match="not fitted"):
        NoiseproofClassifier().predict(X)


WEIGHTS_ARE_NO_REPETITIONS = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "a row given twice lies in one fold, and other rows lie in other folds than without it",
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@pytest.mark.parametrize("model", ["linear", pytest.param("auto", marks=pytest.mark.slow)])
def test_scikit_learn_estimator_checks(model):
    ours = NoiseproofClassifier(model=model, folds=2, random_state=0)
    told = check_estimator(ours, on_fail=None, expected_failed_checks=WEIGHTS_ARE_NO_REPETITIONS)
    state = {one["check_name"]: one["status"] for one in told}
    assert [name for name, found in state.items() if found == "failed"] == []
    assert {name for name, found in state.items() if found == "xfail"} == set(WEIGHTS_ARE_NO_REPETITIONS)
    assert list(state.values()).count("passed") > 50


def test_random_state_types():
    X, y, _, _ = noisy_blobs(60)
    states = [np.random.RandomState(5), np.random.RandomState(5), 5, np.int64(5), None]
    found = [
        NoiseproofClassifier(model="network", folds=2, random_state=state).fit(X, y).predict_proba(X)
        for state in states
    ]
    assert (found[0] == found[1]).all()
    assert (found[2] == found[3]).all()
    assert not (found[0] == found[2]).all()


def test_a_pickled_classifier_predicts_the_same():
    X, y, _, _ = noisy_blobs(60)
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert again.find_label_issues().equals(model.find_label_issues())


@pytest.mark.parametrize(
    "channels", [(3,), *(pytest.param(one, marks=pytest.mark.slow) for one in [(), (1,)])]
)
def test_images_with_and_without_channels(channels):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (60, 8, 8, *channels), dtype=np.uint8)
    images[:30, :4] //= 3
    y = np.repeat(["dark", "light"], 30)
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(images, y)
    assert model.score(images, y) > 0.9
    with pytest.raises(ValueError, match=r"rows of X have shape \(64,\), but \(8, 8"):
        model.predict(images[:, :, :, :1].reshape(60, -1) if channels else images.reshape(60, -1))
    assert model.fit(list(images), y).n_features_in_ is None
    seen = []

    def network(num_classes, in_channels, image_size):
        seen.append((num_classes, in_channels, image_size))
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64 * in_channels, num_classes))

    trained = NoiseproofClassifier("ce", network, folds=2, epochs=20, random_state=0).fit(images, y)
    assert trained.score(images, y) > 0.9
    assert set(seen) == {(2, channels[0] if channels else 1, (8, 8))}
    assert "network trained with ce" in trained.choice_


def test_repr_of_a_fitted_classifier():
    X, y, _, _ = noisy_blobs(100)
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0)
    assert repr(model) == "NoiseproofClassifier(folds=2, model='linear', random_state=0)"
    names = np.array(["<b>", "bee", "cat"])[y]
    told = repr(model.fit(X, names)).splitlines()
    assert told[0] == "NoiseproofClassifier(folds=2, model='linear', random_state=0)"
    assert told[1] == "  100 rows, 3 classes, numbers"
    assert f"{model.find_label_issues().is_label_issue.sum()} suspects" in told[3]
    page = model._repr_mimebundle_()["text/html"]
    assert model.choice_ in page
    assert "<b>NoiseproofClassifier" in page


def test_refit_replaces_the_first_fit():
    X, y, _, _ = noisy_blobs(60)
    model = NoiseproofClassifier(model="linear", folds=2, random_state=0)
    model.fit(pd.DataFrame(X, columns=list("abcd")), y).fit(X[:, :2], y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(
        ValueError, match="X has 4 features, but NoiseproofClassifier is expecting 2 features"
    ):
        model.predict(X)
