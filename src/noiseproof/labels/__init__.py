"""Find wrong labels, decide about them, correct them."""

from .apply import apply, decide
from .corrected import revert, write_corrected
from .decisions import Decision, DecisionLog
from .export import write
from .find import find
from .read import read_probabilities
from .witnesses import WITNESSES

__all__ = [
    "WITNESSES",
    "Decision",
    "DecisionLog",
    "apply",
    "decide",
    "find",
    "read_probabilities",
    "revert",
    "write",
    "write_corrected",
]
