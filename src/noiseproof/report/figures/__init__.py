"""Figures: each function takes a run or a record and returns the Axes it has drawn on."""

from .comparison import plot_final_margins, plot_memorised, plot_test_accuracy
from .curves import plot_class_accuracy, plot_subset_accuracy, plot_update_scale
from .margins import plot_emphasis_share, plot_margin_ridges, plot_tau
from .predictions import plot_confidence, plot_confusion, plot_features, plot_prediction_counts
from .samples import plot_data_map, plot_detection, plot_sample_sheet

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
