"""Training methods that need more than a loss: a memory, a head or a transition matrix."""

from . import nal
from .backward import Backward
from .base import Evaluation, Method, OneProcessError, Outputs, TrainingInfo
from .bootstrap import BootstrapHard, BootstrapSoft
from .co_teaching import CoTeaching
from .corrections import Confusions, confusion, confusions
from .d2l import D2L, local_dimensionality
from .decoupling import Decoupling
from .divide_mix import DivideMix
from .elr import ELR
from .elr_plus import ELRPlus
from .forward import Forward
from .gls_sl import GLSSL
from .joint import Joint
from .loss_method import LossMethod
from .memory import MemoryMethod, SampleTable, TargetMemory
from .mentornet_pd import MentorNetPD
from .mixed import Mixed
from .nal import NAL
from .registry import METHODS, get, register
from .s_adaptation import SAdaptation
from .selc import SELC
from .self_paced import SelfPaced
from .sop import SOP
from .transition import TransitionMethod
from .truncated_gce import PrunedGCE

__all__ = [
    "D2L",
    "ELR",
    "GLSSL",
    "METHODS",
    "NAL",
    "SELC",
    "SOP",
    "Backward",
    "BootstrapHard",
    "BootstrapSoft",
    "CoTeaching",
    "Confusions",
    "Decoupling",
    "DivideMix",
    "ELRPlus",
    "Evaluation",
    "Forward",
    "Joint",
    "LossMethod",
    "MemoryMethod",
    "MentorNetPD",
    "Method",
    "Mixed",
    "OneProcessError",
    "Outputs",
    "PrunedGCE",
    "SAdaptation",
    "SampleTable",
    "SelfPaced",
    "TargetMemory",
    "TrainingInfo",
    "TransitionMethod",
    "confusion",
    "confusions",
    "get",
    "local_dimensionality",
    "nal",
    "register",
]
