"""Augmentation of whole batches on the device, a pure function of (seed, epoch, sample)."""

from .geometry import CenterCrop, Crop, Flip, Resize, Rotate, Shift, rotated, window
from .pixel_values import CONSTANTS, Jitter, Normalize, SubtractMean
from .registry import AUGMENTATIONS, augmentation
from .steps import Augmentation, Step

__all__ = [
    "AUGMENTATIONS",
    "CONSTANTS",
    "Augmentation",
    "CenterCrop",
    "Crop",
    "Flip",
    "Jitter",
    "Normalize",
    "Resize",
    "Rotate",
    "Shift",
    "Step",
    "SubtractMean",
    "augmentation",
    "rotated",
    "window",
]
