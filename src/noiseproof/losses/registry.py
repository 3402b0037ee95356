"""Every loss by name: a plain dict you can read."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

from torch import Tensor

from ..grammar import check_new
from .asymmetric import AEL, AGCE, AUL
from .base import REDUCTIONS, Loss
from .binary import Binary
from .ce import CE
from .cr import CR
from .focal import Focal
from .gce import GCE, TruncatedGCE
from .gls import GLS
from .gr import GR, IMAE
from .limits import choice, class_weights
from .mae import MAE, RCE
from .mse import MSE
from .nal import NALFixed
from .nce import NCE
from .nfl import NFL
from .peer import Peer
from .sl import SCE, SL
from .spec import parse
from .tce import TCE
from .transform import Scale, Shift
from .unit_max import UnitMax

LOSSES: dict[str, Callable[..., Loss]] = {
    "ce": CE,
    "focal": Focal,
    "mae": MAE,
    "rce": RCE,
    "sl": SL,
    "sce": SCE,
    "gce": GCE,
    "truncated_gce": TruncatedGCE,
    "tce": TCE,
    "aul": AUL,
    "agce": AGCE,
    "ael": AEL,
    "gr": GR,
    "imae": IMAE,
    "nal_fixed": NALFixed,
    "nce": NCE,
    "nfl": NFL,
    "mse": MSE,
    "gls": GLS,
    "ls": GLS,
    "cr": CR,
    "peer": Peer,
    "scale": Scale,
    "shift": Shift,
    "unit_max": UnitMax,
    "binary": Binary,
}
_BUILT_IN = frozenset(LOSSES)


def get(
    spec: str | Loss,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    weight: Tensor | None = None,
) -> Loss:
    """The loss of a spec string; a Loss comes back as it is, or as a copy with the settings given.

    Settings left at their defaults do not change a Loss that has others.

    Example:
        >>> get("10*nce + 0.1*agce(a=1.8, q=3)")
        10*nce + 0.1*agce(a=1.8, q=3.0)
        >>> get("gcee")
        Traceback (most recent call last):
        ValueError: unknown loss 'gcee', did you mean 'gce'? (known: ...
    """
    if not isinstance(spec, (str, Loss)):
        raise TypeError(f"a loss is given as a spec string or a Loss, got {type(spec).__name__}")
    loss = spec if isinstance(spec, Loss) else parse(spec, LOSSES)
    settings: dict[str, Any] = {}
    if reduction != "mean":
        settings["reduction"] = choice("losses.get", "reduction", reduction, REDUCTIONS)
    if ignore_index != -100:
        settings["ignore_index"] = operator.index(ignore_index)
    if weight is not None:
        settings["weight"] = class_weights(weight)
    if not settings:
        return loss
    loss = copy.deepcopy(loss) if isinstance(spec, Loss) else loss
    for setting, value in settings.items():
        setattr(loss, setting, value)
    return loss


def register(name: str, factory: Callable[..., Loss]) -> None:
    """Make ``factory`` available under ``name`` in spec strings.

    The names of the library cannot be taken; registering one's own name again replaces it.
    """
    check_new("loss", name, factory, _BUILT_IN)
    LOSSES[name] = factory
