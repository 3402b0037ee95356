"""Locations of datasets, and errors for missing ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

SPLITS = ("train", "test")
VALIDATION = "validation"
"""A third split, of sources whose authors provide validation data."""
MANUAL_DOWNLOADS = {
    "clothing1m": "ask its authors for it (github.com/Cysu/noisy_label)",
    "webvision": "get google_resized_256, val_images_256 and info (data.vision.ee.ethz.ch/cvl/webvision)",
    "animal10n": "ask its authors for raw_image_ver.zip (dm.kaist.ac.kr/datasets/animal-10n)",
    "food101n": "get Food-101N_release (kuanghuei.github.io/Food-101N) and, for the test data, food-101",
    "resnet50.safetensors": "download model.safetensors of huggingface.co/timm/resnet50.tv_in1k",
    "mars": "get bbox_train and bbox_test (MARS by Zheng et al., 2016)",
}
"""Instructions for data that cannot be downloaded by a command."""


def needs_manual_download(source: str) -> bool:
    """Whether the user has to download the data of a source."""
    return source.partition("(")[0] in MANUAL_DOWNLOADS


def data_root() -> Path:
    """``$NOISEPROOF_DATA``, or ``noiseproof`` in the platform's cache folder (``~/.cache`` on Linux)."""
    chosen = os.environ.get("NOISEPROOF_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = str(Path.home() / "Library" / "Caches")
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "noiseproof"


class DataMissingError(FileNotFoundError):
    """A dataset is missing; the message lists the expected files and how to get them."""

    brief = ""
    """A short message without the list of files."""


def find_files(
    name: str, root: Path, choices: Sequence[Sequence[str]], folders: Sequence[str] = ()
) -> list[Path]:
    """The files of the first complete choice, all in one folder.

    Searched in ``root``, ``root/name`` and the official ``folders`` inside either.
    """
    parents = [root, root / name]
    searched = parents + [parent / folder for parent in parents for folder in folders]
    for choice in choices:
        for folder in searched:
            found = [folder / file for file in choice]
            if all(path.exists() for path in found):
                return found
    problem = DataMissingError(_missing(name, root, choices, searched))
    problem.brief = _brief(name, root, choices, searched)
    raise problem


def weights_file(path: str | Path) -> Path:
    """The path; weights of ``MANUAL_DOWNLOADS`` are also searched in the data folder."""
    if Path(path).is_file() or str(path) not in MANUAL_DOWNLOADS:
        return Path(path)
    return find_files(str(path), data_root(), [[str(path)]])[0]


def _missing(name: str, root: Path, choices: Sequence[Sequence[str]], searched: Sequence[Path]) -> str:
    lines = [f"{name} is not complete under {root}. Expected, in that folder or one of its subfolders"]
    subfolders = [folder.relative_to(root).as_posix() for folder in searched[1:]]
    lines.append(f"({', '.join(subfolders)}), one of:")
    for choice in choices:
        present, absent = _present_and_absent(choice, searched)
        note = f"  (present: {', '.join(present)}; missing: {', '.join(absent)})" if present else ""
        lines.append(f"  - {', '.join(choice)}{note}")
    lines.append(f"To get them: {_instructions(name)}")
    lines.append("or set root=... or the environment variable NOISEPROOF_DATA to a folder that has them.")
    return "\n".join(lines)


def _brief(name: str, root: Path, choices: Sequence[Sequence[str]], searched: Sequence[Path]) -> str:
    states = (_present_and_absent(choice, searched) for choice in choices)
    partial = [absent for present, absent in states if present]
    missing = f" (missing: {', '.join(partial[0])})" if partial else ""
    needed = "" if partial or name not in MANUAL_DOWNLOADS else f" ({', '.join(choices[0])})"
    return f"{name} is not complete under {root}{missing}{needed}: {_instructions(name)}"


def _instructions(name: str) -> str:
    if name not in MANUAL_DOWNLOADS:
        return f"noiseproof data get {name}"
    return f"{MANUAL_DOWNLOADS[name]} and put it into DIR/{name}, with --root DIR where a command has it"


def _present_and_absent(choice: Sequence[str], searched: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Files that exist in one of the folders, and the others."""
    present = [file for file in choice if any((folder / file).exists() for folder in searched)]
    return present, [file for file in choice if file not in present]


class NoSplitError(ValueError):
    """The source has training data only."""


def check_split(source: str, split: str, *, validation: bool = False) -> None:
    """ValueError unless the source has this split; ``validation``: whether it has validation data."""
    if split == VALIDATION and not validation:
        raise NoSplitError(f"{source}: split={split!r} is unknown, there is no validation data")
    if split not in (*SPLITS, VALIDATION):
        raise ValueError(f"{source}: split={split!r} is unknown, choose 'train' or 'test'")


def split_path(source: str, path: str, split: str) -> Path:
    """``path`` with ``{split}`` filled in; a path without it is training data.

    Example:
        >>> split_path("folder", "photos/{split}", "test").as_posix()
        'photos/test'
        >>> split_path("folder", "photos", "test")
        Traceback (most recent call last):
        noiseproof.data.locations.NoSplitError: folder: path='photos' has no test split: ...
    """
    check_split(source, split, validation=True)
    if "{split}" not in path and split != "train":
        raise NoSplitError(
            f"{source}: path={path!r} has no {split} split: put {{split}} in place of its name, as in"
            f' path="somewhere/{{split}}"'
        )
    return Path(path.replace("{split}", split)).expanduser()
