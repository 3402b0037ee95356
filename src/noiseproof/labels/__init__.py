"""Find wrong labels, store decisions about them, and write corrected data."""

from .annotators import Consensus, consensus
from .apply import apply, decide
from .corrected import revert, write_corrected
from .cross_fit_models import CROSS_FIT_MODELS
from .decisions import Decision, DecisionLog
from .export import write
from .find import find
from .positions import find_multilabel, regions, with_positions, worst_samples
from .probability_file import read_probabilities

__all__ = [
    "CROSS_FIT_MODELS",
    "Consensus",
    "Decision",
    "DecisionLog",
    "apply",
    "consensus",
    "decide",
    "find",
    "find_multilabel",
    "read_probabilities",
    "regions",
    "revert",
    "with_positions",
    "worst_samples",
    "write",
    "write_corrected",
]
