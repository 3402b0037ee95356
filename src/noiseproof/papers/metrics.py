"""What the papers measure, and the name of the number of a run that it is (see ``results.NUMBERS``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Metric(NamedTuple):
    """A metric of a table: its words, the number of a run that fills it, the unit it is printed in."""

    words: str
    number: str | None = None
    factor: float = 100.0
    """Ours times this is in the unit of the paper."""
    comparable: bool = True
    """False where only ratios between rows can be compared."""


METRICS: Mapping[str, Metric] = {
    "test_accuracy_%": Metric("test %", "final"),
    "test_accuracy_fraction": Metric("test share", "final", 1.0),
    "test_accuracy_final_%": Metric("final %", "final"),
    "test_accuracy_best_%": Metric("best %", "best"),
    "train_accuracy_%": Metric("train %", "corrupted"),
    "train_accuracy_corrupted_%": Metric("corrupted %", "corrupted"),
    "train_accuracy_intact_%": Metric("intact %", "intact"),
    "fit_clean_subset_%": Metric("clean subset %", "clean_subset"),
    "fit_noisy_subset_%": Metric("noisy subset %", "noisy_subset"),
    "hybrid_accuracy_%": Metric("hybrid %", "hybrid"),
    "test_accuracy_after_label_correction_retrain_%": Metric("retrained %", "final"),
    "diff_vs_clean_accuracy_pp": Metric("diff", "final"),
    "snr": Metric("snr", "snr", 1.0),
    "alpha_t_x1e4": Metric("alpha x 1e4", "alpha", 1e4, comparable=False),
    "weight_variance_uniform_p": Metric("spread"),
    "abs_expected_initial_margin": Metric("initial margin"),
    "mAP_%": Metric("mAP %"),
    "CMC-1_%": Metric("CMC-1 %"),
    "gpu_memory_GB": Metric("GPU GB"),
    "tau": Metric("tau"),
    "hyperparameter_a": Metric("a"),
    "hyperparameter_q": Metric("q"),
    "n_train": Metric("training samples"),
    "n_val": Metric("validation samples"),
    "n_test": Metric("test samples"),
    "n_classes": Metric("classes"),
    "input_side_px": Metric("pixels"),
    "noise_rate_%": Metric("noise %"),
    "loss|weight": Metric("loss and weight"),
    "original|primary|regularizer": Metric("original, primary loss and regulariser"),
    "empirical_loss|gradient_rescaling|emphasis_focus|adjustable_spread": Metric(
        "empirical loss, rescaling, focus and spread"
    ),
}
"""By the name the records have; training accuracies are those of the final network in evaluation mode."""
