"""Inputs of the network: augmented samples in training, unaugmented ones in evaluation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..data import Batch, LabelledData, augmentation
from .config import Config


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
