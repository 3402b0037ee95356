"""Loss functions, their emphasis curves, and the registry of their names."""

from ..kernels import Statistics
from .algebra import MarginSum as _MarginSum  # noqa: F401 -- defines sums of losses
from .asymmetric import AEL, AGCE, AUL
from .base import Loss
from .binary import Binary
from .ce import CE
from .cr import CR
from .curves.curve import Curve, curve
from .curves.numerics import expected_margin
from .focal import Focal
from .gce import GCE, TruncatedGCE
from .gls import GLS
from .gr import GR, IMAE
from .mae import MAE, RCE
from .margin import linear_margin, margin, row_statistics
from .margin_loss import MarginLoss
from .mse import MSE
from .nal import NALFixed
from .nce import NCE
from .nfl import NFL
from .peer import Peer
from .registry import BUILT_IN, LOSSES, get, register
from .sl import SCE, SL
from .tce import TCE
from .wrappers import Scale, Shift, UnitMax

scale, shift, unit_max, binary = Scale, Shift, UnitMax, Binary

LOSSES.update(
    {
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
)
BUILT_IN.update(LOSSES)

__all__ = [
    "AEL",
    "AGCE",
    "AUL",
    "CE",
    "CR",
    "GCE",
    "GLS",
    "GR",
    "IMAE",
    "LOSSES",
    "MAE",
    "MSE",
    "NCE",
    "NFL",
    "RCE",
    "SCE",
    "SL",
    "TCE",
    "Binary",
    "Curve",
    "Focal",
    "Loss",
    "MarginLoss",
    "NALFixed",
    "Peer",
    "Scale",
    "Shift",
    "Statistics",
    "TruncatedGCE",
    "UnitMax",
    "binary",
    "curve",
    "expected_margin",
    "get",
    "linear_margin",
    "margin",
    "register",
    "row_statistics",
    "scale",
    "shift",
    "unit_max",
]
