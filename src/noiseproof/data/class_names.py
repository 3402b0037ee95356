"""Names of classes: those given, checked, or the numbers themselves."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from .class_numbers import sample_at

MOST_CLASSES = 1_000_000
"""Most classes that are named by their numbers: a larger label is more likely an id."""


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
        if largest >= MOST_CLASSES:
            raise ValueError(
                f"{what}[{where}] = {largest} is above {MOST_CLASSES - 1}: is this an id? number the classes,"
                f" or pass class_names{sample_at(where, index)}"
            )
    return [str(number) for number in range(largest + 1)]


def checked_names(class_names: Sequence[str]) -> tuple[str, ...]:
    """Strings, none of them twice.

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
            raise TypeError(f"class_names[{number}] = {name!r} is a {type(name).__name__}: names are strings")
        if name in first:
            raise ValueError(f"class_names[{first[name]}] and class_names[{number}] are both {name!r}")
        first[name] = number
    return tuple(first)
