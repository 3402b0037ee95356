"""Figures, one concept per file: each takes a run or a record and returns the Axes it drew on."""

from .class_accuracy import plot_class_accuracy
from .comparison import plot_final_margins, plot_memorised, plot_test_accuracy
from .confidence import plot_confidence
from .confusion import plot_confusion
from .data_map import plot_data_map
from .detection import plot_detection
from .emphasis_share import plot_emphasis_share
from .features import plot_features
from .margin_ridges import plot_margin_ridges
from .prediction_counts import plot_prediction_counts
from .sample_sheet import plot_sample_sheet
from .subset_accuracy import plot_subset_accuracy
from .tau import plot_tau
from .update_scale import plot_update_scale

__all__ = [
    "plot_class_accuracy",
    "plot_confidence",
    "plot_confusion",
    "plot_data_map",
    "plot_detection",
    "plot_emphasis_share",
    "plot_features",
    "plot_final_margins",
    "plot_margin_ridges",
    "plot_memorised",
    "plot_prediction_counts",
    "plot_sample_sheet",
    "plot_subset_accuracy",
    "plot_tau",
    "plot_test_accuracy",
    "plot_update_scale",
]
