"""Weak evidence, explained to users who want to change labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def weakness(about: Mapping[str, Any], loss: object = None) -> str | None:
    """Why the findings of ``find`` are weak evidence, and what to do; None where they are not.

    Args:
        about: the ``attrs`` of its frame.
        loss: what the run was trained with; None where no run was.

    Example:
        >>> print(weakness({"weak": True, "noise_rate": 0.3}).partition(":")[0])
        About 30% of the labels seem to be wrong, but the evidence does not show well which
        >>> print(weakness({"weak": False, "noise_rate": 0.3}))
        None
    """
    if not about.get("weak"):
        return None
    rate = f"{100 * about['noise_rate']:.0f}%" if about["noise_rate"] >= 0.005 else "Under 1%"
    return (
        f"{'About ' if rate[0].isdigit() else ''}{rate} of the labels seem to be wrong, but the evidence does"
        f" not show well which: marked labels may be right, and wrong ones may be missing. {_advice(loss)}"
    )


def _advice(loss: object) -> str:
    look = "Look at a label before you change it"
    if loss is None:
        return f"{look}; features or a model that tell the classes apart better would help."
    return f"{look}; training longer, or cross-fitting with 'noiseproof labels find --data', may help."
