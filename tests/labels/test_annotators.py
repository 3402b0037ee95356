"""Consensus of several annotators, against an independent EM and simulated annotators."""

import numpy as np
import pandas as pd
import pytest

from noiseproof import labels
from noiseproof.labels import annotators


def crowd(seed=0, samples=400, classes=4, people=12, answers=3):
    """True classes, and answers of annotators; annotator 0 guesses, annotator 1 swaps classes 0 and 1."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, samples)
    matrices = []
    for skill in np.linspace(0.55, 0.95, people):
        matrices.append(np.full((classes, classes), (1 - skill) / (classes - 1)))
        np.fill_diagonal(matrices[-1], skill)
    matrices[0] = np.full((classes, classes), 1 / classes)
    matrices[1] = np.eye(classes)[[1, 0, *range(2, classes)]] * 0.9 + 0.1 / classes
    table = np.full((samples, people), -1)
    for row in range(samples):
        for who in random.choice(people, answers, replace=False):
            table[row, who] = random.choice(classes, p=matrices[who][truth[row]])
    return truth, table


def reference_em(table, classes, steps=annotators.MAX_STEPS):
    """Maximum a posteriori EM with loops, written from the description and not from the code."""
    samples, people = table.shape
    own, skill_weight = annotators.MATRIX_PRIOR, annotators.ACCURACY_PRIOR
    answers = table[table >= 0]
    given = np.array([(answers == k).mean() for k in range(classes)])
    true = np.zeros((samples, classes))
    for row in range(samples):
        answered = table[row][table[row] >= 0]
        for k in range(classes):
            true[row, k] = ((answered == k).sum() + 1 / classes) / (len(answered) + 1)
    for _ in range(steps):
        counts = np.zeros((people, classes, classes))
        for row in range(samples):
            for who in range(people):
                if table[row, who] >= 0:
                    counts[who, :, table[row, who]] += true[row]
        anchor = np.full((classes, classes), (1 - annotators.PRIOR_ACCURACY) / (classes - 1))
        np.fill_diagonal(anchor, annotators.PRIOR_ACCURACY)
        pooled = counts.sum(0) + annotators.POOLED_PRIOR * len(answers) / classes * anchor
        pooled = pooled / pooled.sum(1, keepdims=True)
        matrices = np.zeros_like(counts)
        for who in range(people):
            right = sum(counts[who, k, k] for k in range(classes))
            skill = (right + skill_weight * np.mean(np.diag(pooled))) / (counts[who].sum() + skill_weight)
            for k in range(classes):
                expected = (1 - skill) * pooled[k] / (1 - pooled[k, k])
                expected[k] = skill
                row_of = counts[who, k] + own * expected
                matrices[who, k] = row_of / row_of.sum()
        share = (true.mean(0) + annotators.POOLED_PRIOR * given) / (1 + annotators.POOLED_PRIOR)
        for row in range(samples):
            chance = share.copy()
            for who in range(people):
                if table[row, who] >= 0:
                    chance = chance * matrices[who][:, table[row, who]]
            true[row] = chance / chance.sum()
    return true, matrices


def test_consensus_matches_reference_em():
    _, table = crowd(samples=60, people=6)
    found = labels.consensus(table)
    true, matrices = reference_em(table, 4)
    np.testing.assert_allclose(found.soft_targets, true, atol=2e-3)
    np.testing.assert_allclose(found.transition, matrices, atol=2e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_consensus_is_more_accurate_than_majority_vote(seed):
    truth, table = crowd(seed)
    found = labels.consensus(table)
    consensus = (found.labels.consensus_label == truth).mean()
    majority = (found.labels.majority_label == truth).mean()
    assert consensus > majority + 0.02
    expected = found.labels.wrong_probability.mean()
    assert expected == pytest.approx(1 - consensus, abs=0.06)


def test_annotator_quality_and_wrong_answers_are_estimated():
    truth, table = crowd()
    found = labels.consensus(table)
    quality = found.annotators.quality
    assert {0, 1} <= set(quality.nsmallest(3).index)
    real = [(table[:, who] == truth)[table[:, who] >= 0].mean() for who in range(table.shape[1])]
    assert np.corrcoef(quality, real)[0, 1] > 0.9
    assert found.transition[1, 0].argmax() == 1  # answers class 1 for class 0
    answers = found.answers
    wrong = answers.given_label != truth[answers["index"]]
    assert wrong[answers.is_label_issue].mean() > 0.8
    assert answers.is_label_issue[wrong].mean() > 0.8
    assert len(answers) == (table >= 0).sum() == found.annotators.answers.sum()


def test_one_answer_per_sample_is_as_accurate_as_majority_vote():
    """Such answers contain no information about the annotators."""
    truth, table = crowd(answers=1)
    found = labels.consensus(table).labels
    assert (found.consensus_label == truth).mean() >= (found.majority_label == truth).mean() - 0.03


def test_classifier_predictions_improve_consensus_of_two_answers():
    truth, table = crowd(answers=2)
    random = np.random.default_rng(0)
    predicted = np.eye(4)[np.where(random.random(len(truth)) < 0.8, truth, random.integers(0, 4, len(truth)))]
    predicted = 0.6 * predicted + 0.1
    alone, both = labels.consensus(table), labels.consensus(table, probabilities=predicted)
    right = [(found.labels.consensus_label == truth).mean() for found in (alone, both)]
    assert right[1] > max(right[0], (predicted.argmax(1) == truth).mean()) + 0.01


def test_all_input_formats_give_the_same_consensus():
    """An array, frames of names with blanks of each kind, and three columns are equivalent."""
    _, table = crowd(samples=50)
    names = np.array(["ant", "bee", "cat", "dog"], dtype=object)
    written = pd.DataFrame(np.where(table >= 0, names[table], None)).rename(columns=lambda n: f"p{n}")
    holes = written.copy()
    holes.iloc[:, 1] = holes.iloc[:, 1].where(holes.iloc[:, 1].notna(), "")
    holes.iloc[:, 2] = holes.iloc[:, 2].where(holes.iloc[:, 2].notna(), np.nan)
    rows, who = np.nonzero(table >= 0)
    forms = {
        "numbers": labels.consensus(table),
        "names": labels.consensus(written),
        "holes": labels.consensus(holes),
        "long": labels.consensus(sample=rows, annotator=who, label=table[rows, who]),
    }
    for name, found in forms.items():
        np.testing.assert_allclose(found.soft_targets, forms["numbers"].soft_targets, atol=1e-9, err_msg=name)
    assert forms["names"].class_names == tuple(names)
    assert forms["names"].annotators.index.tolist()[0] == "p0"
    assert forms["numbers"].classes == (0, 1, 2, 3)


def test_sample_without_answers_gets_class_frequencies():
    found = labels.consensus(pd.DataFrame({"a": ["x", "y", None], "b": ["x", "y", None]}))
    assert found.labels.answers.tolist() == [2, 2, 0]
    assert np.isnan(found.labels.agreement[2])
    assert found.soft_targets[2] == pytest.approx([0.5, 0.5], abs=0.05)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"table": [[None, None]]}, "the table has no answers"),
        ({"table": pd.DataFrame({"a": ["x"], "b": [None]})}, "annotator 'b' has no answers"),
        ({"sample": [0.5], "annotator": ["a"], "label": ["x"]}, "number of a sample, from 0"),
        ({"sample": [0, 1], "annotator": ["a"], "label": ["x"]}, "2 samples, 1 annotators and 1 labels"),
        (
            {"table": [["x"], ["y"]], "probabilities": np.eye(3)},
            r"\(3, 3\) do not fit 2 samples and 2 classes",
        ),
    ],
)
def test_invalid_answers_raise_value_error(given, message):
    with pytest.raises(ValueError, match=message):
        labels.consensus(**given)


def test_incomplete_columns_raise_type_error():
    with pytest.raises(TypeError, match="give a table, or sample=, annotator= and label= together"):
        labels.consensus(sample=[0], label=[1])
