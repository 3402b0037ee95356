"""Labels of any type to class numbers and names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..features import as_labels
from .class_names import numbered_classes
from .class_numbers import as_class_numbers


def numbers_and_names(
    label: object, clean_label: object, class_names: Sequence[str] | None, index: Tensor | None
) -> tuple[Tensor, Tensor | None, Sequence[str]]:
    """Class numbers of both and the names of the classes.

    Whole numbers are class numbers; any other label names its class.

    Example:
        >>> numbers_and_names(["dog", "cat"], None, None, None)
        (tensor([1, 0]), None, ['cat', 'dog'])
        >>> numbers_and_names([0, 2], None, None, None)[2]
        ['0', '1', '2']
    """
    given, clean = _array(label), None if clean_label is None else _array(clean_label)
    if all(_is_whole(values) for values in (given, clean) if values is not None):
        numbers = as_class_numbers(_as_whole(given))
        truth = None if clean is None else as_class_numbers(_as_whole(clean), "clean_label")
        return numbers, truth, class_names or _names_of_numbers(given, numbers, truth, index)
    if class_names is None:
        classes: list[Any] = as_labels(given, "label")[1]
        if clean is not None:
            classes = as_labels([*classes, *as_labels(clean, "clean_label")[1]])[1]
        class_names = [str(name) for name in classes]
    truth = None if clean is None else numbers_of_names(clean, class_names, "clean_label")
    return numbers_of_names(given, class_names), truth, class_names


def numbers_of_names(labels: object, class_names: Sequence[str], what: str = "label") -> Tensor:
    """Class numbers of labels that are whole numbers or names of these classes."""
    values = _array(labels)
    if _is_whole(values):
        return as_class_numbers(_as_whole(values), what)
    codes, classes = as_labels(values, what)
    place = {name: number for number, name in enumerate(class_names)}
    numbers = np.array([place.get(str(name), -1) for name in classes], np.int64)[codes]
    if (numbers < 0).any():
        where = int((numbers < 0).argmax())
        known = ", ".join(class_names[:5]) + (", ..." if len(class_names) > 5 else "")
        raise ValueError(f"{what}[{where}] = {classes[codes[where]]!r} is not one of the classes {known}")
    return torch.from_numpy(numbers)


def _array(values: Any) -> Any:
    if isinstance(values, Tensor):
        return values if values.dtype == torch.bfloat16 else values.detach().cpu().numpy()
    return np.asarray(values) if not _has_text(values) else values


def _has_text(values: Any) -> bool:
    """Text and numbers in one list stay apart: numpy would make text of both."""
    return isinstance(values, (list, tuple)) and any(isinstance(value, str) for value in values)


def _is_whole(values: Any) -> bool:
    if isinstance(values, Tensor):
        return True
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        return isinstance(values, np.ndarray)
    finite = values.dtype.kind == "f" and bool((np.isfinite(values) & (values == np.round(values))).all())
    return values.dtype.kind in "iub" or finite or values.size == 0


def _as_whole(values: Any) -> Any:
    whole = isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.ndim == 1
    return values.astype(np.int64) if whole else values


def _names_of_numbers(
    given: Any, numbers: Tensor, truth: Tensor | None, index: Tensor | None
) -> Sequence[str]:
    if isinstance(given, np.ndarray) and given.dtype.kind == "b":
        return ["False", "True"]
    return numbered_classes(numbers, truth, index)


def refuse_label_column(rows: object, label: object) -> None:
    """ValueError where a table still holds the column of labels, which would be learnt from itself."""
    name = getattr(label, "name", None)
    if isinstance(name, str) and name in getattr(rows, "columns", ()):
        raise ValueError(
            f"the column of labels {name!r} is among the inputs too: leave it out, as in"
            f" table.drop(columns={name!r})"
        )
