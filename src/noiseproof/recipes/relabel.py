"""Train, replace the labels by the predictions, and train again from scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from ..data import LabelledData
from ..train import Config, Run, Watcher
from ..train.task import make_task
from .stage import accuracies_of, quoted, recipe_folder, save_array, stage

LABELS = "labels.npy"


class Relabelled(NamedTuple):
    """Both runs, and the change of the labels."""

    first: Run
    second: Run
    changed: int
    """Number of labels that changed."""
    wrong_before: int | None
    wrong_after: int | None
    """Number of wrong labels before and after; None without clean labels."""

    @property
    def gain(self) -> float | None:
        """Final test accuracy of the second run minus that of the first."""
        first, second = (accuracies_of(run)["final"] for run in (self.first, self.second))
        return None if first is None or second is None else second - first


def relabel_and_retrain(
    config: Config,
    *,
    data: LabelledData | None = None,
    test: LabelledData | None = None,
    watcher: Watcher | None = None,
) -> Relabelled:
    """Train twice with the same settings, the second time on the labels that the first network predicts.

    ``out`` of the config becomes a folder with first/, labels.npy and second/. The same call resumes after an
    interruption. Labels of a validation split are not changed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     config = Config(noise="symmetric(0.4)", epochs=5, lr=0.1, out=folder)
        ...     found = relabel_and_retrain(config)
        ...     found.wrong_after < found.wrong_before
        True

    Reference:
        Wang et al., Derivative Manipulation / Gradient Rescaling, appendix E, Table 11
    """
    task = make_task(config, data, test)
    first = stage(config, "first", watcher=watcher, data=data, test=test)
    predicted = first.outputs["train_probability"].argmax(1)
    path = recipe_folder(config) / LABELS
    save_array(path, _all_labels(task.train, task.validation, predicted))
    again = config.replace(noise=f"human({quoted(path)})", exact_noise=False)
    second = stage(again, "second", watcher=watcher, data=data, test=test)
    clean = task.train.clean_label
    return Relabelled(
        first=first,
        second=second,
        changed=int((predicted != task.train.label).sum()),
        wrong_before=None if clean is None else int((task.train.label != clean).sum()),
        wrong_after=None if clean is None else int((predicted != clean).sum()),
    )


def _all_labels(train: LabelledData, validation: LabelledData | None, predicted: Tensor) -> Tensor:
    """(numbers,) one label for every permanent sample number."""
    parts: list[tuple[Any, Any]] = [(train.index, predicted)]
    if validation is not None:
        parts.append((validation.index, validation.label))
    size = max(int(index.max()) for index, _ in parts) + 1
    labels = predicted.new_zeros(size)
    for index, label in parts:
        labels[index] = label
    return labels
