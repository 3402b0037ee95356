"""Conformance suites anyone can run over their own losses (noise and methods to come)."""

from .loss import LOSS_CHECKS, check_loss

__all__ = ["LOSS_CHECKS", "check_loss"]
