"""Stratified folds for cross-fitting that keep duplicates and groups together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Split = tuple[np.ndarray, np.ndarray]


def split(
    label: np.ndarray,
    folds: int = 5,
    *,
    rows: Any = None,
    groups: Sequence[object] | np.ndarray | None = None,
    seed: int = 0,
) -> list[Split]:
    """Pairs of (rows to fit on, rows to predict); every row is predicted exactly once.

    Args:
        label: class numbers; folds are stratified as far as the groups allow.
        folds: number of folds, at least 2; reduced if there are fewer groups.
        rows: the features, dense or sparse. Equal rows form a group, unless they are all rows of a class.
        groups: one entry per row, e.g. the patient or the source file. Rows of a group share a fold.
        seed: of the assignment of rows to folds.
    """
    if not 2 <= folds <= len(label):
        raise ValueError(f"folds={folds} is out of range: choose 2 to {len(label)}, the number of rows")
    together = _together(len(label), rows, groups)
    if together.max() + 1 < 2:
        why = "all rows are equal" if groups is None else "all rows belong to one group"
        raise ValueError(f"{why}: cross-fitting needs at least two different ones")
    if np.bincount(label).max() < 2:
        raise ValueError("every class has one row: cross-fitting needs classes with at least two rows")
    if groups is None:
        together = _split_confined(label, together)
    fold = _assign(label, together, min(folds, int(together.max()) + 1), seed)
    numbers = np.arange(len(label))
    return [(numbers[fold != k], numbers[fold == k]) for k in range(fold.max() + 1)]


def _assign(label: np.ndarray, together: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Assign each group, largest first, to the fold with the fewest rows of its classes."""
    rng = np.random.default_rng(seed)
    members = list(_members(together))
    order = sorted(rng.permutation(len(members)), key=lambda g: (-len(members[g]), label[members[g][0]]))
    counts = np.zeros((folds, int(label.max()) + 1))
    fold = np.empty(len(label), dtype=np.int64)
    for group in order:
        rows = members[group]
        group_counts = np.bincount(label[rows], minlength=counts.shape[1])
        load = counts @ group_counts / group_counts.sum()
        least = np.flatnonzero(load == load.min())
        chosen = least[counts[least].sum(1).argmin()]
        counts[chosen] += group_counts
        fold[rows] = chosen
    return np.unique(fold, return_inverse=True)[1].reshape(-1)


def _split_confined(label: np.ndarray, together: np.ndarray) -> np.ndarray:
    """Split groups that contain all rows of a class; otherwise no training fold would contain the class."""
    classes, groups = np.unique(np.stack([label, together]), axis=1)
    found, count = np.unique(classes, return_counts=True)
    confined = found[(count == 1) & (np.bincount(label)[found] > 1)]
    is_split = np.isin(together, groups[np.isin(classes, confined)])
    groups = np.where(is_split, together.max() + 1 + np.arange(len(label)), together)
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def _members(together: np.ndarray) -> Iterator[np.ndarray]:
    order = np.argsort(together, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(together[order])) + 1)


def _together(count: int, rows: Any, groups: Sequence[object] | np.ndarray | None) -> np.ndarray:
    """A group number for every row, equal for rows that must be in the same fold, also transitively."""
    from scipy.sparse import coo_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

    numbers = np.arange(count)
    keys = [_codes(part, count) for part in (_row_keys(rows), groups) if part is not None]
    if not keys:
        return numbers
    edges = [_first_of_each(key) for key in keys]
    tails = np.tile(numbers, len(edges))
    graph = coo_array((np.ones(len(tails), dtype=bool), (tails, np.concatenate(edges))), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1])


def _codes(keys: Sequence[object] | np.ndarray, count: int) -> np.ndarray:
    from pandas import factorize  # type: ignore[import-untyped]

    if isinstance(keys, str) or getattr(keys, "ndim", 1) != 1:
        raise ValueError("groups must hold one entry per row, such as table['site']")
    if len(keys) != count:
        raise ValueError(f"groups has {len(keys):,} entries for {count:,} rows: one per row is needed")
    array = np.empty(count, dtype=object)
    array[:] = list(keys)
    try:
        codes = np.asarray(factorize(array)[0])
    except TypeError:
        raise TypeError(
            f"groups must hold one number or text per row, but groups[0] is {array[0]!r}"
        ) from None
    missing = codes < 0
    codes[missing] = codes.max(initial=-1) + 1 + np.arange(missing.sum())
    return codes


def _first_of_each(codes: np.ndarray) -> np.ndarray:
    first = np.unique(codes, return_index=True)[1]
    return np.asarray(first[codes])


def _row_keys(rows: Any) -> list[bytes] | None:
    if rows is None:
        return None
    if hasattr(rows, "tocsr"):
        table = rows.tocsr()
        parts = zip(table.indptr[:-1], table.indptr[1:], strict=True)
        return [table.indices[a:b].tobytes() + table.data[a:b].tobytes() for a, b in parts]
    flat = np.ascontiguousarray(np.asarray(rows).reshape(len(rows), -1))
    return [row.tobytes() for row in flat]
