"""Every reader of a file or a text that others may have written, as a function of one path."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from noiseproof import losses, methods, models, noise
from noiseproof.data import augmentation, load
from noiseproof.data.images import read_image
from noiseproof.data.numpy_files import map_npy
from noiseproof.data.registry import parse_source
from noiseproof.dynamics import Record, RunFolder
from noiseproof.files import read_tensors
from noiseproof.models.factory import network_factory
from noiseproof.noise.manifest import Manifest
from noiseproof.noise.read import read_labels
from noiseproof.train import Config, Run
from noiseproof.train.optimizer import get_schedule, parse_optimizer
from noiseproof.train.task import make_task

CORPUS = Path(__file__).parent / "corpus"
MAX_BYTES = 1 << 28


def _table(path: Path) -> None:
    """Read it and fit the features of its columns, as training does."""
    make_task(Config(data=f'csv(path="{path}")', test="none")).train.batch([0])


def _npz(path: Path) -> None:
    load(f'npz(path="{path}", stream=False)').batch([0])


def _npy(path: Path) -> None:
    _ = map_npy(path)[:1].sum()


def _image(path: Path) -> None:
    read_image(path)


def _config(path: Path) -> None:
    config = Config.load(path)
    assert Config.from_json(config.to_json()) == config


def _manifest(path: Path) -> None:
    """What a run folder says of itself: the manifest, or the result."""
    folder = _copied("config/old.json", path.parent / "run", "config.json")
    shutil.copy(path, folder / ("result.json" if path.name.startswith("result") else "manifest.json"))
    run = Run(folder)
    if run.finished:
        _ = run.result
        (folder / "result.json").unlink()
    else:
        _ = run.class_names, run.columns, run._shape()


def _record(path: Path) -> None:
    folder = path.parent / "record"
    for name in ("samples", "epochs"):
        _copied(f"record/{name}.safetensors", folder, f"{name}.safetensors")
    shutil.copy(path, folder / path.name)
    record = Record.load(folder)
    _ = record.margin.float().mean(), record.flipped


def _lines(path: Path) -> None:
    folder = _copied("config/old.json", path.parent / "run", "config.json")
    shutil.copy(path, folder / "metrics.jsonl")
    _ = RunFolder(folder).metrics


def _safetensors(path: Path) -> None:
    read_tensors(path, MAX_BYTES)


def _noise_manifest(path: Path) -> None:
    Manifest.load(path)


def _labels(path: Path) -> None:
    read_labels(path, key="noisy" if path.suffix == ".json" else None, num_classes=3)


def _spec(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    SPECS[path.stem](text)


SPECS: dict[str, Callable[[str], object]] = {
    "loss": losses.get,
    "losses": losses.get,
    "source": parse_source,
    "model": lambda text: network_factory(
        text, {"num_classes": 3, "in_channels": 4, "dropout": 0.0}, models.MODELS
    ),
    "method": methods.get,
    "noise": noise.get,
    "augment": augmentation,
    "schedule": get_schedule,
    "optimizer": parse_optimizer,
}
READERS: dict[str, Callable[[Path], None]] = {
    "table": _table,
    "parquet": _table,
    "npz": _npz,
    "npy": _npy,
    "image": _image,
    "config": _config,
    "manifest": _manifest,
    "record": _record,
    "lines": _lines,
    "safetensors": _safetensors,
    "noise_manifest": _noise_manifest,
    "labels": _labels,
    "spec": _spec,
}
"""Name of a folder of the corpus to what reads its files."""


def _copied(seed: str, folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    shutil.copy(CORPUS / seed, folder / name)
    return folder
