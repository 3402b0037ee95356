"""Statistics: functions of a record that return one number per sample."""

from .data_map import confidence, variability
from .learning import correctness, first_learned, forgetting
from .margins import area_under_margin, final_margin, mean_margin
from .memory import memory_disagreement, tau
from .mixture import Mixture, clean_probability, fit_mixture
from .registry import STATISTICS, available
from .votes import disagreement, majority_prediction

__all__ = [
    "STATISTICS",
    "Mixture",
    "area_under_margin",
    "available",
    "clean_probability",
    "confidence",
    "correctness",
    "disagreement",
    "final_margin",
    "first_learned",
    "fit_mixture",
    "forgetting",
    "majority_prediction",
    "mean_margin",
    "memory_disagreement",
    "tau",
    "variability",
]
