"""Encode tables, texts and arrays as a matrix of numbers, fitted on training rows."""

from .features import Features
from .labels import as_labels

__all__ = ["Features", "as_labels"]
