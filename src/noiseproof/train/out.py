"""What a run on data in memory is called, and where a run goes when nobody says."""

from __future__ import annotations

import hashlib
import json
import re
from itertools import count
from pathlib import Path

from ..data import LabelledData
from ..data.spec import IN_MEMORY, parse_source, source_text
from ..dynamics.run_folder import RESULT
from .config import NEUTRAL, Config
from .fingerprint import fingerprint


def run_folder(config: Config) -> Path:
    """``out``, or a folder under runs/ whose name tells the run and ends in a hash of all its settings.

    Example:
        >>> run_folder(Config(noise="symmetric(0.4)", loss="gce(q=0.7)", seed=3)).as_posix()
        'runs/digits-symmetric-0.4-gce-q-0.7-seed3-...'
    """
    if config.out is not None:
        return Path(config.out).expanduser()
    source, options = parse_source(config.data)
    data = str(options["name"]) if source == IN_MEMORY and "name" in options else config.data
    parts = [data, config.noise, config.method or config.loss]
    words = [re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") for part in parts if part]
    settings = {name: value for name, value in config.to_dict().items() if name not in NEUTRAL}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return Path("runs", f"{'-'.join(words)[:100]}-seed{config.seed}-{digest}")


def named_after(config: Config, data: LabelledData | None) -> Config:
    """The config of a run on ``data`` in memory, which is named in place of the source nobody chose.

    Example:
        >>> named_after(Config(), LabelledData([[0.0], [1.0]], ["cat", "dog"], name="pets")).data
        "memory(name='pets')"
    """
    if data is None or config.data != Config.data or data.name == Config.data:
        return config
    return config.replace(data=source_text(IN_MEMORY, {"name": data.name} if data.name else {}))


def with_folder(config: Config, data: LabelledData | None) -> Config:
    """A run on data in memory goes to a folder of its own unless ``out`` says where: the first of NAME,
    NAME-2, ... that holds no finished run, so that a cell of a notebook can be run again."""
    if data is None or config.out is not None:
        return config
    known = hashlib.sha256(json.dumps(fingerprint(data), sort_keys=True).encode()).hexdigest()[:8]
    usual = run_folder(config).as_posix()
    for number in count(1):
        folder = Path(f"{usual}-{known}" + (f"-{number}" if number > 1 else ""))
        if not (folder / RESULT).is_file():
            break
    return config.replace(out=folder.as_posix())
