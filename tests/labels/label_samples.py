"""Synthetic records with known wrong labels."""

import torch

from noiseproof.dynamics import Record

CLASSES = 5


def synthetic_record(samples=2000, epochs=30, rate=0.3, seed=0, memorises=True, ignored=(), spread=2.5):
    """Return a record and a mask of the wrong labels.

    Margins of right labels rise from 0 to 6; those of wrong ones fall to -5 and, if the network memorises,
    rise to 6 in the second half, all with normal noise. Margins of ignored classes are low in all epochs.
    """
    generator = torch.Generator().manual_seed(seed)
    clean = torch.randint(CLASSES, (samples,), generator=generator)
    wrong = torch.rand(samples, generator=generator) < rate
    other = (clean + torch.randint(1, CLASSES, (samples,), generator=generator)) % CLASSES
    label = torch.where(wrong, other, clean)
    time = torch.linspace(0, 1, epochs).unsqueeze(1)
    right_way = 6 * (3 * time).clamp_max(1)
    wrong_way = -5 * (4 * time).clamp_max(1)
    if memorises:
        wrong_way = torch.where(time > 0.5, -5 + 11 * (4 * time - 2).clamp_max(1), wrong_way)
    noise = spread * torch.randn(epochs, samples, generator=generator)
    margin = torch.where(wrong, wrong_way, right_way) + noise
    prediction = torch.where(margin > 0, label, torch.where(wrong, clean, (label + 1) % CLASSES))
    for lost in ignored:
        margin[:, label == lost] -= 14
        neighbour = (lost + 1) % CLASSES
        prediction = torch.where(prediction == lost, neighbour, prediction)
    names = tuple(f"class {k}" for k in range(CLASSES))
    index = torch.arange(samples) * 3 + 1
    return Record(index, label, clean, names, margin.half(), prediction.int()), wrong


def f1(marked, wrong):
    hits = float((marked & wrong).sum())
    return 2 * hits / float(marked.sum() + wrong.sum())


def best_f1(score, wrong):
    """The highest F1 of any threshold of a score."""
    hits = wrong[score.argsort()].double().cumsum(0)
    return float((2 * hits / (torch.arange(1, len(score) + 1) + wrong.sum())).max())


def average_precision(score, wrong):
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(wrong, -score))
