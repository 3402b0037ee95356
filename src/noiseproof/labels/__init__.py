"""Find wrong labels: in the record of a run, in out-of-sample probabilities, or in both."""

from .estimate import Estimate
from .export import write
from .find import find
from .read import read_probabilities
from .window import best_window

__all__ = ["Estimate", "best_window", "find", "read_probabilities", "write"]
