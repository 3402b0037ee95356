"""Helpers of the tests of methods: training information and random numbers."""

import torch

from noiseproof.methods import TrainingInfo


def training_info(label, *, classes=None, features=None, index=None, epochs=100, seed=0):
    label = torch.as_tensor(label)
    index = torch.arange(len(label)) if index is None else torch.as_tensor(index)
    return TrainingInfo(label, index, classes or int(label.max()) + 1, features, epochs, seed)


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
