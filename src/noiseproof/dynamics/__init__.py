"""Training dynamics: margins and predictions of every sample at every epoch, and statistics of them."""

from .accuracy import accuracy, class_accuracy, hybrid_accuracy, subset_accuracies
from .meter import EmphasisMeter
from .record import Record
from .recorder import Recorder
from .run_folder import RunFolder

__all__ = [
    "EmphasisMeter",
    "Record",
    "Recorder",
    "RunFolder",
    "accuracy",
    "class_accuracy",
    "hybrid_accuracy",
    "subset_accuracies",
]
