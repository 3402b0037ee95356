"""NoiseproofClassifier: any table in, a model and the wrong labels out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiseproof
from noiseproof import NoiseproofClassifier


def noisy_blobs(rows=400, rate=0.3, seed=0):
    X, clean = make_blobs(rows, 4, centers=3, cluster_std=2.0, random_state=seed)
    wrong = np.random.default_rng(seed).random(rows) < rate
    return X, np.where(wrong, (clean + 1) % 3, clean), clean, wrong


def test_it_is_a_name_of_the_package():
    assert "NoiseproofClassifier" in dir(noiseproof)
    assert noiseproof.NoiseproofClassifier is NoiseproofClassifier


def test_it_learns_through_wrong_labels_and_names_them():
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
    assert "unseen labels" in model.choice_


def test_a_messy_table_with_names_for_classes():
    X, y, clean, _ = noisy_blobs()
    names = np.array(["ant", "bee", "cat"])
    table = pd.DataFrame(X, columns=list("abcd"))
    table["colour"] = np.where(X[:, 0] > X[:, 0].mean(), "red", "blue")
    table.loc[::7, "b"] = np.nan
    model = NoiseproofClassifier(random_state=0).fit(table, names[y])
    assert model.score(table, names[clean]) > 0.9
    assert set(model.predict(table[["d", "c", "colour", "b", "a"]])) <= set(names)
    assert list(model.classes_) == list(names)
    assert np.allclose(model.predict_proba(table).sum(1), 1)


def test_texts():
    texts = [f"{word} number {n}" for n in range(60) for word in ("boat sea", "tree wood")]
    model = NoiseproofClassifier(random_state=0).fit(texts, ["water", "land"] * 60)
    assert model.predict(["a boat on the sea", "wood of a tree"]).tolist() == ["water", "land"]


@pytest.mark.slow
def test_any_classifier_and_any_loss_can_be_used():
    X, y, clean, _ = noisy_blobs()
    other = NoiseproofClassifier(estimator=LogisticRegression(), random_state=0).fit(X, y)
    assert other.choice_.startswith("LogisticRegression on ")
    assert other.score(X, clean) > 0.9
    network = NoiseproofClassifier("gce(q=0.7)", "mlp(hidden='16')", random_state=0).fit(X, y)
    assert network.score(X, clean) > 0.9
    assert "gce(q=0.7)" in network.choice_


@pytest.mark.slow
def test_it_works_with_the_tools_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(NoiseproofClassifier(random_state=0), {"model": ["linear", "trees"]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.85
    assert make_pipeline(StandardScaler(), NoiseproofClassifier(random_state=0)).fit(X, y).score(X, y) > 0.9
    assert clone(NoiseproofClassifier(model="linear")).get_params()["model"] == "linear"


@pytest.mark.slow
def test_the_same_state_gives_the_same_result():
    X, y, _, _ = noisy_blobs(150)
    first, second = (NoiseproofClassifier(random_state=3).fit(X, y).predict_proba(X) for _ in range(2))
    assert (first == second).all()


def test_misuse_is_told_in_one_line():
    X, y, _, _ = noisy_blobs(50)
    with pytest.raises(ValueError, match="X has 50 rows and y 49 labels"):
        NoiseproofClassifier().fit(X, y[:49])
    with pytest.raises(ValueError, match="all labels are"):
        NoiseproofClassifier().fit(X, np.zeros(50, int))
    with pytest.raises(ValueError, match="model='forest' is unknown with loss='auto'"):
        NoiseproofClassifier(model="forest").fit(X, y)
    with pytest.raises(Exception, match="not fitted"):
        NoiseproofClassifier().predict(X)
