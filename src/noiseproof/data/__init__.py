"""Data: inputs with labels that may be wrong, sources, augmentation and downloads."""

from .augment import AUGMENTATIONS, Augmentation, augmentation
from .download.fetch import DATASETS, fetch, verify
from .images import BrokenFile, BrokenFileError, ImageFiles
from .inputs import Batch, LazyInputs
from .labelled import Duplicate, LabelledData, find_duplicates
from .locations import DataMissingError, data_root
from .registry import SOURCES, load
from .safe_pickle import PickleRefusedError
from .sources.huggingface import huggingface as from_huggingface

__all__ = [
    "AUGMENTATIONS",
    "DATASETS",
    "SOURCES",
    "Augmentation",
    "Batch",
    "BrokenFile",
    "BrokenFileError",
    "DataMissingError",
    "Duplicate",
    "ImageFiles",
    "LabelledData",
    "LazyInputs",
    "PickleRefusedError",
    "augmentation",
    "data_root",
    "fetch",
    "find_duplicates",
    "from_huggingface",
    "load",
    "verify",
]
