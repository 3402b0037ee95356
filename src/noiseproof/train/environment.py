"""Where a run is trained."""

from __future__ import annotations

import platform
from typing import Any

import torch

from .. import __version__


def environment(device: torch.device) -> dict[str, Any]:
    """Where a run was begun; bits are the same only where this is."""
    name = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else platform.processor() or platform.machine()
    )
    return {
        "noiseproof": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "device": f"{device.type}: {name}",
        "threads": torch.get_num_threads(),
    }
