"""Batches of an epoch: the order of their samples, and how they become inputs of the network."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..counter import draw, shifted_right
from ..data import Batch, LabelledData, augmentation
from .config import Config

ORDER, SPLIT, NETWORK = 1 << 20, (1 << 20) + 1, (1 << 20) + 2
"""Numbers of the streams of random numbers, different from those of augmentation."""


def epoch_order(
    index: Tensor, *, seed: int, epoch: int, label: Tensor | None = None, share: int | None = None
) -> Tensor:
    """A random permutation of positions for an epoch (counted from 1), computed without a generator.

    With ``label`` and ``share``, only the first ``share`` samples of every class; other ones in each epoch.

    Shape:
        index (N,) permanent indices; result (N,), or (M,) with a share, int64 on the same device
    Example:
        >>> epoch_order(torch.arange(5), seed=0, epoch=1)
        tensor([...])
    """
    order = draw(seed=seed, epoch=epoch, index=index, stream=ORDER).argsort(stable=True)
    return order if label is None or share is None else order[_rank_in_class(label[order]) < share]


def _rank_in_class(label: Tensor) -> Tensor:
    """For each sample, the number of earlier samples of the same class.

    Example:
        >>> _rank_in_class(torch.tensor([2, 0, 2, 2, 0]))
        tensor([0, 0, 1, 2, 1])
    """
    by_class, counts = label.argsort(stable=True), torch.bincount(label)
    place = torch.arange(len(label), device=label.device)
    rank = torch.empty_like(label)
    rank[by_class] = place - (counts.cumsum(0) - counts)[label[by_class]]
    return rank


def balanced_size(label: Tensor, share: int | None) -> int:
    """Number of samples of an epoch with at most ``share`` of every class; None takes all.

    Example:
        >>> balanced_size(torch.tensor([0, 0, 0, 1]), 2), balanced_size(torch.tensor([0, 0, 0, 1]), None)
        (3, 4)
    """
    return len(label) if share is None else int(torch.bincount(label).clamp(max=share).sum())


def batch_bounds(samples: int, batch_size: int) -> list[tuple[int, int]]:
    """Start and end of each batch of an epoch; every sample is in exactly one batch.

    A last batch of one sample is merged into the previous one: batch norm cannot train on a single sample.

    Example:
        >>> batch_bounds(9, 4), batch_bounds(10, 4)
        ([(0, 4), (4, 9)], [(0, 4), (4, 8), (8, 10)])
    """
    starts = list(range(0, samples, batch_size))
    if len(starts) > 1 and batch_size > 1 and samples - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], samples], strict=True))


def split_positions(index: Tensor, share: float, *, seed: int) -> tuple[Tensor, Tensor]:
    """Positions for training and for validation, both in ascending order.

    Example:
        >>> train, validation = split_positions(torch.arange(10), 0.3, seed=0)
        >>> len(train), len(validation)
        (7, 3)
    """
    order = draw(seed=seed, epoch=0, index=index, stream=SPLIT).argsort(stable=True)
    count = round(share * len(index))
    if not 0 < count < len(index):
        raise ValueError(
            f"validation={share} of {len(index)} samples leaves no samples for training or for validation"
        )
    return order[count:].sort().values, order[:count].sort().values


def network_seed(seed: int, number: int) -> int:
    """The seed of the initial weights of a network, by its number; the first has the seed of the run.

    Example:
        >>> network_seed(7, 0), network_seed(7, 1) == network_seed(7, 0)
        (7, False)
    """
    if number == 0:
        return seed
    bits = draw(seed=seed, epoch=0, index=torch.tensor([number]), stream=NETWORK)
    return int(shifted_right(bits, 2))


class Views:
    """Prepares batches for the network.

    Images (N, C, H, W) are augmented; grey images (N, H, W) get a channel dimension; other inputs are only
    cast to floating point. The view of a sample is a function of (seed, epoch, index). ``layout`` is the
    memory format of images and affects speed only.

    Example:
        >>> views = Views(Config(), sample_shape=(8, 8))
        >>> views.evaluation(torch.zeros(2, 8, 8)).shape
        torch.Size([2, 1, 8, 8])
    """

    def __init__(
        self, config: Config, sample_shape: tuple[int, ...], layout: torch.memory_format | None = None
    ) -> None:
        self.seed, self.layout = config.seed, layout
        self.shape = tuple(sample_shape)
        self.are_images = len(sample_shape) in (2, 3)
        if config.augment is not None and not self.are_images:
            raise ValueError(f"augment={config.augment!r} is for images, samples have shape {self.shape}")
        self._train = augmentation(config.augment)
        self._evaluation = self._train.evaluation()

    def train(self, batch: Batch, epoch: int) -> Tensor:
        images = self._as_images(batch.input)
        if not self.are_images:
            return images
        return self._laid_out(self._train(images, seed=self.seed, epoch=epoch, index=batch.index))

    def evaluation(self, inputs: Tensor) -> Tensor:
        images = self._as_images(inputs)
        return self._laid_out(self._evaluation(images)) if self.are_images else images

    def _laid_out(self, images: Tensor) -> Tensor:
        return images if self.layout is None else images.contiguous(memory_format=self.layout)

    def _as_images(self, inputs: Tensor) -> Tensor:
        if len(self.shape) == 2:
            inputs = inputs.unsqueeze(1)
        if inputs.is_floating_point():
            return inputs.float()
        return inputs if self.are_images and inputs.dtype == torch.uint8 else inputs.float()

    def model_shape(self, data: LabelledData) -> dict[str, Any]:
        """Arguments of a network: channels and size of images, or the length of vectors."""
        seen = self.evaluation(data.batch([0]).input)
        size = {"image_size": tuple(seen.shape[2:])} if seen.dim() == 4 else {}
        return {"in_channels": int(seen.shape[1]), "num_classes": data.num_classes, **size}
