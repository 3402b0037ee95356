"""Find wrong labels, decide about them, correct them."""

from .annotators import Consensus, consensus
from .apply import apply, decide
from .corrected import revert, write_corrected
from .decisions import Decision, DecisionLog
from .export import write
from .find import find
from .places import find_each, places, regions, worst_samples
from .read import read_probabilities
from .witnesses import WITNESSES

__all__ = [
    "WITNESSES",
    "Consensus",
    "Decision",
    "DecisionLog",
    "apply",
    "consensus",
    "decide",
    "find",
    "find_each",
    "places",
    "read_probabilities",
    "regions",
    "revert",
    "worst_samples",
    "write",
    "write_corrected",
]
