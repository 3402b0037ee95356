"""Checks at construction: hyper-parameters within their range, and a user's loss on a few rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..grammar import unknown
from ..kernels import RowFunction, Statistics

MAX_NUMBER = 1e35
"""Upper bound of a number that losses are multiplied by; the largest float32 is 3e38."""
CLASSES = 3
LOGITS = (
    (0.0, 1.0, -1.0),
    (2.0, 0.5, 0.0),
    (-1.0, 1.5, 1.0),
    (0.3, 0.1, 0.2),
    (4.0, 0.0, 0.1),
    (-3.0, 0.2, 0.0),
)
SUMS = {"sum_z": "sum_z", "sum_p2": "squares", "sum_pz": "products"}
"""Statistics of a row, and the fields of ``Wanted`` that request them."""
CLOSE = 1e-9


def number(loss: str, parameter: str, value: object, rule: str, holds: Callable[[float], bool]) -> float:
    """``value`` as a float for which ``holds`` is true and which float32 can represent.

    >>> number("gce", "q", 0.7, "0 < q <= 1", lambda q: 0 < q <= 1)
    0.7
    >>> number("gce", "q", 0, "0 < q <= 1", lambda q: 0 < q <= 1)
    Traceback (most recent call last):
    ValueError: gce: q=0 is out of range, it must satisfy 0 < q <= 1
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{loss}: {parameter} must be a number, got {value!r}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not (math.isfinite(found) and holds(found)):
        raise ValueError(f"{loss}: {parameter}={value!r} is out of range, it must satisfy {rule}")
    if abs(found) > MAX_NUMBER:
        rule = f"{rule} and |{parameter}| <= {MAX_NUMBER:g}"
        raise ValueError(f"{loss}: {parameter}={value!r} is out of range, it must satisfy {rule}")
    return found


def whole(loss: str, parameter: str, value: object, least: int, most: int = 2**53) -> int:
    """``value`` as an int between the bounds; 3.0 counts as 3."""
    rule = f"a whole number from {least} to {most}"
    return int(number(loss, parameter, value, rule, lambda n: least <= n <= most and n == int(n)))


def choice(loss: str, parameter: str, value: object, known: Collection[str]) -> str:
    """``value`` if it is one of the known strings."""
    if not isinstance(value, str) or value not in known:
        names = ", ".join(repr(one) for one in known)
        raise ValueError(f"{loss}: {parameter}={value!r} is unknown, choose one of {names}")
    return value


def no_unknown_options(loss: str, given: Iterable[str], known: Sequence[str]) -> None:
    """TypeError for an option that does not exist.

    >>> no_unknown_options("gce", ["Q"], ["q", "reduction"])
    Traceback (most recent call last):
    TypeError: gce: unknown option 'Q' (known: q, reduction)
    """
    for name in given:
        if name not in known:
            raise TypeError(f"{loss}: {unknown('option', name, known)}")


def class_weights(weight: Any) -> Tensor | None:
    """A copy, one entry per class."""
    if weight is None:
        return None
    weight = torch.as_tensor(weight)
    weight = weight if weight.is_floating_point() else weight.float()
    if weight.dim() != 1 or not bool((weight.isfinite() & (weight >= 0)).all()):
        raise ValueError("weight must be a vector of finite, non-negative class weights")
    copied: Tensor = weight.detach().clone()
    return copied


# A user's loss, tested on a few rows --------------------------------------------------------------


def check_wanted(loss: str, function: RowFunction) -> None:
    """ValueError if the function reads a sum that it does not request, which kernels do not compute."""
    try:
        rows = _statistics()
        finite = _is_finite(function, rows)
        read = [name for name in SUMS if finite and not _is_finite(function, _without(rows, name))]
    except Exception:
        return  # the function needs something that is not available here, for example another device
    for name in read:
        if not getattr(function.wanted, SUMS[name]):
            raise ValueError(
                f"{loss}: value_and_partials reads {name}, which its"
                f" wanted={function.wanted} does not request"
            )


def depends_on_batch(function: RowFunction) -> bool:
    """True if the loss of a row changes with the other rows of the batch, found by evaluating a few rows."""
    rows = _statistics()
    alone = [Statistics(*(column[at : at + 1] for column in rows)) for at in range(len(LOGITS))]
    try:
        together, *each = (_evaluated(function, part) for part in (rows, *alone))
        joined = [torch.cat(one) for one in zip(*each, strict=True)]
        pairs = zip(together, joined, strict=True)
        return not all(torch.allclose(*pair, rtol=CLOSE, atol=CLOSE) for pair in pairs)
    except Exception:
        return False


def _statistics() -> Statistics:
    """Statistics of a few rows whose label is class 0."""
    logits = torch.tensor(LOGITS, dtype=torch.float64, device="cpu")
    p = logits.softmax(1)
    return Statistics(
        logits[:, 0] - logits[:, 1:].logsumexp(1),
        logits.logsumexp(1),
        logits.sum(1),
        p.square().sum(1),
        (p * logits).sum(1),
    )


def _without(rows: Statistics, name: str) -> Statistics:
    return rows._replace(**{name: torch.full_like(rows.margin, torch.nan)})


def _evaluated(function: RowFunction, rows: Statistics) -> list[Tensor]:
    value, partials = function(rows, torch.full_like(rows.margin, CLASSES), 1.0)
    return [found.broadcast_to(rows.margin.shape) for found in (value, *partials.given())]


def _is_finite(function: RowFunction, rows: Statistics) -> bool:
    return all(bool(found.isfinite().all()) for found in _evaluated(function, rows))
