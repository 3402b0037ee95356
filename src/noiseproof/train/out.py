"""Where a run goes when nobody says."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from ..data import LabelledData
from ..data.spec import parse_source
from .config import NEUTRAL, Config
from .fingerprint import fingerprint

MEMORY = "memory"
"""Source that the config of a run names whose data has no name."""


def run_folder(config: Config) -> Path:
    """``out``, or a folder under runs/ whose name tells the run and ends in a hash of all its settings.

    Example:
        >>> run_folder(Config(noise="symmetric(0.4)", loss="gce(q=0.7)", seed=3)).as_posix()
        'runs/digits-symmetric-0.4-gce-q-0.7-seed3-...'
    """
    if config.out is not None:
        return Path(config.out).expanduser()
    parts = [config.data, config.noise, config.method or config.loss]
    words = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in parts if part]
    settings = {name: value for name, value in config.to_dict().items() if name not in NEUTRAL}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return Path("runs", f"{'-'.join(words)[:100]}-seed{config.seed}-{digest}")


def naming_data(config: Config, data: LabelledData | None) -> Config:
    """The config of a run on ``data``: it names these instead of others, and a folder of their own.

    Example:
        >>> import torch
        >>> data = LabelledData(torch.zeros(2, 3), [0, 1], name="cells", duplicates="ignore")
        >>> told = naming_data(Config(), data)
        >>> told.data, told.out
        ('cells', 'runs/cells-ce-seed0-...')
    """
    if data is None:
        return config
    if parse_source(config.data)[0] != data.name:
        config = config.replace(data=data.name or MEMORY)
    if config.out is not None:
        return config
    content = json.dumps(fingerprint(data), sort_keys=True).encode()
    return config.replace(out=f"{run_folder(config).as_posix()}-{hashlib.sha256(content).hexdigest()[:8]}")
