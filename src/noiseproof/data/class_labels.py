"""Convert labels of any type to class numbers and class names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..features import as_labels

MAX_CLASSES = 1_000_000
"""Largest number of classes without names; a larger label is probably an id."""
NUMBERING_HINT = "number the classes 0 ... K-1 first and pass their names as class_names"


def numbers_and_names(
    label: object, clean_label: object, class_names: Sequence[str] | None, index: Tensor | None
) -> tuple[Tensor, Tensor | None, Sequence[str]]:
    """Class numbers of labels and clean labels, and the class names.

    Whole numbers are class numbers; any other label is a class name.

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
    number_of = {name: number for number, name in enumerate(class_names)}
    numbers = np.array([number_of.get(str(name), -1) for name in classes], np.int64)[codes]
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
    """Whether a list contains text; numpy would convert numbers in it to text."""
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
    """ValueError if a table contains the column of labels."""
    name = getattr(label, "name", None)
    if isinstance(name, str) and name in getattr(rows, "columns", ()):
        raise ValueError(
            f"the inputs contain the column of labels {name!r}: leave it out, as in"
            f" table.drop(columns={name!r})"
        )


def numbered_classes(
    label: Tensor, clean_label: Tensor | None = None, index: Tensor | None = None
) -> list[str]:
    """ "0", "1", ... up to the largest label.

    Example:
        >>> import torch
        >>> numbered_classes(torch.tensor([0, 2]))
        ['0', '1', '2']
        >>> numbered_classes(torch.tensor([0, 10**12]))
        Traceback (most recent call last):
        ValueError: label[1] = 1000000000000 is above 999999: is this an id? number the classes, or pass ...
    """
    largest = -1
    for what, labels in (("label", label), ("clean_label", clean_label)):
        if labels is None or len(labels) == 0:
            continue
        where = int(labels.argmax())
        largest = max(largest, int(labels[where]))
        if largest >= MAX_CLASSES:
            raise ValueError(
                f"{what}[{where}] = {largest} is above {MAX_CLASSES - 1}: is this an id? number the classes,"
                f" or pass class_names{sample_at(where, index)}"
            )
    return [str(number) for number in range(largest + 1)]


def checked_names(class_names: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple; TypeError or ValueError unless they are unique strings.

    Example:
        >>> checked_names("cat")
        Traceback (most recent call last):
        TypeError: class_names is the text 'cat': expected one name per class, as in ["cat", "dog"]
    """
    if isinstance(class_names, (str, bytes)):
        raise TypeError(
            f'class_names is the text {class_names!r}: expected one name per class, as in ["cat", "dog"]'
        )
    first: dict[str, int] = {}
    for number, name in enumerate(class_names):
        if not isinstance(name, str):
            raise TypeError(f"class_names[{number}] = {name!r} must be a string, not {type(name).__name__}")
        if name in first:
            raise ValueError(f"class_names[{first[name]}] and class_names[{number}] are both {name!r}")
        first[name] = number
    return tuple(first)


def as_class_numbers(values: object, what: str = "label") -> Tensor:
    """Convert integers or bools to a new int64 tensor (N,).

    Example:
        >>> as_class_numbers([True, False])
        tensor([1, 0])
        >>> as_class_numbers([0.0, 2.0])
        Traceback (most recent call last):
        TypeError: label[0] = 0.0 is a float64: class labels are integers; these are whole ...
    """
    if isinstance(values, Tensor) and values.dtype == torch.bfloat16:
        raise TypeError(
            f"{what} is bfloat16, which rounds class numbers above 256: pass the integers it was made from"
        )
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(
            f"{what} has shape {array.shape}: expected one class number per sample, shape (N,)"
            + ("; for one-hot or soft labels take argmax(1)" if array.ndim == 2 else "")
        )
    if array.size and array.dtype.kind not in "iub":
        raise TypeError(_why_no_class_numbers(array, what))
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        where = int(array.argmax())
        raise ValueError(f"{what}[{where}] = {array[where]} does not fit into 64 bits with a sign")
    return torch.from_numpy(np.array(array, dtype=np.int64))


def check_class_range(
    labels: Tensor, num_classes: int, what: str = "label", index: Tensor | None = None
) -> None:
    """ValueError unless all labels are in 0 ... num_classes - 1; ``index``: permanent sample numbers.

    Example:
        >>> check_class_range(torch.tensor([0, 3]), 3)
        Traceback (most recent call last):
        ValueError: label[1] = 3 is not a valid class: with 3 classes labels run from 0 to 2
    """
    invalid = (labels < 0) | (labels >= num_classes)
    if bool(invalid.any()):
        where = int(invalid.nonzero()[0])
        raise ValueError(
            f"{what}[{where}] = {int(labels[where])} is not a valid class: with {num_classes} classes labels"
            f" run from 0 to {num_classes - 1}{sample_at(where, index)}"
        )


def sample_at(position: int, index: Tensor | None) -> str:
    """The end of a message about a position, if its sample has another permanent number.

    Example:
        >>> sample_at(1, torch.tensor([7, 9]))
        ' (position 1 is sample 9)'
    """
    number = position if index is None or position >= len(index) else int(index[position])
    return "" if number == position else f" (position {position} is sample {number})"


def _why_no_class_numbers(array: NDArray[Any], what: str) -> str:
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.round(array))
        where = 0 if whole.all() else int(np.argmin(whole))
        hint = (
            "these are whole numbers, so convert them with .astype('int64') or .long()"
            if whole.all()
            else "this one is not a whole number"
        )
    else:
        odd = [not isinstance(value, (int, np.integer)) for value in array]
        where = odd.index(True) if True in odd else 0
        hint = NUMBERING_HINT
    kind = array.dtype if array.dtype.kind == "f" else type(array[where]).__name__
    return f"{what}[{where}] = {array[where]!s} is a {kind}: class labels are integers; {hint}"
