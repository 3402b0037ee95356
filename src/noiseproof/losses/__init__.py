"""What is minimised: losses as curves that say which samples get the gradient."""

from ..kernels import Statistics
from .asymmetric import AEL, AGCE, AUL
from .base import Loss
from .binary import Binary
from .ce import CE
from .cr import CR
from .curves import Curve, curve
from .focal import Focal
from .gce import GCE, TruncatedGCE
from .gls import GLS
from .gr import GR, IMAE
from .initial import expected_margin
from .linear_margin import linear_margin
from .mae import MAE, RCE
from .margin import margin, row_statistics
from .margin_loss import MarginLoss
from .mse import MSE
from .nal import NALFixed
from .nce import NCE
from .nfl import NFL
from .peer import Peer
from .registry import LOSSES, get, register
from .sl import SCE, SL
from .tce import TCE
from .transform import Scale, Shift
from .unit_max import UnitMax

scale, shift, unit_max, binary = Scale, Shift, UnitMax, Binary

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
