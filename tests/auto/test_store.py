"""A stored classifier gives equal predictions, and malicious files have no effect."""

import io
import json
import pickle
import zipfile
from contextlib import suppress

import numpy as np
import pytest
import skops.io
import torch
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from noiseproof import NoiseproofClassifier
from noiseproof.auto import Ensemble
from noiseproof.auto.store import check_trees, from_bytes, to_bytes
from noiseproof.files import DamagedFileError
from noiseproof.labels.cross_fit import inputs_of

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "iris.noiseproof"
    NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(X, Y).save(path)
    return path


def same(one, other, rows):
    assert (one.predict_proba(rows) == other.predict_proba(rows)).all()
    assert one.find_label_issues().equals(other.find_label_issues())
    assert one.find_label_issues().attrs == other.find_label_issues().attrs
    assert (one.corrected_labels_ == other.corrected_labels_).all()
    assert one.classes_.dtype == other.classes_.dtype
    assert (one.choice_, one.noise_rate_) == (other.choice_, other.noise_rate_)
    assert repr(one) == repr(other)


@pytest.mark.parametrize("model", ["linear", "neighbours", "network"])
def test_classifier_round_trips(tmp_path, model):
    names = np.array(["ant", "bee", "cat"])[Y]
    fitted = NoiseproofClassifier(model=model, folds=2, random_state=0).fit(X, names)
    fitted.save(tmp_path / "model")
    same(fitted, NoiseproofClassifier.load(tmp_path / "model"), X)


def test_a_file_of_version_0_2_0_is_read(tmp_path, monkeypatch):
    def to_parts(self, parts):
        parts.put_models("models.skops", list(self.models))
        parts.facts["ensemble"] = {"names": self.names, "weights": self.weights, "classes": 3}

    fitted = NoiseproofClassifier(model="linear", folds=2, random_state=0).fit(X, Y)
    monkeypatch.setattr(Ensemble, "to_parts", to_parts)
    fitted.save(tmp_path / "model")
    loaded = NoiseproofClassifier.load(tmp_path / "model")
    equal = fitted._model._replace(class_frequencies=(1 / 3, 1 / 3, 1 / 3))
    assert np.allclose(loaded.predict_proba(X), equal.predict_proba(inputs_of(fitted._features, X)))


@pytest.mark.slow
def test_ensemble_of_all_models_round_trips(tmp_path):
    fitted = NoiseproofClassifier(folds=2, random_state=0).fit(X, Y)
    fitted.save(tmp_path / "model")
    same(fitted, NoiseproofClassifier.load(tmp_path / "model"), X)


def test_texts_and_estimator_round_trip(tmp_path):
    texts = [f"{word} number {n}" for n in range(20) for word in ("boat sea", "tree wood")]
    own = LogisticRegression(C=3.0)
    fitted = NoiseproofClassifier(estimator=own, folds=2, random_state=0).fit(texts, ["water", "land"] * 20)
    fitted.save(tmp_path / "model")
    again = NoiseproofClassifier.load(tmp_path / "model")
    same(fitted, again, texts)
    assert again.estimator.C == 3.0


def make_network(num_classes, in_channels):
    return torch.nn.Linear(in_channels, num_classes)


def test_networks_round_trip(tmp_path):
    few = slice(0, 50, 2)
    for model in ("mlp(hidden='8')", make_network):
        fitted = NoiseproofClassifier("ce", model, folds=2, epochs=2, random_state=0).fit(X[few], Y[few])
        fitted.save(tmp_path / "model")
        if model is make_network:
            with pytest.raises(
                DamagedFileError, match=r"your own network: pass the network, load\(path, model=\.\.\.\)"
            ):
                NoiseproofClassifier.load(tmp_path / "model")
        same(fitted, NoiseproofClassifier.load(tmp_path / "model", model=make_network), X)


def test_other_files_are_refused_in_one_line(tmp_path, saved):
    path = tmp_path / "foreign"
    harmless, archive = tmp_path / "done", io.BytesIO()

    class Harm:
        def __reduce__(self):
            return harmless.write_text, ("done",)

    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("classifier.json", "{}")
    contents = [b"", b"hello", pickle.dumps(Harm()), archive.getvalue(), saved.read_bytes()[:2000]]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(DamagedFileError) as caught:
            NoiseproofClassifier.load(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not harmless.exists()
    with pytest.raises(FileNotFoundError):
        NoiseproofClassifier.load(tmp_path / "nowhere")


def changed(saved, path, change):
    """A copy of the file in which every part is ``change(name, content)``."""
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)


@pytest.mark.parametrize("lost", ["models.skops", "found.safetensors", "features.safetensors"])
def test_missing_or_replaced_parts_are_refused(saved, tmp_path, lost):
    for replacement in (None, b"", pickle.dumps([1]), skops.io.dumps({"harm": Foreign()})):
        changed(saved, tmp_path / "x", lambda name, old: replacement if name == lost else old)  # noqa: B023
        with pytest.raises(DamagedFileError) as caught:
            NoiseproofClassifier.load(tmp_path / "x")
        assert "\n" not in str(caught.value)


def test_facts_of_the_wrong_type_are_refused(saved, tmp_path):
    with zipfile.ZipFile(saved) as file:
        facts = json.loads(file.read("classifier.json"))
    for key in sorted(facts):
        for value in (None, [], "x", -1):
            text = json.dumps(facts | {key: value})
            changed(saved, tmp_path / "x", lambda n, old: text if n == "classifier.json" else old)  # noqa: B023
            with suppress(DamagedFileError):  # and no other error
                NoiseproofClassifier.load(tmp_path / "x")


class Foreign:
    """A type of another library."""


def test_only_types_of_scikit_learn_are_stored_and_read():
    with pytest.raises(ValueError, match=r"without pickle: it holds .*Foreign"):
        to_bytes([Foreign()])
    with pytest.raises(ValueError, match="Untrusted types"):
        from_bytes(skops.io.dumps([Foreign()]))


@pytest.mark.parametrize(
    "make", [lambda: RandomForestClassifier(3), lambda: HistGradientBoostingClassifier(max_iter=3)]
)
def test_tree_with_invalid_nodes_is_refused(make):
    model = make_pipeline(StandardScaler(), make()).fit(X, Y)
    again = from_bytes(to_bytes(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    forest = model[-1]
    if isinstance(forest, RandomForestClassifier):
        state = forest.estimators_[1].tree_.__getstate__()
        nodes, fields = state["nodes"], ("left_child", "right_child", "feature")
    else:
        nodes, fields = forest._predictors[1][0].nodes, ("left", "right", "feature_idx")
    for field in fields:
        kept = nodes[field].copy()
        for wrong in (0 if field != fields[2] else 4, 10_000):
            nodes[field][0] = wrong
            if isinstance(forest, RandomForestClassifier):
                forest.estimators_[1].tree_.__setstate__(state)
            with pytest.raises(ValueError, match="a tree refers to nodes or features that do not exist"):
                check_trees(model)
        nodes[field] = kept
