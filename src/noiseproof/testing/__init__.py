"""Conformance suites anyone can run over their own losses and label noise (methods to come)."""

from .loss import LOSS_CHECKS, check_loss
from .noise import NOISE_CHECKS, check_noise

__all__ = ["LOSS_CHECKS", "NOISE_CHECKS", "check_loss", "check_noise"]
