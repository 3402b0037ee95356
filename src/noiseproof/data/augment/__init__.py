"""Augmentation of whole batches on the device, a pure function of (seed, epoch, sample)."""

from .base import Step
from .constants import CONSTANTS
from .crop import CenterCrop, Crop
from .flip import Flip
from .pipeline import Augmentation
from .pixel_values import Normalize, SubtractMean
from .registry import AUGMENTATIONS, augmentation
from .resize import Resize
from .rotate import Rotate, rotated
from .shift import Shift
from .window import window

__all__ = [
    "AUGMENTATIONS",
    "CONSTANTS",
    "Augmentation",
    "CenterCrop",
    "Crop",
    "Flip",
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
