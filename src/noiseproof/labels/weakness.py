"""Weak evidence, explained to users who want to change labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def weakness(about: Mapping[str, Any]) -> str | None:
    """Why the findings of ``find`` are weak evidence, and what to do; None where they are not.

    Args:
        about: the ``attrs`` of its frame.

    Example:
        >>> print(weakness({"weak": True, "noise_rate": 0.3}).partition(":")[0])
        About 30% of the labels seem to be wrong, but the data do not show well which
        >>> print(weakness({"weak": False, "noise_rate": 0.3}))
        None
    """
    if not about.get("weak"):
        return None
    missing = "marked labels may be right, and wrong ones may be missing"
    if "epochs" in about:
        return (
            f"This network learned too little to judge its labels: {missing}. Train longer, with a higher"
            " learning rate, or cross-fit with 'noiseproof labels find --data' before you change a label."
        )
    return (
        f"About {100 * about['noise_rate']:.0f}% of the labels seem to be wrong, but the data do not show"
        f" well which: {missing}. Look at a label before you change it; better features would help."
    )
