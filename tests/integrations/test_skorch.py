"""skorch classifier: probabilities, cloning and cross-fitting by labels.find."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("skorch", reason="skorch is not installed: make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")

EXAMPLES = Path(__file__).parents[2] / "examples"


class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(4, 3))


@pytest.fixture
def blobs():
    random = np.random.default_rng(0)
    label = np.arange(90) % 3
    rows = (3 * np.eye(3, 4)[label] + random.normal(0, 1, (90, 4))).astype(np.float32)
    return rows, label.astype(np.int64)


@pytest.fixture
def net():
    from noiseproof.integrations.skorch import classifier

    torch.manual_seed(0)
    return classifier(Net, "gce(q=0.7)", max_epochs=30, lr=0.5, verbose=0, train_split=None)


def test_predict_proba_equals_softmax_of_the_network(net, blobs):
    rows, label = blobs
    found = net.fit(rows, label).predict_proba(rows)
    with torch.no_grad():
        logits = net.module_(torch.from_numpy(rows)).double().numpy()
    wanted = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert net.score(rows, label) > 0.9


def test_skorch_without_the_helper_returns_logits(blobs):
    """Without the helper, rows of predict_proba do not sum to 1."""
    import skorch

    from noiseproof import losses

    rows, label = blobs
    plain = skorch.NeuralNetClassifier(Net, criterion=losses.get("gce"), max_epochs=1, verbose=0)
    assert np.abs(plain.fit(rows, label).predict_proba(rows).sum(1) - 1).max() > 0.1


def test_clone_and_cross_fitting(net, blobs):
    from sklearn.base import clone

    from noiseproof import labels

    rows, label = blobs
    assert str(clone(net).criterion) == "gce(q=0.7)"
    given = label.copy()
    given[:9] = (given[:9] + 1) % 3
    found = labels.find(rows, label=given, model=net, folds=3)
    assert found.is_label_issue[:9].sum() >= 7
    assert found.is_label_issue[9:].mean() < 0.15


def test_skorch_example_runs(capsys):
    runpy.run_path(str(EXAMPLES / "skorch_classifier.py"), run_name="__main__")
    assert "of them really wrong" in capsys.readouterr().out
