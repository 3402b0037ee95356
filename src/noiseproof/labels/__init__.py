"""Find wrong labels, decide about them, correct them."""

from .apply import apply, decide
from .corrected import revert, write_corrected
from .decisions import Decision, DecisionLog
from .estimate import Estimate
from .export import write
from .find import find
from .read import read_probabilities
from .window import best_window

__all__ = [
    "Decision",
    "DecisionLog",
    "Estimate",
    "apply",
    "best_window",
    "decide",
    "find",
    "read_probabilities",
    "revert",
    "write",
    "write_corrected",
]
