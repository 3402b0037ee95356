"""Label noise: generators, transition matrices and manifests."""

from .anchor import anchor_transition
from .asymmetric import Asymmetric
from .base import ClassNoise, Noise
from .confident import confident_joint, confident_transition
from .corrupt import corrupt
from .grouped import Cycle, Pair, Sibling
from .human import Human
from .instance import Instance
from .manifest import Manifest, NoisyLabels
from .maps import MAPS
from .matrix import Clothing1M, Matrix
from .open_set import OpenSet, replace_inputs
from .presets import PRESETS, Preset
from .read import read_labels
from .registry import NOISES, get
from .symmetric import Symmetric
from .transition import realised_transition, transition

__all__ = [
    "MAPS",
    "NOISES",
    "PRESETS",
    "Asymmetric",
    "ClassNoise",
    "Clothing1M",
    "Cycle",
    "Human",
    "Instance",
    "Manifest",
    "Matrix",
    "Noise",
    "NoisyLabels",
    "OpenSet",
    "Pair",
    "Preset",
    "Sibling",
    "Symmetric",
    "anchor_transition",
    "confident_joint",
    "confident_transition",
    "corrupt",
    "get",
    "read_labels",
    "realised_transition",
    "replace_inputs",
    "transition",
]
