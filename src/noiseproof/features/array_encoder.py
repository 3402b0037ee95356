"""Encode arrays of numbers and images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ids import why_numbers_are_id
from .number_block import NumberBlock
from .table_encoder import CONSTANT, EMPTY, part_of


class ArrayEncoder:
    """Columns of an array, or pixels of images, of shape (n, ...); ``used`` marks the columns that are kept.

    Columns are standardised separately, pixels by one common mean and standard deviation.
    """

    def __init__(
        self, shape: tuple[int, ...], left_out: dict[str, str], used: NDArray[Any], numbers: NumberBlock
    ) -> None:
        self.shape, self.left_out, self.used, self.numbers = shape, left_out, used, numbers

    @classmethod
    def fit(cls, array: NDArray[Any], *, drop_ids: bool) -> ArrayEncoder:
        shape = array.shape[1:]
        values = _flat(array)
        if len(shape) > 1:
            everything = np.ones(values.shape[1], bool)
            return cls(shape, {}, everything, NumberBlock.fit(values, one_scale=True))
        left_out = _left_out(values, drop_ids=drop_ids)
        if len(left_out) == len(values.T):
            left_out = {name: reason for name, reason in left_out.items() if reason == EMPTY}
        if len(left_out) == len(values.T):
            raise ValueError("all columns of X are empty: at least one must have values")
        used = np.array([f"x{at}" not in left_out for at in range(len(values.T))], bool)
        return cls(shape, left_out, used, NumberBlock.fit(values[:, used]))

    @property
    def kind(self) -> str:
        return "images" if len(self.shape) > 1 else "numbers"

    @property
    def names(self) -> list[str]:
        return self.numbers.names([f"x{at}" for at in np.flatnonzero(self.used)])

    def scaled(self, array: NDArray[Any]) -> NDArray[Any]:
        return self.numbers.scaled(_flat(array)[:, self.used])

    def unscaled(self, array: NDArray[Any]) -> NDArray[Any]:
        return self.numbers.unscaled(_flat(array)[:, self.used])

    def sparse(self, array: NDArray[Any]) -> None:
        return None

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        numbers = {f"numbers.{name}": array for name, array in self.numbers.arrays().items()}
        return {"shape": list(self.shape), "left_out": self.left_out}, {"used": self.used, **numbers}

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ArrayEncoder:
        numbers = NumberBlock(**part_of(arrays, "numbers"))
        shape = tuple(int(size) for size in facts["shape"])
        return cls(shape, dict(facts["left_out"]), np.asarray(arrays["used"], bool), numbers)


def _flat(array: NDArray[Any]) -> NDArray[np.float64]:
    values = np.asarray(array, np.float64).reshape(len(array), -1)
    return np.where(np.isfinite(values), values, np.nan)


def _left_out(values: NDArray[np.float64], *, drop_ids: bool) -> dict[str, str]:
    if len(values) < 2:
        return {}
    missing = np.isnan(values)
    empty = missing.all(0)
    constant = ~missing.any(0) & (values == values[:1]).all(0)
    reasons = {f"x{at}": EMPTY for at in np.flatnonzero(empty)}
    reasons |= {f"x{at}": CONSTANT for at in np.flatnonzero(constant)}
    for at in np.flatnonzero(~empty & ~constant) if drop_ids else ():
        if (reason := why_numbers_are_id(f"x{at}", values[:, at])) is not None:
            reasons[f"x{at}"] = reason
    return reasons
