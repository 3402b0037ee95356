"""Train and test: checked names, and one file or folder for each."""

from __future__ import annotations

from pathlib import Path

SPLITS = ("train", "test")


class NoSplitError(ValueError):
    """The source has training data only."""


def check_split(source: str, split: str) -> None:
    if split not in SPLITS:
        raise ValueError(f"{source}: split={split!r} is unknown, choose 'train' or 'test'")


def split_path(source: str, path: str, split: str) -> Path:
    """``path`` with ``{split}`` filled in; a path without it is training data.

    Example:
        >>> split_path("folder", "photos/{split}", "test").as_posix()
        'photos/test'
        >>> split_path("folder", "photos", "test")
        Traceback (most recent call last):
        noiseproof.data.sources.split.NoSplitError: folder: path='photos' has no test split: ...
    """
    check_split(source, split)
    if "{split}" not in path and split != "train":
        raise NoSplitError(
            f"{source}: path={path!r} has no {split} split: write {{split}} where the names differ, as in"
            f' path="somewhere/{{split}}"'
        )
    return Path(path.replace("{split}", split)).expanduser()
