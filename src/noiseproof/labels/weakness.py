"""A network that learned too little to judge labels, told to who wants to change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..terminal import printable
from .learned import HALF_SURE

SHOWN = 5


def weakness(about: Mapping[str, Any], loss: object = None) -> str | None:
    """Why the findings of ``find`` are weak evidence, and what to do; None where they are not.

    Args:
        about: the ``attrs`` of its frame.
        loss: what the run was trained with; it is not recommended again.

    Example:
        >>> print(weakness({"weak": True, "agreement": 0.4, "sureness": 0.25}).partition(":")[0])
        This network fits 40% of its labels and is only 25% sure of those
        >>> print(weakness({"weak": False, "agreement": 0.9, "sureness": 0.9}))
        None
    """
    unlearned = about.get("unlearned_classes", ())
    if not about.get("weak") and not unlearned:
        return None
    causes = [_unlearned(unlearned, len(about["class_names"]))] if unlearned else []
    if about.get("weak"):
        causes.append(_unsure(about))
    return (
        f"This network {' and '.join(causes)}: labels it suspects may well be right, and wrong ones may be"
        f" missing. Before you change a label, {_advice(str(loss))}."
    )


def _advice(loss: str) -> str:
    """
    >>> _advice("ce")
    'train longer, with a higher learning rate, or with a loss that grows sure, such as gce'
    >>> _advice("gce(q=0.7)")
    'train longer or with a higher learning rate'
    """
    if "gce" in loss:
        return "train longer or with a higher learning rate"
    return "train longer, with a higher learning rate, or with a loss that grows sure, such as gce"


def _unlearned(names: Sequence[str], classes: int) -> str:
    shown = ", ".join(printable(name) for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"never learned {len(names)} of {classes} classes ({shown})"


def _unsure(about: Mapping[str, Any]) -> str:
    fits = f"fits {100 * about['agreement']:.0f}% of its labels"
    sure = f"{100 * about['sureness']:.0f}% sure of those"
    if about["sureness"] < HALF_SURE:
        return f"{fits} and is only {sure}"
    return f"{fits} and is {sure}, like one that is still learning or always says the commonest label"
