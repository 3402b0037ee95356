"""noiseproof trains accurate classifiers on labels you cannot trust."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_LAZY = (
    "data",
    "noise",
    "models",
    "kernels",
    "losses",
    "dynamics",
    "methods",
    "train",
    "labels",
    "report",
    "review",
    "recipes",
    "papers",
    "testing",
)
"""Modules that are imported on first use, so that the command line starts without importing torch."""

__all__ = ["NoiseproofClassifier", "__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name == "NoiseproofClassifier":
        return importlib.import_module(f"{__name__}.estimator").NoiseproofClassifier
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY, "NoiseproofClassifier"])
