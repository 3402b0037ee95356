"""The settings of a run as options of a command, without importing torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from .names import choices
from .quoting import check_quotes

if TYPE_CHECKING:
    from ..train import Config

Verb = TypeVar("Verb", bound=Callable[..., None])


class Setting(NamedTuple):
    """A field of ``train.Config``: its type on the command line, its default and its help."""

    kind: type
    default: object
    help: str


DATA_HELP = (
    'Training data, such as \'csv(path="rows_{split}.csv", label="kind", features="age, height")\' or'
    " 'folder(path=\"photos/{split}\", size=32)', where {split} becomes train and test:"
    f" {choices('data')}."
)
SETTINGS: dict[str, Setting] = {
    "data": Setting(str, "digits", DATA_HELP),
    "test": Setting(str, None, "Test data, if not the test split of --data; 'none' for no test."),
    "noise": Setting(str, None, f"Noise added to the labels, such as 'symmetric(0.4)': {choices('noise')}."),
    "noise_seed": Setting(int, None, "Seed of the noise, if not that of the run."),
    "exact_noise": Setting(bool, False, "Flip exactly the given share, not each label independently."),
    "model": Setting(
        str, "mlp", f"Network, such as 'mlp(norm=True)': {choices('model')}; timm:NAME, torchvision:NAME."
    ),
    "weights": Setting(str, None, "A safetensors file of initial weights."),
    "loss": Setting(str, "ce", f"Loss, such as 'gce(q=0.7)' or '10*nce + 0.1*agce': {choices('loss')}."),
    "method": Setting(str, None, f"Training method, such as 'elr(beta=0.7)': {choices('method')}."),
    "epochs": Setting(int, None, "Passes over the data; 100 if left out, up to 500 for small data."),
    "iterations": Setting(int, None, "Steps, instead of epochs."),
    "batch_size": Setting(int, 128, "Samples per step."),
    "balanced_batches": Setting(
        int, None, "Batches per epoch, each with equally many samples of every class."
    ),
    "optimizer": Setting(str, "sgd", "sgd, adam or adamw, with options as in 'sgd(nesterov=True)'."),
    "lr": Setting(float, 0.01, "Initial learning rate."),
    "momentum": Setting(float, 0.9, "Momentum of sgd."),
    "weight_decay": Setting(float, 0.0, "L2 penalty of the weights."),
    "schedule": Setting(
        str, "cosine", f"Learning-rate schedule, such as \"step(milestones='40,80')\": {choices('schedule')}."
    ),
    "clip": Setting(float, None, "Largest norm of the gradient."),
    "augment": Setting(
        str,
        None,
        f"Augmentation, as \"crop(padding=4) | flip | normalize('cifar10')\": {choices('augment')}.",
    ),
    "precision": Setting(str, "fp32", "fp32, or bf16 for the network (the loss stays in fp32)."),
    "dropout": Setting(float, 0.0, "Share of features dropped in training."),
    "mixup": Setting(float, None, "Train on means of pairs of inputs, weighted by Beta(M, M), such as 1."),
    "weight_average": Setting(float, None, "Decay of a running mean of the weights, such as 0.997."),
    "validation": Setting(float, 0.0, "Share of the training data held out to select the best epoch."),
    "validation_data": Setting(str, None, "Source of validation data, instead of a held-out share."),
    "validation_labels": Setting(str, "given", "Labels of the validation data: given (noisy) or clean."),
    "patience": Setting(int, None, "Stop after this many epochs without a better validation accuracy."),
    "evaluate_every": Setting(int, 1, "Epochs between evaluations on test and validation data."),
    "record": Setting(bool, True, "Store margin and prediction of every sample at every epoch."),
    "seed": Setting(int, 0, "Seed of all random numbers."),
    "device": Setting(str, "auto", "auto, cpu, cuda or cuda:1."),
    "loop": Setting(str, "auto", "auto, plain, or graph: steps captured as CUDA graphs."),
    "checkpoint_seconds": Setting(float, 30.0, "Time between checkpoints; 0 saves one after every step."),
    "out": Setting(str, None, "Folder of the run; by default one under runs/ named after its settings."),
}
"""Settings by name, in the order of the fields of ``Config``."""
GROUPS = {
    "Data and noise": ("data", "test", "noise", "noise_seed", "exact_noise", "augment"),
    "Network and loss": ("model", "weights", "loss", "method", "dropout", "precision"),
    "Validation": ("validation", "validation_data", "validation_labels", "patience", "evaluate_every"),
    "Run": ("record", "seed", "device", "loop", "checkpoint_seconds", "out"),
}
"""Headings of the help; settings in none of them belong to ``TRAINING``."""
TRAINING = "Training"
FILE_HELP = "Read settings from the config.json of a run; options on the command line take precedence."


def with_settings(*left_out: str) -> Callable[[Verb], Verb]:
    """Decorator that replaces the parameter ``settings`` by ``--config`` and one option per setting."""

    def decorate(verb: Verb) -> Verb:
        own = [p for p in inspect.signature(verb, eval_str=True).parameters.values() if p.name != "settings"]
        options = [_option(name, SETTINGS[name]) for name in SETTINGS if name not in left_out]
        file = _parameter("config_file", Annotated[Path | None, typer.Option("--config", help=FILE_HELP)])

        def run(**values: Any) -> None:
            given = {p.name: values.pop(p.name) for p in (file, *options)}
            verb(**values, settings=given)

        run.__name__, run.__doc__ = verb.__name__, verb.__doc__
        parameters = [*own, file, *options]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run  # type: ignore[return-value]

    return decorate


def read_config(settings: Mapping[str, Any]) -> Config:
    """The config of the file, if one is given, updated by the given options."""
    from ..train import Config

    given = {name: value for name, value in settings.items() if value is not None and name != "config_file"}
    for name in ("data", "test", "validation_data"):
        check_quotes(given.get(name) or "")
    for name in ("noise", "weights", "method", "augment"):
        if given.get(name) == "none":  # removes a setting of the config file
            given[name] = None
    file = settings.get("config_file")
    if file is None:
        return Config(**given)
    if not file.is_file():
        raise FileNotFoundError(f"--config {file} is not a file: give the config.json of a run")
    try:
        base = Config.load(file)
    except (ValueError, TypeError) as problem:
        raise ValueError(f"{file}: {problem}") from None
    return base.replace(**given)


def _option(name: str, setting: Setting) -> inspect.Parameter:
    flag = f"--{name.replace('_', '-')}"
    flags = [f"{flag}/--no-{name.replace('_', '-')}"] if setting.kind is bool else [flag]
    shown = "" if setting.default is None else f" (default: {_shown(setting.default)})"
    group = next((heading for heading, names in GROUPS.items() if name in names), TRAINING)
    option = typer.Option(*flags, help=setting.help + shown, show_default=False, rich_help_panel=group)
    return _parameter(name, Annotated[setting.kind | None, option])  # type: ignore[valid-type]


def _shown(default: object) -> str:
    return {True: "yes", False: "no"}[default] if isinstance(default, bool) else str(default)


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
