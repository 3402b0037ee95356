"""Exchange of label issues and probabilities with cleanlab."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cleanlab", reason="cleanlab is not installed: make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")

DATALAB = "Datalab needs the package datasets: make test-integrations"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def task():
    """Rows, labels of which 20 are wrong, and probabilities by cross-validation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    random = np.random.default_rng(0)
    truth = np.arange(200) % 4
    rows = 3 * np.eye(4)[truth] + random.normal(0, 1, (200, 4))
    label = truth.copy()
    label[:20] = (label[:20] + 1) % 4
    said = cross_val_predict(LogisticRegression(), rows, label, cv=5, method="predict_proba")
    return rows, label, said


def test_find_accepts_pred_probs_of_cleanlab(task):
    """Most suspects of ``labels.find`` and cleanlab on the same pred_probs agree."""
    from cleanlab.filter import find_label_issues

    from noiseproof import labels

    _, label, said = task
    found = labels.find(probabilities=said, label=label)
    theirs = find_label_issues(label, said)
    assert found.is_label_issue[:20].mean() >= 0.9
    ours = found.is_label_issue.to_numpy()
    assert (ours & theirs).sum() / (ours | theirs).sum() > 0.7


def test_label_issues_are_used_by_clean_learning(task):
    """CleanLearning fits without the rows noiseproof marked."""
    from cleanlab.classification import CleanLearning
    from sklearn.linear_model import LogisticRegression

    from noiseproof import labels
    from noiseproof.integrations.cleanlab import label_issues

    rows, label, said = task
    issues = label_issues(labels.find(probabilities=said, label=label))
    learner = CleanLearning(LogisticRegression()).fit(rows, label, label_issues=issues)
    assert learner.get_label_issues().is_label_issue.equals(issues.is_label_issue)
    kept = ~issues.is_label_issue
    wanted = LogisticRegression().fit(rows[kept], label[kept]).coef_
    np.testing.assert_allclose(learner.clf.coef_, wanted, rtol=1e-6)


def test_clean_learning_with_noiseproof_classifier(task):
    from cleanlab.classification import CleanLearning

    from noiseproof import NoiseproofClassifier

    rows, label, _ = task
    issues = CleanLearning(
        NoiseproofClassifier(model="linear", random_state=0), cv_n_folds=3
    ).find_label_issues(rows, label)
    assert issues.is_label_issue[:20].mean() > 0.8


@pytest.mark.parametrize("given", ["found", "pred_probs"])
def test_datalab_issue_type(task, given, capsys):
    pytest.importorskip("datasets", reason=DATALAB)
    from cleanlab import Datalab

    import noiseproof.integrations.cleanlab
    from noiseproof import labels

    rows, label, said = task
    found = labels.find(probabilities=said, label=label)
    lab = Datalab({"X": rows, "y": label}, label_name="y")
    lab.find_issues(issue_types={"noiseproof": {given: found if given == "found" else said}})
    issues = lab.get_issues("noiseproof")
    assert issues.is_noiseproof_issue.tolist() == found.is_label_issue.tolist()
    np.testing.assert_allclose(issues.noiseproof_score, found.label_score)
    lab.report(num_examples=2)
    assert "noiseproof" in capsys.readouterr().out
    manager = noiseproof.integrations.cleanlab.LabelsIssueManager(datalab=lab)
    with pytest.raises(ValueError, match="found has 3 labels, but the Datalab has 200"):
        manager.find_issues(found=found[:3])


def test_cleanlab_example_runs(capsys):
    pytest.importorskip("datasets", reason=DATALAB)
    runpy.run_path(str(EXAMPLES / "cleanlab_both_ways.py"), run_name="__main__")
    assert "noiseproof" in capsys.readouterr().out
