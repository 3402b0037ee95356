"""When a loss is not enough: methods with a memory, a head or a matrix of their own."""

from . import nal
from .backward import Backward
from .base import Method, OneProcessError, Outputs, Situation
from .bootstrap import BootstrapHard, BootstrapSoft
from .corrections import Confusions, confusion, confusions
from .elr import ELR
from .forward import Forward
from .gls_sl import GLSSL
from .joint import Joint
from .loss_alone import LossAlone
from .memory import MemoryMethod, SampleTable, TargetMemory
from .nal import NAL
from .registry import METHODS, get, register
from .s_adaptation import SAdaptation
from .selc import SELC
from .transition import TransitionMethod
from .truncated_gce import PrunedGCE

__all__ = [
    "ELR",
    "GLSSL",
    "METHODS",
    "NAL",
    "SELC",
    "Backward",
    "BootstrapHard",
    "BootstrapSoft",
    "Confusions",
    "Forward",
    "Joint",
    "LossAlone",
    "MemoryMethod",
    "Method",
    "OneProcessError",
    "Outputs",
    "PrunedGCE",
    "SAdaptation",
    "SampleTable",
    "Situation",
    "TargetMemory",
    "TransitionMethod",
    "confusion",
    "confusions",
    "get",
    "nal",
    "register",
]
