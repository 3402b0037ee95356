"""What a curve means for training, in plain words."""

from __future__ import annotations

from .curves import Curve, curve
from .gr import GR
from .margin_loss import MarginLoss
from .transform import Scale

STARVED = 0.10
"""Below this share of its full emphasis at the start, a loss underfits (Curriculum Table 2)."""
HUNGRY = 0.20
TAU = 2.6


def advise(found: Curve, num_classes: int) -> list[str]:
    """Warnings about training with this loss on so many classes; empty if there is none.

    >>> print(advise(curve("mae"), 100)[0])
    with 100 classes this loss starts with 2.4% of its full emphasis: expect underfitting;
    try scale(mae, tau=2.6)
    """
    words = []
    share = found.initial_share(num_classes)
    if share < HUNGRY:
        verdict = "expect underfitting" if share < STARVED else "it may underfit"
        words.append(
            f"with {num_classes} classes this loss starts with {100 * share:.1f}% of its full emphasis:"
            f" {verdict}{_remedy(found.loss, num_classes, share)}"
        )
    if isinstance(found.loss, GR) and found.loss.g == "exp" and found.loss.saturation is None:
        words.append(
            "without a saturation fitted samples keep their weight for ever and the logits grow without"
            " bound: leave saturation at 17.33"
        )
    return words


def _remedy(loss: MarginLoss, num_classes: int, share: float) -> str:
    if isinstance(loss, Scale) or num_classes < 3:
        return "; try a smaller tau" if isinstance(loss, Scale) else ""
    scaled = Scale(loss, tau=TAU)
    if curve(scaled, num_classes).initial_share(num_classes) > share:
        return f"; try {scaled}"
    return ""
