"""Transition matrices of specs, and realised ones."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from real_world_trees import put

from noiseproof.data import DataMissingError
from noiseproof.noise import corrupt, realised_transition, transition


@settings(deadline=None, max_examples=50)
@given(st.floats(0, 0.5), st.integers(1, 5), st.integers(0, 9), st.sampled_from(["sibling", "pair", "cycle"]))
def test_transition_rows_sum_to_one_within_the_group(rate, groups, seed, name):
    classes = 4 * groups
    of = np.arange(classes) % groups
    matrix = transition(f"{name}({rate!r})", num_classes=classes, groups=of, seed=seed).numpy()
    assert np.abs(matrix.sum(1) - 1).max() < 1e-12
    assert (matrix >= 0).all()
    assert not matrix[of[:, None] != of[None, :]].any()
    assert np.abs(matrix.sum(0) - 1).max() < 1e-12, "these noises keep the class frequencies"


def test_symmetric_matrices():
    exclusive = transition("symmetric(0.4)", num_classes=10)
    inclusive = transition("symmetric(0.4, inclusive=True)", num_classes=10)
    assert exclusive[0, 0] == pytest.approx(0.6)
    assert exclusive[0, 1] == pytest.approx(0.4 / 9)
    assert inclusive[0, 0] == pytest.approx(0.64)
    assert inclusive[0, 1] == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("name", "flips"),
    [
        ("cifar10", {9: 1, 2: 0, 3: 5, 5: 3, 4: 7}),
        ("mnist", {7: 1, 2: 7, 3: 8, 5: 6, 6: 5}),
    ],
)
def test_named_maps(name, flips):
    wanted = np.eye(10)
    for source, destination in flips.items():
        wanted[source, source], wanted[source, destination] = 0.6, 0.4
    found = transition(f'asymmetric(0.4, map="{name}")', num_classes=10).numpy()
    assert np.abs(found - wanted).max() < 1e-12
    assert 1 - np.diag(found).mean() == pytest.approx(0.2)


def test_mutated_asymmetric_matrix():
    """Public code flips labels that it has flipped before: at 0.4, 24% of cats and 40% of dogs are wrong."""
    matrix = transition('asymmetric(0.4, map="cifar10", mutated=True)', num_classes=10)
    assert matrix[3, 5] == pytest.approx(0.24)
    assert matrix[5, 3] == pytest.approx(0.4)
    assert matrix[2, 0] == pytest.approx(0.4)
    chain = transition('asymmetric(0.5, map="0>1,1>2", mutated=True)', num_classes=3)
    assert chain[0].tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_pair_depends_on_the_seed_only():
    picked = {}
    for seed in range(40):
        matrix = transition('pair(0.4, grouping="index_block")', num_classes=100, seed=seed)
        changed = np.flatnonzero(matrix.diagonal().numpy() < 1)
        assert np.bincount(changed // 5).tolist() == [2] * 20
        picked[seed] = tuple(changed)
    assert len(set(picked.values())) == 40
    positions = np.bincount(np.concatenate([np.array(p) % 5 for p in picked.values()]))
    assert abs(positions - 320).max() < 4 * np.sqrt(800 * 0.4 * 0.6)


def test_cycle_stays_in_superclasses():
    matrix = transition("cycle(1.0)", num_classes=6, groups=["b", "a", "b", "a", "a", "b"])
    assert matrix.argmax(1).tolist() == [2, 3, 5, 4, 1, 0]


def test_realised_counts():
    made = realised_transition(torch.tensor([0, 0, 0, 2]), np.array([0, 1, 1, 2]), num_classes=3)
    assert made.tolist() == [[1 / 3, 2 / 3, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(ValueError, match="2 clean labels do not fit 1 noisy"):
        realised_transition([0, 1], [0], num_classes=2)


def test_instance_noise_has_no_matrix():
    for spec in ("instance(0.4)", 'human("labels.npy")'):
        with pytest.raises(TypeError, match="depends not only on the class"):
            transition(spec, num_classes=10)
    assert torch.equal(transition("open_set(0.3)", num_classes=3), torch.eye(3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (np.ones((2, 3)) / 3, ValueError, r"\(K, K\) with K >= 2, got \(2, 3\)"),
        (np.array([[0.5, 0.5], [0.9, 0.2]]), ValueError, "row 1 of the transition matrix sums to 1.1"),
        (np.array([[1.5, -0.5], [0.0, 1.0]]), ValueError, r"transition\[0, 1\] = -0.5 is not a probability"),
        (np.array([[np.nan, 1.0], [0.0, 1.0]]), ValueError, r"transition\[0, 0\] = nan"),
        (np.array([["a", "b"], ["c", "d"]]), TypeError, "must hold numbers"),
        (np.eye(4), ValueError, "a matrix of 4 classes does not fit num_classes=2"),
    ],
)
def test_invalid_matrices_are_refused(matrix, error, message):
    with pytest.raises(error, match=message):
        corrupt([0, 1], matrix, num_classes=2, seed=0)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), st.integers(0, 1000))
def test_labels_follow_a_given_matrix(classes, seed):
    wanted = np.random.default_rng(seed).dirichlet(np.full(classes, 0.5), classes)
    assert np.abs(transition(wanted, num_classes=classes).numpy() - wanted).max() < 1e-12
    made = corrupt(np.arange(3000) % classes, wanted, num_classes=classes, seed=seed)
    error = np.abs(made.transition.numpy() - wanted)
    tail = 10 * classes / 3000
    assert (error <= 6 * np.sqrt(wanted * (1 - wanted) * classes / 3000) + tail).all()


def clothing1m_lists(folder):
    """Four images of class 0 and one of each other class; other lists and images without two labels."""
    clean = {"a": 0, "b": 0, "c": 0, "alone": 0} | {f"of{k}": k for k in range(1, 14)}
    noisy = {"a": 0, "b": 3, "c": 3, "of13": 0, "other": 9} | {f"of{k}": k for k in range(1, 13)}
    aside = {"val": 1, "test": 2}
    pages = {f"clean_{part}_key_list": [f"{part}.jpg"] for part in aside}
    pages |= {"clean_train_key_list": [f"{key}.jpg" for key in clean], "noisy_train_key_list": ["other.jpg"]}
    pages["clean_label_kv"] = [f"{key}.jpg {k}" for key, k in (clean | aside).items()]
    pages["noisy_label_kv"] = [f"{key}.jpg {k}" for key, k in (noisy | dict.fromkeys(aside, 5)).items()]
    put(folder, {f"{name}.txt": "\n".join(lines) + "\n" for name, lines in pages.items()})
    return folder


def test_matrix_of_clothing1m_is_counted_on_clean_training_images(tmp_path, monkeypatch):
    wanted = np.eye(14)
    wanted[0, 0], wanted[0, 3] = 1 / 3, 2 / 3
    wanted[13, 13], wanted[13, 0] = 0, 1
    clothing1m_lists(tmp_path / "clothing1m")
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    assert np.abs(transition("clothing1m", num_classes=14).numpy() - wanted).max() < 1e-12
    (tmp_path / "clothing1m").rename(tmp_path / "mine")
    found = transition(f"clothing1m(root={str(tmp_path / 'mine')!r})", num_classes=14).numpy()
    assert np.abs(found - wanted).max() < 1e-12
    with pytest.raises(ValueError, match="clothing1m: a matrix of 14 classes does not fit num_classes=10"):
        transition(f"clothing1m(root={str(tmp_path / 'mine')!r})", num_classes=10)
    with pytest.raises(DataMissingError, match="clothing1m is not complete"):
        transition("clothing1m", num_classes=14)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "noisy_label_kv.txt",
            "of6.jpg 6\n",
            "",
            "clean_train_key_list.txt: no image of the class 'Windbreaker' has a label in noisy_label_kv",
        ),
        (
            "noisy_label_kv.txt",
            "of6.jpg 6",
            "of6.jpg 14",
            "'of6.jpg' has the label '14', not one of 0 ... 13",
        ),
        ("clean_label_kv.txt", "of6.jpg 6\n", "", "line 10: 'of6.jpg' has no label in clean_label_kv.txt"),
    ],
)
def test_incomplete_lists_of_clothing1m_are_named(tmp_path, file, old, new, message):
    path = clothing1m_lists(tmp_path) / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        transition(f"clothing1m(root={str(tmp_path)!r})", num_classes=14)
    assert "\n" not in str(caught.value)
