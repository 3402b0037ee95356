"""Presets: the variants of public repositories, each against its own counts."""

import itertools

import numpy as np
import pytest

from noiseproof.noise import PRESETS, corrupt, get

CIFAR10 = np.arange(50_000) % 10
CIFAR100 = np.arange(50_000) % 100
CASES = list(itertools.chain.from_iterable(((name, key) for key in table) for name, table in PRESETS.items()))


def corrupted(name, dataset, kind, rate=0.4):
    clean, classes = (CIFAR100, 100) if dataset == "cifar100" else (CIFAR10, 10)
    arguments = PRESETS[name][dataset, kind].at(rate)
    return corrupt(
        clean, **arguments, num_classes=classes, seed=1, groups=np.arange(classes) % (classes // 5)
    )


@pytest.mark.parametrize(("name", "key"), CASES)
def test_presets_have_the_published_rate(name, key):
    noisy = corrupted(name, *key)
    noise = get(noisy.manifest.spec)
    classes = noisy.manifest.num_classes
    share = {"asymmetric": 0.5, "pair": 0.4}.get(noise.name, 1.0) * 0.4
    wanted = share * (1 - 1 / classes) if noise.inclusive else share
    wanted = (0.24 + 4 * 0.4) / 10 if getattr(noise, "mutated", False) else wanted
    assert noisy.manifest.realised_rate == pytest.approx(
        wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / 50_000)
    )


@pytest.mark.parametrize("name", ["apl", "alfs", "elr"])
def test_mutated_rates_of_cats_and_dogs(name):
    rates = corrupted(name, "cifar10", "asymmetric").manifest.class_rates
    assert rates[3] == pytest.approx(0.24, abs=1e-9)
    assert rates[5] == pytest.approx(0.40, abs=1e-9)
    assert (rates[9], rates[2], rates[4], rates[1]) == (0.4, 0.4, 0.4, 0.0)


def walk_on_mutated_labels(labels, generator, rate=0.4):
    """The loop of the public code, in its order."""
    labels = labels.copy()
    for source, destination in ((9, 1), (2, 0), (3, 5), (5, 3), (4, 7)):
        of_class = np.flatnonzero(labels == source)
        labels[generator.choice(of_class, int(rate * len(of_class)), replace=False)] = destination
    return labels


def test_mutated_preset_matches_public_code():
    walked = walk_on_mutated_labels(CIFAR10, np.random.default_rng(0))
    noisy = corrupted("apl", "cifar10", "asymmetric")
    for clean in range(10):
        for counts in (
            [np.bincount(x[clean == CIFAR10], minlength=10) for x in (walked, noisy.labels.numpy())],
        ):
            assert np.abs(counts[0] - counts[1]).max() <= 4 * np.sqrt(2800 * 0.29 * 0.71 * 0.6)


@pytest.mark.parametrize("name", ["sl", "patrini", "dividemix", "nal"])
def test_other_presets_flip_clean_labels(name):
    rates = corrupted(name, "cifar10", "asymmetric").manifest.class_rates
    assert rates[3] == pytest.approx(0.4, abs=0.03)
    assert rates[5] == pytest.approx(0.4, abs=0.03)


def test_independent_per_class_and_exact_counts():
    stratified = corrupted("apl", "cifar10", "symmetric").manifest
    multinomial = corrupted("co_teaching", "cifar10", "symmetric").manifest
    inclusive = corrupted("dividemix", "cifar10", "symmetric").manifest
    assert set(stratified.class_rates) == {0.4}
    assert len(set(multinomial.class_rates)) > 5
    assert inclusive.realised_rate == pytest.approx(0.36, abs=0.005)
    assert (stratified.inclusive, multinomial.inclusive, inclusive.inclusive) == (False, False, True)


def test_blocks_and_superclasses():
    groups = np.arange(100) % 20
    for name, grouping in (("patrini", np.arange(100) // 5), ("curriculum", groups), ("gr", groups)):
        noisy = corrupted(name, "cifar100", "asymmetric")
        assert np.array_equal(grouping[noisy.labels.numpy()], grouping[CIFAR100])
    flip = corrupted("co_teaching", "cifar100", "pair_flip", rate=0.45)
    moved = (flip.labels.numpy() - CIFAR100) % 100
    assert set(moved.tolist()) == {0, 1}
