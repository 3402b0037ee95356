"""Findings of trained runs: clean digits, small tables, barely trained networks."""

import numpy as np
import pytest
import torch
from label_samples import f1

from noiseproof import labels, train


def trained(data, folder, **settings):
    config = train.Config(
        data=data, test=settings.pop("test", None), out=str(folder), device="cpu", **settings
    )
    train.fit(config)
    return labels.find(folder, statistics=False)


def small_csv(path, seed):
    """Write 200 rows of two classes that overlap little; return a mask of the 5% wrong labels."""
    generator = np.random.default_rng(seed)
    clean, wrong = generator.integers(0, 2, 200), generator.random(200) < 0.05
    points = generator.normal(size=(200, 4)) + np.outer(2 * clean - 1, [2.0, 2.0, 0.0, 0.0])
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{d:.4f}" for a, b, c, d in points]
    lines = [f"{row},{'xy'[kind]}" for row, kind in zip(rows, clean ^ wrong, strict=True)]
    path.write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n")
    return torch.tensor(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("epochs", [15, 100])
def test_clean_digits_have_few_suspects(seed, epochs, tmp_path):
    found = trained("digits", tmp_path / "run", epochs=epochs, seed=seed)
    assert found.is_label_issue.mean() <= 0.035
    assert found.attrs["weak"] == (epochs == 15)


@pytest.mark.parametrize("loss", ["ce", pytest.param("gce", marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_clean_digits_with_high_learning_rate_have_few_suspects(loss, seed, tmp_path):
    settings = {"epochs": 15, "lr": 0.05, "model": "mlp(norm=True)"}
    found = trained("digits", tmp_path / "run", loss=loss, seed=seed, **settings)
    assert found.is_label_issue.mean() < 0.025
    assert not found.attrs["weak"]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_wrong_labels_of_small_table_are_found(seed, tmp_path):
    wrong = small_csv(tmp_path / "a.csv", seed)
    data = f"csv(path={str(tmp_path / 'a.csv')!r})"
    found = trained(data, tmp_path / "run", test="none", seed=seed, epochs=100)
    marked = torch.tensor(found.is_label_issue.to_numpy())
    assert f1(marked, wrong) > 0.8
    assert (marked & ~wrong).sum() <= 4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_barely_trained_network_is_weak_evidence(seed, tmp_path):
    small_csv(tmp_path / "a.csv", seed)
    data = f"csv(path={str(tmp_path / 'a.csv')!r})"
    found = trained(data, tmp_path / "run", test="none", seed=seed, epochs=5, lr=0.00001)
    assert found.attrs["weak"]
