"""Networks that have not learned contradict right labels: from when on they are heard, and how far."""

import math

import numpy as np
import pytest
import torch
from label_samples import f1, made_up

from noiseproof import labels, train
from noiseproof.data import load
from noiseproof.dynamics import Record
from noiseproof.labels.learned import Progress, is_weak, learned_from, learns_by_heart, progress


def course(agreed, sure):
    return Progress(torch.tensor(agreed), torch.tensor(sure))


def trained(data, folder, **settings):
    config = train.Config(
        data=data, test=settings.pop("test", None), out=str(folder), device="cpu", **settings
    )
    train.fit(config)
    return labels.find(folder, statistics=False)


def small_csv(path, seed, scale=1.0):
    """200 rows of two classes that overlap little, 5% of the labels wrong; returns which."""
    generator = np.random.default_rng(seed)
    clean, wrong = generator.integers(0, 2, 200), generator.random(200) < 0.05
    points = generator.normal(size=(200, 4)) + np.outer(2 * clean - 1, [2.0, 2.0, 0.0, 0.0])
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{d:.4f}" for a, b, c, d in scale * points]
    lines = [f"{row},{'xy'[kind]}" for row, kind in zip(rows, clean ^ wrong, strict=True)]
    path.write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n")
    return torch.tensor(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("epochs", [15, 100])
def test_clean_digits_are_hardly_suspected(seed, epochs, tmp_path):
    found = trained("digits", tmp_path / "run", epochs=epochs, seed=seed)
    assert found.is_label_issue.mean() <= 0.035
    assert found.attrs["weak"] == (epochs == 15)


@pytest.mark.parametrize("loss", ["ce", "gce"])
@pytest.mark.parametrize("seed", [3, 4])
def test_clean_digits_learned_fast_are_hardly_suspected(loss, seed, tmp_path):
    settings = {"epochs": 15, "lr": 0.05, "model": "mlp(norm=True)"}
    found = trained("digits", tmp_path / "run", loss=loss, seed=seed, **settings)
    assert found.is_label_issue.mean() < 0.025
    assert not found.attrs["weak"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_wrong_labels_of_a_small_table_are_found_and_few_others(seed, tmp_path):
    wrong = small_csv(tmp_path / "a.csv", seed)
    found = trained(f"csv(path={str(tmp_path / 'a.csv')!r})", tmp_path / "run", test="none", seed=seed)
    marked = torch.tensor(found.is_label_issue.to_numpy())
    assert found.attrs["window_begin"] >= 2
    assert f1(marked, wrong) > 0.8
    assert (marked & ~wrong).sum() <= 4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_small_table_that_is_hardly_learned_names_few(seed, tmp_path):
    wrong = small_csv(tmp_path / "a.csv", seed, scale=0.1)
    data = load(f"csv(path={str(tmp_path / 'a.csv')!r})").plain()
    train.fit(train.Config(seed=seed, epochs=30, out=str(tmp_path / "run"), device="cpu"), data=data)
    found = labels.find(tmp_path / "run", statistics=False)
    marked = torch.tensor(found.is_label_issue.to_numpy())
    assert found.attrs["weak"]
    assert (marked & ~wrong).sum() <= 2


def test_epochs_before_the_network_is_sure_are_not_heard():
    record, wrong = made_up(rate=0.2, memorises=False)
    blind = 0.1 * torch.randn(10, 2000, generator=torch.Generator().manual_seed(1))
    record.margin[:10] = (blind - math.log(4)).half()
    record.prediction[:10] = torch.randint(5, (10, 2000), generator=torch.Generator().manual_seed(2)).int()
    found = labels.find(record)
    assert found.attrs["window_begin"] >= 10
    assert f1(torch.tensor(found.is_label_issue.to_numpy()), wrong) > 0.98


def test_an_unsure_network_names_only_labels_below_a_blind_guess():
    record, _ = made_up(rate=0.0, memorises=False, samples=400)
    record.margin[:] = -1.0
    record.margin[:, :7] = -1.9
    record.prediction[:] = ((record.label + torch.arange(400) % 2) % 5).int()
    record.prediction[:, :7] = ((record.label[:7] + 1) % 5).int()
    found = labels.find(record)
    assert found.attrs["weak"]
    assert found.index[found.is_label_issue].tolist() == list(range(7))


def test_progress_counts_what_was_seen():
    record, _ = made_up(samples=300)
    record.margin[3, :100], record.prediction[3, :100] = torch.nan, -1
    agreed, sure, blind = progress(record)
    assert blind == float(record.label.bincount().max()) / 300
    right = (record.prediction[3] == record.label)[100:]
    assert float(agreed[3]) == pytest.approx(float(right.float().mean()))
    assert float(sure[3]) == pytest.approx(float(record.margin[3, 100:][right].float().sigmoid().mean()))


def test_a_high_agreement_to_come_keeps_an_epoch_from_being_heard():
    assert learned_from(course([0.1] * 3 + [0.8] * 7, [0.1] * 3 + [0.79] * 7)) == 3
    assert learned_from(course([0.3] * 10 + [0.8], [0.3] * 10 + [0.79])) == 0
    assert learned_from(course([0.0, 0.0], [0.0, 0.0])) is None


def test_who_always_says_the_most_frequent_label_has_not_learned():
    blind = course([0.7] * 8 + [0.9] * 4, [0.7] * 8 + [0.9] * 4)
    assert learned_from(blind) == 0
    assert learned_from(blind._replace(blind=0.7)) == 8
    assert learned_from(course([0.7] * 8, [0.7] * 8)._replace(blind=0.7)) is None


def test_rare_labels_are_not_suspected_by_a_network_that_knows_only_how_rare_they_are():
    record, _ = made_up(samples=1000, rate=0.0)
    label = (torch.arange(1000) % 10 == 0).long()
    share = torch.where(label == 1, math.log(1 / 9), math.log(9))
    noise = 0.05 * torch.randn(30, 1000, generator=torch.Generator().manual_seed(0))
    never = torch.zeros(30, 1000, dtype=torch.int32)
    found = labels.find(Record(record.index, label, None, ("a", "b"), (share + noise).half(), never))
    assert found.attrs["weak"]
    assert not found.is_label_issue.any()


def test_sureness_that_falls_behind_tells_learning_by_heart():
    assert learns_by_heart(course([0.6] * 6 + [0.95] * 6, [0.6] * 6 + [0.8] * 6), 0)
    assert not learns_by_heart(course([0.6] * 6 + [0.95] * 6, [0.5] * 6 + [0.94] * 6), 0)


def test_weak_is_who_never_learned_or_is_less_than_half_sure():
    unsure, sure = course([0.4] * 4, [0.45] * 4), course([0.6] * 4, [0.6] * 4)
    assert is_weak(unsure, 0, 4)
    assert not is_weak(sure, 0, 4)
    assert is_weak(sure, None, 4)
