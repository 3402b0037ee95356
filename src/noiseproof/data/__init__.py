"""What we learn from: inputs with labels that may be wrong, from one file per source."""

from .archive import Limits, unpack
from .augment import AUGMENTATIONS, Augmentation, augmentation
from .batch import Batch
from .broken import BrokenFile, BrokenFileError
from .download import DATASETS, fetch, verify
from .duplicates import Duplicate, find_duplicates
from .image_files import ImageFiles
from .inputs import LazyInputs
from .labelled import LabelledData
from .pickled_array import PickleRefusedError
from .registry import SOURCES, load
from .root import DataMissingError, data_root
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
    "Limits",
    "PickleRefusedError",
    "augmentation",
    "data_root",
    "fetch",
    "find_duplicates",
    "from_huggingface",
    "load",
    "unpack",
    "verify",
]
