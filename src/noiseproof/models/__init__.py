"""Networks: those of the papers by name, and others."""

from .classifier import Classifier
from .ensemble import Ensemble
from .features import forward_with_features
from .registry import MODELS, get, register
from .weights import load_weights
from .weights_report import Report

__all__ = [
    "MODELS",
    "Classifier",
    "Ensemble",
    "Report",
    "forward_with_features",
    "get",
    "load_weights",
    "register",
]
