"""All methods by name, and methods from specs."""

from __future__ import annotations

from collections.abc import Callable

from ..grammar import check_new
from ..losses import LOSSES, Loss
from ..losses import get as get_loss
from .backward import Backward
from .base import Method
from .bootstrap import BootstrapHard, BootstrapSoft
from .co_teaching import CoTeaching
from .d2l import D2L
from .decoupling import Decoupling
from .divide_mix import DivideMix
from .elr import ELR
from .elr_plus import ELRPlus
from .forward import Forward
from .gls_sl import GLSSL
from .joint import Joint
from .loss_method import LossMethod
from .mentornet_pd import MentorNetPD
from .nal import NAL
from .s_adaptation import SAdaptation
from .selc import SELC
from .self_paced import SelfPaced
from .sop import SOP
from .spec import parse
from .truncated_gce import PrunedGCE

METHODS: dict[str, Callable[..., Method]] = {
    "nal": NAL,
    "elr": ELR,
    "selc": SELC,
    "bootstrap_soft": BootstrapSoft,
    "bootstrap_hard": BootstrapHard,
    "joint": Joint,
    "forward": Forward,
    "backward": Backward,
    "s_adaptation": SAdaptation,
    "gls_sl": GLSSL,
    "truncated_gce": PrunedGCE,
    "self_paced": SelfPaced,
    "mentornet_pd": MentorNetPD,
    "d2l": D2L,
    "sop": SOP,
    "decoupling": Decoupling,
    "co_teaching": CoTeaching,
    "elr_plus": ELRPlus,
    "divide_mix": DivideMix,
}
_BUILT_IN = frozenset(METHODS)


def get(spec: str | Method | Loss | None, *, loss: str | Loss = "ce") -> Method:
    """A method from its spec, or for None the loss as a method.

    Args:
        loss: the loss of methods with a parameter ``loss``; other methods have their own loss and accept no
            other.

    Example:
        >>> print(get(None, loss="gce(q=0.4)"))
        gce(q=0.4)
        >>> get("elr")
        elr(beta=0.7, lam=3.0)
        >>> get("gce")
        Traceback (most recent call last):
        ValueError: 'gce' is a loss, not a method: give it as loss
    """
    if isinstance(spec, Method):
        return spec
    if spec is None or isinstance(spec, Loss):
        return LossMethod(get_loss(loss) if spec is None else spec)
    if not isinstance(spec, str):
        raise TypeError(f"a method is a spec string, a Method or a Loss, got {type(spec).__name__}")
    name = spec.partition("(")[0].strip()
    if name in LOSSES and name not in METHODS:
        raise ValueError(f"{name!r} is a loss, not a method: give it as loss")
    return parse(spec, METHODS, get_loss(loss))


def register(name: str, factory: Callable[..., Method]) -> None:
    """Make ``factory`` available under ``name`` in spec strings, where its parameters are options.

    Names of the library cannot be replaced; registering your own name again replaces it.
    """
    check_new("method", name, factory, _BUILT_IN)
    METHODS[name] = factory
