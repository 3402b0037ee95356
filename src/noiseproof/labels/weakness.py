"""A network that learned too little to judge labels, told to who wants to change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .learned import HALF_SURE


def weakness(about: Mapping[str, Any]) -> str | None:
    """Why the findings of ``find`` are weak evidence, and what to do; None where they are not.

    Args:
        about: the ``attrs`` of its frame.

    Example:
        >>> print(weakness({"weak": True, "agreement": 0.4, "sureness": 0.25}).partition(":")[0])
        This network fits 40% of its labels and is only 25% sure of those
        >>> print(weakness({"weak": False, "agreement": 0.9, "sureness": 0.9}))
        None
    """
    if not about.get("weak"):
        return None
    sure = f"{100 * about['sureness']:.0f}% sure of those"
    if about["sureness"] < HALF_SURE:
        doubt = f"is only {sure}"
    else:
        doubt = f"is {sure}, like one that is still learning or always says the commonest label"
    return (
        f"This network fits {100 * about['agreement']:.0f}% of its labels and {doubt}: labels it"
        " suspects may well be right, and wrong ones may be missing. Before you change a label, train longer,"
        " with a higher learning rate, or with a loss that grows sure, such as gce."
    )
