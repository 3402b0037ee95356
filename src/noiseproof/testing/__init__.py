"""Conformance suites anyone can run over their own losses, label noise and methods, and example data."""

from .example import example_record
from .loss import LOSS_CHECKS, check_loss
from .method import METHOD_CHECKS, check_method
from .noise import NOISE_CHECKS, check_noise

__all__ = [
    "LOSS_CHECKS",
    "METHOD_CHECKS",
    "NOISE_CHECKS",
    "check_loss",
    "check_method",
    "check_noise",
    "example_record",
]
