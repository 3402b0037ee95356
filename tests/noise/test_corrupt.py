"""``corrupt``: determinism, exact counts and errors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data import load
from noiseproof.noise import corrupt, transition
from noiseproof.noise.arrays import rows_by_class

label_arrays = st.integers(2, 12).flatmap(
    lambda k: st.tuples(st.just(k), st.lists(st.integers(0, k - 1), max_size=60))
)
rates = st.floats(0, 0.49)


@settings(deadline=None, max_examples=60)
@given(label_arrays, rates, st.integers(0, 2**64 - 1), st.randoms(use_true_random=False))
def test_permuted_subset_has_the_same_labels(case, rate, seed, shuffler):
    classes, labels = case
    labels = np.array(labels, dtype=np.int64)
    whole = corrupt(labels, f"symmetric({rate!r})", num_classes=classes, seed=seed)
    order = list(range(len(labels)))
    shuffler.shuffle(order)
    order = np.array(order[: len(labels) // 2 + 1], dtype=np.int64)
    part = corrupt(labels[order], f"symmetric({rate!r})", num_classes=classes, seed=seed, index=order)
    assert torch.equal(part.labels, whole.labels[torch.from_numpy(order)])


@settings(deadline=None, max_examples=60)
@given(label_arrays, rates, st.integers(0, 1000), st.sampled_from([True, "per_class"]), st.booleans())
def test_exact_counts_are_exact(case, rate, seed, exact, permuted):
    classes, labels = case
    labels = np.array(labels, dtype=np.int64)
    index = np.arange(len(labels))[::-1] * 7 if permuted else None
    made = corrupt(labels, f"symmetric({rate!r})", num_classes=classes, seed=seed, exact=exact, index=index)
    parts = [labels >= 0] if exact is True else [labels == c for c in range(classes)]
    for part in parts:
        assert abs(int(made.flipped.numpy()[part].sum()) - rate * part.sum()) <= 0.5 + 1e-9


@settings(deadline=None, max_examples=40)
@given(label_arrays, st.integers(0, 100))
def test_exact_draws_do_not_depend_on_the_order(case, seed):
    classes, labels = case
    labels = np.array(labels, dtype=np.int64)
    for exact in (True, "per_class"):
        whole = corrupt(labels, "symmetric(0.4)", num_classes=classes, seed=seed, exact=exact)
        order = np.arange(len(labels))[::-1]
        turned = corrupt(
            labels[order], "symmetric(0.4)", num_classes=classes, seed=seed, exact=exact, index=order
        )
        assert torch.equal(turned.labels.flip(0), whole.labels)


@settings(deadline=None, max_examples=40)
@given(label_arrays, rates, st.integers(0, 1000))
def test_flips_at_a_lower_rate_are_a_subset(case, rate, seed):
    """Samples flipped at a lower rate are also flipped at a higher one: curves over the rate are smooth."""
    classes, labels = case
    less = corrupt(labels, f"symmetric({rate / 2!r})", num_classes=classes, seed=seed)
    more = corrupt(labels, f"symmetric({rate!r})", num_classes=classes, seed=seed)
    assert torch.equal(more.labels[less.flipped], less.labels[less.flipped])


def test_golden_labels():
    """Published noise must be reproducible by every later version."""
    labels, inputs = np.arange(20) % 5, np.linspace(-1, 1, 40).reshape(20, 2)
    golden = {
        ("symmetric(0.5)", False): [0, 1, 2, 3, 3, 4, 4, 4, 3, 3, 0, 1, 2, 1, 4, 0, 1, 2, 4, 3],
        ("symmetric(0.5)", "per_class"): [0, 1, 2, 4, 4, 4, 4, 4, 3, 3, 1, 1, 2, 1, 4, 0, 0, 4, 3, 3],
        ('cycle(0.5, grouping="all")', False): [0, 1, 2, 3, 0, 1, 2, 3, 3, 0, 0, 1, 2, 4, 4, 0, 1, 2, 4, 0],
        ('pair(0.5, grouping="all")', False): [0, 1, 2, 3, 4, 0, 1, 3, 3, 4, 0, 1, 2, 2, 4, 0, 1, 2, 2, 4],
        ("instance(0.5)", False): [0, 1, 2, 3, 2, 4, 4, 4, 3, 3, 0, 1, 2, 1, 4, 0, 1, 2, 1, 3],
    }
    for (spec, exact), wanted in golden.items():
        made = corrupt(labels, spec, num_classes=5, seed=2024, exact=exact, inputs=inputs)
        assert made.labels.tolist() == wanted, spec


def test_samples_with_equal_index_have_equal_labels():
    """Augmented copies keep the noisy label of their source."""
    labels = np.arange(50) % 10
    once = corrupt(labels, "symmetric(0.5)", num_classes=10, seed=3).labels
    twice = corrupt(
        np.tile(labels, 2), "symmetric(0.5)", num_classes=10, seed=3, index=np.tile(np.arange(50), 2)
    )
    assert torch.equal(twice.labels, once.repeat(2))
    with pytest.raises(ValueError, match="index 0 occurs more than once"):
        corrupt([0, 1], "symmetric(0.4)", num_classes=2, seed=0, exact=True, index=[0, 0])


def test_realised_matrix_converges_to_the_requested_one():
    labels = np.arange(200_000) % 10
    for spec in ("symmetric(0.4)", 'asymmetric(0.4, map="cifar10", mutated=True)'):
        made = corrupt(labels, spec, num_classes=10, seed=0)
        assert (made.transition - transition(spec, num_classes=10)).abs().max() < 0.015


def test_rates_and_destinations_over_100_seeds():
    """Every seed within 4 standard errors, and the wrong labels uniform over the other classes."""
    labels = np.arange(5000) % 10
    for seed in range(100):
        made = corrupt(labels, "symmetric(0.4)", num_classes=10, seed=seed)
        assert abs(made.manifest.realised_rate - 0.4) <= 4 * np.sqrt(0.24 / 5000)
        steps = (made.labels.numpy() - labels)[made.flipped.numpy()] % 10
        counts = np.bincount(steps, minlength=10)[1:]
        statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
        p = torch.special.gammaincc(torch.tensor(4.0), torch.tensor(statistic / 2, dtype=torch.float32))
        assert p > 1e-4


def test_only_noise_beyond_the_limit_warns():
    for spec in ("symmetric(0.9)", "symmetric(0.95)", "symmetric(1.0, inclusive=True)"):
        with pytest.warns(UserWarning, match="no loss can be robust"):
            corrupt([0, 1], spec, num_classes=10, seed=0)
        with pytest.warns(UserWarning, match="with 10 classes"):
            transition(spec, num_classes=10)
    corrupt([0, 1], "symmetric(0.89)", num_classes=10, seed=0)
    corrupt([0, 1], "symmetric(0.95, inclusive=True)", num_classes=10, seed=0)


def test_numpy_bools_are_accepted():
    for flag in (True, False):
        made = [
            corrupt([0, 1] * 20, "symmetric(0.3)", num_classes=2, seed=0, exact=kind(flag))
            for kind in (bool, np.bool_)
        ]
        assert made[0].manifest == made[1].manifest
        assert made[1].manifest.exact is flag
        assert made[1].manifest.to_json()


def test_rows_by_class():
    """Equal to a loop over the classes, in the same order."""
    labels = np.random.default_rng(0).integers(0, 50, 2000)
    found = rows_by_class(labels)
    wanted = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    assert [rows.tolist() for rows in found] == [rows.tolist() for rows in wanted]
    assert rows_by_class(labels[:0]) == []


def test_empty_labels():
    made = corrupt([], "symmetric(0.4)", num_classes=3, seed=0, exact="per_class")
    assert len(made) == 0
    assert torch.equal(made.transition, torch.eye(3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": [0, 1, 7]}, ValueError, r"labels\[2\] = 7 is not a valid class: with 3 classes"),
        ({"labels": [0, -1, 0]}, ValueError, r"labels\[1\] = -1"),
        ({"labels": [0.0, 1.0]}, TypeError, r"labels\[0\] = 0.0 is a float64.*whole numbers.*astype"),
        ({"labels": ["cat"]}, TypeError, r"labels\[0\] = cat is a str"),
        ({"labels": [[0, 1]]}, ValueError, r"labels has shape \(1, 2\)"),
        ({"labels": [0.0, 1.5, 2.0]}, TypeError, r"labels\[1\] = 1\.5 .*not a whole number$"),
        ({"labels": torch.zeros(3, dtype=torch.bfloat16)}, TypeError, "labels is bfloat16, which rounds"),
        ({"labels": load("digits")}, TypeError, r"got a LabelledData: pass data\.label"),
        ({"spec": 0.4}, TypeError, r'a spec such as "symmetric\(0\.4\)".*got 0\.4'),
        ({"spec": None}, TypeError, r'a spec such as "symmetric\(0\.4\)".*got None'),
        ({"num_classes": 1}, ValueError, "num_classes=1"),
        ({"num_classes": 3.0}, TypeError, "num_classes"),
        ({"seed": -1}, ValueError, "seed=-1"),
        ({"seed": 2**64}, ValueError, "seed"),
        ({"seed": 1.5}, TypeError, "seed must be a whole number, got 1.5"),
        ({"exact": "perclass"}, ValueError, "exact='perclass' is unknown"),
        ({"exact": 1}, ValueError, "exact=1 is unknown"),
        ({"index": [0, 1]}, ValueError, "2 indices do not fit 3 labels"),
        ({"index": [0, 1, -4]}, ValueError, r"index\[2\] = -4 is negative"),
        ({"groups": [0, 1]}, ValueError, r"each of the 3 classes, got shape \(2,\)"),
        ({"groups": [0.5, 1, 2]}, TypeError, "groups must be whole numbers or names"),
    ],
)
def test_invalid_arguments_are_refused(change, error, message):
    arguments = {"labels": [0, 1, 2], "spec": "symmetric(0.2)", "num_classes": 3, "seed": 0, **change}
    with pytest.raises(error, match=message):
        corrupt(**arguments)
