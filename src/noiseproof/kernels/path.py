"""Which path row statistics take: Triton kernels on a GPU, pure torch everywhere else."""

import importlib.util
import os

import torch
from torch import Tensor

SWITCH = "NOISEPROOF_KERNELS"
"""Environment variable; ``reference`` turns the kernels off, ``auto`` or nothing leaves them on."""
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
INSTALLED = importlib.util.find_spec("triton") is not None
OLDEST_CAPABILITY = (7, 0)


def asked_for(word: str) -> bool:
    """Whether this value of the switch lets the kernels run."""
    if word not in ("", "auto", "reference"):
        raise ValueError(f"{SWITCH}={word!r} is unknown: set it to 'reference' or 'auto', or unset it")
    return word != "reference"


enabled = asked_for(os.environ.get(SWITCH, ""))
interpreted = False
"""True lets tensors of the CPU in as well, for kernels imported with TRITON_INTERPRET=1: for tests."""


def uses_kernels(logits: Tensor) -> bool:
    """Whether these logits go through Triton. Looks at no value, so it costs no synchronisation."""
    return (
        enabled
        and INSTALLED
        and (logits.is_cuda or interpreted)
        and logits.dtype in DTYPES
        and logits.dim() == 2
        and logits.shape[0] > 0
        and logits.shape[1] > 1
    )


def state() -> str:
    """One sentence for people: does this machine run the kernels, and if not, why."""
    if not INSTALLED:
        return "off: triton is not installed, torch expressions are used"
    if not enabled:
        return f"off: {SWITCH}=reference asks for torch expressions"
    if not torch.cuda.is_available():
        return "off: there is no CUDA device, torch expressions are used"
    capability = torch.cuda.get_device_capability()
    if capability < OLDEST_CAPABILITY:
        return f"unusable: Triton needs compute capability 7.0, here {capability}; set {SWITCH}=reference"
    return "on for float32, float16 and bfloat16 logits on CUDA; float64 uses torch expressions"
