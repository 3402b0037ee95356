"""``Run``: the folder of a training run, with its network and predictions."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import methods, models
from ..data import LabelledData, load
from ..data.locations import split_path
from ..data.registry import SOURCES, parse_source
from ..data.sources.arrays import arrays
from ..data.sources.folder import folder
from ..data.sources.table import table
from ..devices.device import pick_device
from ..dynamics import RunFolder
from ..dynamics.checks import REMEDY, damaged, read_tensors
from ..dynamics.run_folder import BEST, CONFIG, MANIFEST, MODEL
from ..features import Features
from ..features.store import load_features
from ..files import DamagedFileError
from ..grammar import written
from ..memory import on_the_cpu
from ..models.registry import BUILT_IN
from ..models.size import blueprint
from ..models.spec import parse as parse_model
from ..models.spec import without_download
from .batches import Views
from .config import Config
from .evaluate import predict_logits
from .task import check_columns

FILES = {"final": MODEL, "best": BEST}


class Run(RunFolder):
    """A folder that ``fit`` wrote.

    Example:
        >>> Run("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: nowhere is not a run folder: it does not contain config.json
    """

    @cached_property
    def config(self) -> Config:
        settings = self.settings
        try:
            return Config.from_dict(settings)
        except (ValueError, TypeError) as problem:
            raise DamagedFileError(self.folder / CONFIG, str(problem), remedy=REMEDY) from None

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self._facts["class_names"])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the input columns if the run was trained on a table."""
        return tuple(self._facts.get("columns", ()))

    @cached_property
    def features(self) -> Features | None:
        """The encoder of table rows or texts as numbers; None if the inputs were numbers."""
        return load_features(self.folder)

    def samples(self, spec: str, *, split: str = "test") -> LabelledData:
        """Data to predict, without labels; of a table only the columns the run was trained on."""
        return new_samples(spec, columns=self.columns, features=self.features, split=split)

    def load_model(self, which: str = "final", *, model: nn.Module | None = None) -> nn.Module:
        """The trained network in evaluation mode, on the CPU.

        Args:
            which: "final", or "best" for the epoch with the best validation accuracy.
            model: the network to load the weights into, for runs with a custom network. A method with two
                networks needs, and returns, their ``models.Ensemble``.
        """
        if which not in FILES:
            raise ValueError(f"which={which!r} is unknown, choose 'final' or 'best'")
        path = self.folder / FILES[which]
        if not path.is_file():
            hint = "it is unfinished" if which == "final" else "it had no validation data"
            raise FileNotFoundError(f"{self.folder} has no {path.name}: {hint}")
        weights = read_tensors(path)[0]
        network = self._network(path, weights) if model is None else model
        check_weights(path, weights, network.state_dict())
        network.load_state_dict(weights)
        return network.eval()

    def predict(
        self,
        data: LabelledData | str,
        *,
        which: str = "final",
        model: nn.Module | None = None,
        split: str = "test",
    ) -> Tensor:
        """Class probabilities (N, C) of the samples of ``data``."""
        samples = self.samples(data, split=split) if isinstance(data, str) else data
        if not isinstance(samples, LabelledData):
            raise TypeError(f"data is a {type(samples).__name__}: give a spec or LabelledData(X, labels)")
        if samples.is_raw:
            encoder = self.features
            samples = samples.as_numbers(self.columns) if encoder is None else samples.encoded(encoder)
        device = pick_device(self.config.device)
        network = self.load_model(which, model=model)
        check_finite(self.folder / FILES[which], network.state_dict())
        network = network.to(device)
        expected = tuple(self._facts["sample_shape"])
        if samples.sample_shape != expected:
            raise ValueError(f"samples have shape {samples.sample_shape}, the run was trained on {expected}")
        check_columns(self.columns, samples.columns, "this data")
        views = Views(self.config, expected)
        with on_the_cpu():
            return predict_logits(network, samples, views.evaluation, device=device).softmax(1)

    def report(self, path: str | Path | None = None, **options: Any) -> Path:
        """Write report.html, see ``noiseproof.report``."""
        found: Path = importlib.import_module("noiseproof.report").write(self, path, **options)
        return found

    @property
    def _facts(self) -> dict[str, Any]:
        """The entry of the manifest that describes the data."""
        facts = self.manifest.get("data")
        if not isinstance(facts, dict) or not {"class_names", "sample_shape"} <= set(facts):
            raise damaged(self.folder / MANIFEST, "it does not describe the data")
        return facts

    def _network(self, path: Path, weights: Mapping[str, Tensor]) -> nn.Module:
        """The network named in the config, built after checking that the file has weights of its shapes."""
        spec = without_download(self.config.model)

        def make() -> nn.Module:
            count = methods.get(self.config.method, loss=self.config.loss).networks
            options = {"dropout": self.config.dropout, "seed": 0, **self._shape()}
            networks = [models.get(spec, **options) for _ in range(count)]
            return networks[0] if count == 1 else models.Ensemble(*networks)

        try:
            if parse_model(spec)[0] in BUILT_IN:
                check_weights(path, weights, blueprint(make))
            with on_the_cpu():
                return make()
        except DamagedFileError:
            raise
        except (ValueError, TypeError, MemoryError) as problem:
            place = self.folder / CONFIG
            raise DamagedFileError(place, str(problem), state="cannot be used", remedy=REMEDY) from None

    def _shape(self) -> dict[str, Any]:
        shape = tuple(self._facts["sample_shape"])
        with on_the_cpu():
            seen = Views(self.config, shape).evaluation(torch.zeros(1).expand(1, *shape))
        size = {"image_size": tuple(seen.shape[2:])} if seen.dim() == 4 else {}
        return {"in_channels": int(seen.shape[1]), "num_classes": len(self.class_names), **size}


class WrongWeightsError(DamagedFileError, RuntimeError):
    """Weights that do not fit the network; also a RuntimeError, as ``load_state_dict`` raises."""


def check_weights(path: Path, weights: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Raise WrongWeightsError unless the file has exactly the tensors of the network, with equal shapes."""
    missing, extra = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    wrong = [name for name in own if name in weights and weights[name].shape != own[name].shape]
    if missing:
        reason = f"Missing key {missing[0]!r}"
    elif extra:
        reason = f"Unexpected key {extra[0]!r}"
    elif wrong:
        shapes = f"{tuple(weights[wrong[0]].shape)}, in the network {tuple(own[wrong[0]].shape)}"
        reason = f"{wrong[0]!r} has shape {shapes}"
    else:
        return
    remedy = f"pass a custom network as model=..., {REMEDY}"
    raise WrongWeightsError(path, reason, state="does not fit the network", remedy=remedy)


def check_finite(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Raise if a weight is NaN or infinite: every prediction would be the first class."""
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise damaged(path, f"{name!r} has values that are NaN or infinite, so it cannot predict")


def new_samples(
    spec: str, *, split: str, columns: Sequence[str] = (), features: Features | None = None
) -> LabelledData:
    """The data of a spec without labels; of a table the columns used in training, in any order."""
    name, options = parse_source(spec)
    if SOURCES.get(name) is table and (columns or features is not None or "image" in options):
        options = {word: value for word, value in options.items() if word != "clean_label"} | {"label": None}
    if SOURCES.get(name) is folder and _is_flat(split_path(name, str(options.get("path")), split)):
        options = {**options, "labelled": False}
    if SOURCES.get(name) is arrays:
        options = {word: value for word, value in options.items() if word != "labels"} | {"labelled": False}
    return load(written(name, options), split=split, features=features)


def _is_flat(place: Path) -> bool:
    """Whether a folder contains images but no subfolders."""
    return place.is_dir() and not any(entry.is_dir() for entry in place.iterdir())
