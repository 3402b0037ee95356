"""The data of a run, made from its config: load it, add label noise, split off validation data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import noise
from ..data import LabelledData, load
from ..data.inputs import raw_bytes
from ..data.locations import NoSplitError
from ..data.registry import IN_MEMORY, parse_source
from ..dynamics.run_folder import RESULT
from ..features import Features
from ..grammar import written
from .batches import split_positions
from .config import Config, run_folder

HASHED_INPUTS = 64
"""Number of inputs, spread over the data, that are hashed whatever its size."""
MAX_HASHED_BYTES = 1 << 28
"""Largest size of data in memory whose inputs are all hashed."""
ALL_INPUTS = "inputs_sha256"
"""Name of the hash of all inputs, which runs of version 0.1.0 do not have."""


@dataclass(frozen=True, eq=False)
class Task:
    """The data of a run: for training, for choosing the best epoch (validation), and for testing."""

    train: LabelledData
    validation: LabelledData | None
    test: LabelledData | None
    noise: dict[str, Any] | None = field(default=None)
    """Manifest of the added noise; None without noise."""

    @property
    def features(self) -> Features | None:
        """The encoder of table rows or texts, fitted on the training rows."""
        return self.train.features

    def facts(self) -> dict[str, Any]:
        """Description of the data for the manifest of the run."""
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
    """The data of a run; ``data`` and ``test`` are used instead of the sources in the config."""
    whole = load(config.data) if data is None else data
    tested = _test_data(config, data) if test is None else test
    if tested is not None:
        if not whole.is_raw and not tested.is_raw:
            check_columns(whole.columns, tested.columns, "the test data")
        tested = _with_same_classes(tested, whole.class_names)
    if whole.num_classes < 2:
        raise ValueError(
            f"all training labels are {whole.class_names[0]!r}: there must be at least two classes"
        )
    noisy, manifest = _with_noise(whole, config)
    if not config.validation:
        return _encoded(Task(noisy, _validation_data(config, whole.class_names), tested, manifest))
    kept, aside = split_positions(noisy.index, config.validation, seed=config.seed)
    return _encoded(Task(noisy.subset(kept), _validation(noisy.subset(aside), config), tested, manifest))


def _encoded(task: Task) -> Task:
    """Encode table rows and texts by Features fitted on the training rows only."""
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
            f"noise={config.noise!r} replaces inputs by those of another dataset: call noise.replace_inputs"
            " and pass the result as data=..."
        )
    return data.with_labels(found.labels, clean_label=truth), dict(vars(found.manifest))


def _validation(data: LabelledData, config: Config) -> LabelledData:
    if config.validation_labels == "given":
        return data
    if data.clean_label is None:
        raise ValueError("validation_labels='clean' needs data with clean labels; this data has none")
    return data.with_labels(data.clean_label)


def _validation_data(config: Config, names: tuple[str, ...]) -> LabelledData | None:
    """The data of ``validation_data``: its validation split, or all of it if it is another file or folder."""
    if config.validation_data is None:
        return None
    try:
        found = load(config.validation_data, split="validation")
    except NoSplitError as problem:
        if config.validation_data == config.data or "path" not in parse_source(config.validation_data)[1]:
            raise ValueError(
                f"validation_data: {problem}; set, for example, validation=0.1 instead"
            ) from None
        found = load(config.validation_data)
    return _validation(_with_same_classes(found, names), config)


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
    """The test split of a source, or all of it if it has no splits."""
    try:
        return load(spec, split="test")
    except NoSplitError:
        return load(spec)


def _with_same_classes(test: LabelledData, names: tuple[str, ...]) -> LabelledData:
    """Test data with the class numbers of the training data; some classes may be absent."""
    if test.class_names == names:
        return test
    truth = test.label if test.clean_label is None else torch.cat([test.label, test.clean_label])
    there = [test.class_names[number] for number in torch.bincount(truth).nonzero().flatten().tolist()]
    if unknown := [name for name in there if name not in names]:
        raise ValueError(
            f"the test data has classes {_few(test.class_names)}, the training data {_few(names)}:"
            f" remove the test samples of {_few(tuple(unknown))}, or add that class to the training data"
        )
    return test.with_classes(names)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f", ... ({len(names)})" if len(names) > 5 else "")


def fingerprint(data: LabelledData) -> dict[str, Any]:
    """Number of samples, a hash of indices, labels and some inputs, and for small data one of all inputs.

    Example:
        >>> import torch
        >>> fingerprint(LabelledData(torch.zeros(2, 3), [0, 1]))["samples"]
        2
    """
    digest = hashlib.sha256()
    clean = data.label if data.clean_label is None else data.clean_label
    for numbers in (data.index, data.label, clean):
        digest.update(np.ascontiguousarray(numbers.cpu().numpy(), dtype="<i8").tobytes())
    few = min(HASHED_INPUTS, len(data))
    chosen = sorted({place * (len(data) - 1) // max(1, few - 1) for place in range(few)})
    _add_inputs(digest, data, chosen)
    found = {"samples": len(data), "sha256": digest.hexdigest()}
    if _is_small(data):
        everything = hashlib.sha256()
        _add_inputs(everything, data, slice(None))
        found[ALL_INPUTS] = everything.hexdigest()
    return found


def in_format_of(now: Any, before: Any) -> Any:
    """The fingerprint ``now`` in the format of the version that wrote ``before``."""
    if isinstance(now, dict) and isinstance(before, dict) and ALL_INPUTS not in before:
        return {name: value for name, value in now.items() if name != ALL_INPUTS}
    return now


def _add_inputs(digest: Any, data: LabelledData, positions: list[int] | slice) -> None:
    if data.is_raw:
        digest.update(raw_bytes(data.inputs))
        return
    inputs = data.batch(positions).input.cpu().contiguous()
    digest.update(str((inputs.dtype, tuple(inputs.shape))).encode())
    digest.update(inputs.numpy().tobytes())


def _is_small(data: LabelledData) -> bool:
    if not (isinstance(data.inputs, Tensor) or type(data.inputs) is np.ndarray):
        return False
    first = data.batch([0]).input
    return len(data) * first.numel() * first.element_size() <= MAX_HASHED_BYTES


def check_columns(trained: Sequence[str], found: Sequence[str], what: str) -> None:
    """Raise ValueError if both are known and differ, since columns are matched by position.

    Example:
        >>> check_columns(["age", "height"], ["height", "age"], "the test data")
        Traceback (most recent call last):
        ValueError: the test data has columns height, age where the training data has age, height: ...
    """
    if trained and found and tuple(trained) != tuple(found):
        first = next(at for at, pair in enumerate(zip_longest(trained, found)) if len(set(pair)) > 1)
        ours, theirs = ", ".join(trained[first : first + 5]), ", ".join(found[first : first + 5])
        raise ValueError(
            f"{what} has columns {theirs or 'missing'} where the training data has {ours or 'none'}: give"
            " both tables the same columns in the same order, or choose them with features=..."
        )


def with_source_and_folder(config: Config, data: LabelledData | None) -> Config:
    """The config with the name of data in memory as its source, and with a new folder.

    Without ``out`` the folder is the first of NAME, NAME-2, ... without a finished run, so that a notebook
    cell can be run again. Without data in memory the config is unchanged.

    Example:
        >>> pets = LabelledData([[0.0], [1.0]], ["cat", "dog"], name="pets")
        >>> with_source_and_folder(Config(out="runs/a"), pets).data
        "memory(name='pets')"
    """
    if data is None:
        return config
    if not isinstance(data, LabelledData):
        raise TypeError(f"data is a {type(data).__name__}: give LabelledData(X, labels)")
    if config.data == Config.data != data.name:
        config = config.replace(data=written(IN_MEMORY, {"name": data.name} if data.name else {}))
    if config.out is not None:
        return config
    digest = hashlib.sha256(json.dumps(fingerprint(data), sort_keys=True).encode()).hexdigest()[:8]
    name = f"{run_folder(config).as_posix()}-{digest}"
    folders = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return config.replace(out=next(folder for folder in folders if not Path(folder, RESULT).is_file()))
