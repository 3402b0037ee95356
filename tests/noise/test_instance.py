"""Instance-dependent noise compared with a plain loop, and checks of its inputs."""

import numpy as np
import pytest
import torch

from noiseproof.data import load
from noiseproof.noise import Instance, corrupt
from noiseproof.noise import features as features_module
from noiseproof.noise.corrupt import as_samples
from noiseproof.noise.draws import DESTINATION, SELECTION, uniform
from noiseproof.noise.instance import truncated_normal


def problem(count=600, classes=5, features=(2, 3)):
    generator = np.random.default_rng(0)
    return generator.integers(0, classes, count), generator.standard_normal((count, *features))


def naive(labels, inputs, rate, seed, classes):
    """The published algorithm, one sample after the other."""
    case = as_samples(labels, classes, seed, inputs=inputs)
    noise = Instance(rate)
    flat = inputs.reshape(len(labels), -1)
    rates = noise.rates(case)
    made = labels.copy()
    for i, label in enumerate(labels):
        if uniform(seed, np.array([i]), SELECTION)[0] >= rates[i]:
            continue
        score = flat[i] @ noise.projection(case, int(label), flat)
        score[label] = -np.inf
        share = np.exp(score - score.max())
        cumulative = np.cumsum(share) / share.sum()
        made[i] = next(
            j for j in range(classes) if uniform(seed, np.array([i]), DESTINATION)[0] < cumulative[j]
        )
    return made


def test_instance_noise_matches_a_plain_loop():
    labels, inputs = problem()
    made = corrupt(labels, "instance(0.4)", num_classes=5, seed=3, inputs=inputs)
    assert made.labels.tolist() == naive(labels, inputs, 0.4, 3, 5).tolist()


def test_new_label_depends_on_the_input():
    """Samples with equal input and label almost always get the same new label if the scores are large."""
    labels = np.zeros(2000, dtype=int)
    inputs = np.tile(np.random.default_rng(0).standard_normal((1, 400)) * 3, (2000, 1))
    made = corrupt(labels, "instance(0.5)", num_classes=10, seed=0, inputs=inputs)
    assert len(set(made.labels[made.flipped].tolist())) == 1
    other = corrupt(labels, "instance(0.5)", num_classes=10, seed=0, inputs=-inputs)
    assert torch.equal(made.flipped, other.flipped)
    assert not torch.equal(made.labels, other.labels)


def test_half_precision_inputs():
    labels, inputs = problem()
    for half in (torch.bfloat16, torch.float16):
        rounded = torch.from_numpy(inputs).to(half)
        made = [
            corrupt(labels, "instance(0.4)", num_classes=5, seed=0, inputs=x)
            for x in (rounded, rounded.double())
        ]
        assert torch.equal(made[0].labels, made[1].labels)


def test_truncated_normal_moments():
    chance = (np.arange(100_000) + 0.5) / 100_000
    wide = truncated_normal(0.1, 0.1, chance)
    assert ((wide >= 0) & (wide <= 1)).all()
    assert wide.mean() == pytest.approx(0.1288, abs=1e-4)
    assert truncated_normal(0.4, 0.1, chance).std() == pytest.approx(0.1, abs=1e-3)


def test_inputs_of_any_memory_layout():
    labels, inputs = problem()
    wanted = corrupt(labels, "instance(0.4)", num_classes=5, seed=0, inputs=inputs).labels
    for same in (torch.from_numpy(inputs), inputs.reshape(600, 6), np.asfortranarray(inputs)):
        assert torch.equal(
            corrupt(labels, "instance(0.4)", num_classes=5, seed=0, inputs=same).labels, wanted
        )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, "inputs are missing: pass inputs="),
        (np.zeros((2, 4)), r"shape \(2, 4\).*do not fit 3 labels"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([["a"], ["b"], ["c"]]), "numbers of shape"),
        (np.array([[0.0], [np.inf], [0.0]]), r"inputs\[1\] is not finite"),
    ],
)
def test_invalid_inputs_are_refused(inputs, message):
    with pytest.raises(ValueError, match=message):
        corrupt([0, 1, 2], "instance(1.0)", num_classes=3, seed=0, inputs=inputs)


class Counted:
    """Lazy inputs that record the positions that were read."""

    def __init__(self, rows):
        self.rows, self.seen = torch.as_tensor(rows), []

    def __len__(self):
        return len(self.rows)

    def read(self, positions):
        self.seen.append(positions.tolist())
        return self.rows[torch.from_numpy(positions)]


def test_subset_of_a_dataset():
    data = load("digits").subset(range(100))
    made = corrupt(data.label, "instance(0.4)", num_classes=10, seed=0, inputs=data.inputs)
    rows = torch.as_tensor(load("digits").inputs)[:100]
    assert torch.equal(
        made.labels, corrupt(data.label, "instance(0.4)", num_classes=10, seed=0, inputs=rows).labels
    )
    assert made.flipped.any()


def test_lazy_inputs_are_read_in_chunks_and_only_for_flipped_rows(monkeypatch):
    labels, inputs = problem()
    wanted = corrupt(labels, "instance(0.4)", num_classes=5, seed=0, inputs=inputs)
    monkeypatch.setattr(features_module, "CHUNK", 6 * 7)
    lazy = Counted(inputs)
    made = corrupt(labels, "instance(0.4)", num_classes=5, seed=0, inputs=lazy)
    assert torch.equal(made.labels, wanted.labels)
    shape, *parts = lazy.seen
    assert shape == [0]
    assert max(map(len, parts)) == 7
    assert sorted(row for part in parts for row in part) == made.flipped.nonzero().flatten().tolist()


def test_invalid_lazy_inputs_are_refused():
    rows = torch.zeros(3, 2)
    with pytest.raises(ValueError, match="3 inputs do not fit 2 labels"):
        corrupt([0, 1], "instance(1.0)", num_classes=2, seed=0, inputs=Counted(rows))
    rows[2] = torch.nan
    with pytest.raises(ValueError, match=r"inputs\[2\] is not finite"):
        corrupt([0, 1, 1], "instance(1.0)", num_classes=2, seed=0, inputs=Counted(rows))
    assert len(corrupt([], "instance(1.0)", num_classes=2, seed=0, inputs=Counted(rows[:0]))) == 0
