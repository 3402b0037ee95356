"""Any table, any text as a matrix of numbers: fitted on training rows, stored as JSON and arrays."""

from .features import Features
from .labels import as_labels

__all__ = ["Features", "as_labels"]
