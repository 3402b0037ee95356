"""From a config to the data of a run: load, make labels wrong if asked, put validation data aside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from .. import noise
from ..data import LabelledData, load
from ..data.sources.split import NoSplitError
from ..features import Features
from .config import Config
from .fingerprint import fingerprint
from .new_samples import check_columns
from .order import split_positions


@dataclass(frozen=True, eq=False)
class Task:
    """What is learned from, what chooses, what is only measured."""

    train: LabelledData
    validation: LabelledData | None
    test: LabelledData | None
    noise: dict[str, Any] | None = field(default=None)
    """Manifest of the noise added, None where labels are as they came."""

    @property
    def features(self) -> Features | None:
        """What makes numbers of the rows of a table or of texts, fitted on the training rows."""
        return self.train.features

    def facts(self) -> dict[str, Any]:
        """What the manifest of the run says of the data."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {
            "name": self.train.name,
            "class_names": list(self.train.class_names),
            "sample_shape": list(self.train.sample_shape),
            **({"columns": list(self.train.columns)} if self.train.columns else {}),
            **({} if self.features is None else {"features": self._features_facts(self.features)}),
            **{part: None if data is None else fingerprint(data) for part, data in parts.items()},
        }

    @staticmethod
    def _features_facts(features: Features) -> dict[str, Any]:
        return {"kind": features.kind, "inputs": features.inputs, "left_out": features.left_out}


def make_task(config: Config, data: LabelledData | None = None, test: LabelledData | None = None) -> Task:
    """The data of a run; what is given takes the place of what the config names."""
    whole = load(config.data) if data is None else data
    tested = _test_data(config, data) if test is None else test
    if tested is not None:
        if not whole.is_raw and not tested.is_raw:
            check_columns(whole.columns, tested.columns, "the test data")
        tested = _with_same_classes(tested, whole.class_names)
    if whole.num_classes < 2:
        raise ValueError(f"all training labels are {whole.class_names[0]!r}: there is nothing to tell apart")
    noisy, manifest = _with_noise(whole, config)
    if not config.validation:
        return _encoded(Task(noisy, None, tested, manifest))
    kept, aside = split_positions(noisy.index, config.validation, seed=config.seed)
    return _encoded(Task(noisy.subset(kept), _validation(noisy.subset(aside), config), tested, manifest))


def _encoded(task: Task) -> Task:
    """Rows of tables and texts as numbers, by Features fitted on the training rows alone."""
    features = task.train.fit_features() if task.train.is_raw else task.train.features
    if features is None:
        return task

    def encode(data: LabelledData) -> LabelledData:
        return data.encoded(features) if data.is_raw or data.features is None else data

    validation = None if task.validation is None else encode(task.validation)
    test = None if task.test is None else encode(task.test)
    return Task(encode(task.train), validation, test, task.noise)


def _with_noise(data: LabelledData, config: Config) -> tuple[LabelledData, dict[str, Any] | None]:
    if config.noise is None:
        return data, None
    truth = data.label if data.clean_label is None else data.clean_label
    found = noise.corrupt(
        truth,
        config.noise,
        num_classes=data.num_classes,
        seed=config.seed if config.noise_seed is None else config.noise_seed,
        groups=data.groups,
        inputs=data.inputs,
        exact=config.exact_noise,
        index=data.index,
    )
    if found.open_set is not None:
        raise ValueError(
            f"noise={config.noise!r} replaces inputs, which needs foreign ones: use noise.replace_inputs and"
            " give the result as data=..."
        )
    return data.with_labels(found.labels, clean_label=truth), dict(vars(found.manifest))


def _validation(data: LabelledData, config: Config) -> LabelledData:
    if config.validation_labels == "given":
        return data
    if data.clean_label is None:
        raise ValueError("validation_labels='clean' needs data with clean labels; this one has none")
    return data.with_labels(data.clean_label)


def _test_data(config: Config, data: LabelledData | None) -> LabelledData | None:
    if config.test is not None:
        return None if config.test == "none" else _test_split(config.test)
    if data is not None:
        return None
    try:
        return load(config.data, split="test")
    except NoSplitError:
        return None


def _test_split(spec: str) -> LabelledData:
    """Its test split, or all of a source that has only one."""
    try:
        return load(spec, split="test")
    except NoSplitError:
        return load(spec)


def _with_same_classes(test: LabelledData, names: tuple[str, ...]) -> LabelledData:
    """Test data numbered as the training data is; it need not have every class."""
    if test.class_names == names:
        return test
    truth = test.label if test.clean_label is None else torch.cat([test.label, test.clean_label])
    there = [test.class_names[number] for number in torch.bincount(truth).nonzero().flatten().tolist()]
    if strangers := [name for name in there if name not in names]:
        raise ValueError(
            f"the test data has classes {_few(test.class_names)}, the training data {_few(names)}:"
            f" leave out the test samples of {_few(tuple(strangers))}, or train on that too"
        )
    return test.with_classes(names)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f", ... ({len(names)})" if len(names) > 5 else "")
