"""A run, for those who trained it."""

from __future__ import annotations

import importlib
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import models
from ..data import LabelledData
from ..data.host import on_the_cpu
from ..dynamics import RunFolder
from ..dynamics.checks import read_tensors
from ..dynamics.run_folder import BEST, MODEL
from .config import Config
from .device import pick_device
from .evaluate import predict_logits
from .new_samples import check_columns, new_samples
from .views import Views


class Run(RunFolder):
    """A folder that ``fit`` wrote.

    Example:
        >>> Run("nowhere")
        Traceback (most recent call last):
        FileNotFoundError: nowhere is not a run folder: expected config.json in it, as training writes it
    """

    @cached_property
    def config(self) -> Config:
        return Config.from_dict(self.settings)

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self._facts["class_names"])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the values of an input, where the run was trained on a table."""
        return tuple(self._facts.get("columns", ()))

    def samples(self, spec: str, *, split: str = "test") -> LabelledData:
        """Data to predict: of a table only the columns the run was trained on, and no labels."""
        return new_samples(spec, columns=self.columns, split=split)

    def load_model(self, which: str = "final", *, model: nn.Module | None = None) -> nn.Module:
        """The trained network in evaluation mode, on the CPU.

        Args:
            which: "final", or "best" for the one validation data chose.
            model: the network to load into, for runs with a network of your own.
        """
        files = {"final": MODEL, "best": BEST}
        if which not in files:
            raise ValueError(f"which={which!r} is unknown, choose 'final' or 'best'")
        path = self.folder / files[which]
        if not path.is_file():
            hint = "it is unfinished" if which == "final" else "it had no validation data"
            raise FileNotFoundError(f"{self.folder} has no {path.name}: {hint}")
        if model is None:
            with on_the_cpu():
                model = models.get(self.config.model, dropout=self.config.dropout, seed=0, **self._shape())
        model.load_state_dict(read_tensors(path)[0])
        return model.eval()

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
        device = pick_device(self.config.device)
        network = self.load_model(which, model=model).to(device)
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
        """What the manifest says of the data."""
        facts = self.manifest.get("data")
        if not isinstance(facts, dict) or not {"class_names", "sample_shape"} <= set(facts):
            raise ValueError(f"{self.folder / 'manifest.json'} says nothing of the data: it is damaged")
        return facts

    def _shape(self) -> dict[str, Any]:
        shape = tuple(self._facts["sample_shape"])
        views = Views(self.config, shape)
        seen = views.evaluation(torch.zeros(1, *shape))
        size = {"image_size": tuple(seen.shape[2:])} if seen.dim() == 4 else {}
        return {"in_channels": int(seen.shape[1]), "num_classes": len(self.class_names), **size}
