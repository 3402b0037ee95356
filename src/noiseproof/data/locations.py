"""Where datasets live, and what to say when one is not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

SPLITS = ("train", "test")
VALIDATION = "validation"
"""A third split, of the few sources whose authors set data aside to choose by."""
BY_HAND = {
    "clothing1m": "ask its authors for it (github.com/Cysu/noisy_label)",
    "webvision": "get google_resized_256, val_images_256 and info (data.vision.ee.ethz.ch/cvl/webvision)",
    "animal10n": "ask its authors for raw_image_ver.zip (dm.kaist.ac.kr/datasets/animal-10n)",
    "food101n": "get Food-101N_release (kuanghuei.github.io/Food-101N) and, for the test data, food-101",
    "resnet50.safetensors": "download model.safetensors of huggingface.co/timm/resnet50.tv_in1k",
    "mars": "get bbox_train and bbox_test (MARS by Zheng et al., 2016)",
}
"""How to get what no command here can download."""


def by_hand(source: str) -> bool:
    """Whether its user has to get the data of a source."""
    return source.partition("(")[0] in BY_HAND


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
    """A dataset is not where it is looked for; the message says what is expected and how to get it."""

    brief = ""
    """The same in one line, without all it may consist of."""


def find_files(
    name: str, root: Path, choices: Sequence[Sequence[str]], folders: Sequence[str] = ()
) -> list[Path]:
    """The files of the first complete choice, all in one folder.

    Looked for in ``root``, ``root/name`` and the official ``folders`` inside either.
    """
    parents = [root, root / name]
    places = parents + [parent / folder for parent in parents for folder in folders]
    for choice in choices:
        for place in places:
            found = [place / file for file in choice]
            if all(path.exists() for path in found):
                return found
    problem = DataMissingError(_missing(name, root, choices, places))
    problem.brief = _brief(name, root, choices, places)
    raise problem


def weights_file(path: str | Path) -> Path:
    """The path itself; weights of ``BY_HAND`` may also lie in the data folder."""
    if Path(path).is_file() or str(path) not in BY_HAND:
        return Path(path)
    return find_files(str(path), data_root(), [[str(path)]])[0]


def _missing(name: str, root: Path, choices: Sequence[Sequence[str]], places: Sequence[Path]) -> str:
    lines = [f"{name} is not complete under {root}. Expected, in that folder or one of its subfolders"]
    subfolders = [place.relative_to(root).as_posix() for place in places[1:]]
    lines.append(f"({', '.join(subfolders)}), one of:")
    for choice in choices:
        present, absent = _parted(choice, places)
        note = f"  (present: {', '.join(present)}; missing: {', '.join(absent)})" if present else ""
        lines.append(f"  - {', '.join(choice)}{note}")
    lines.append(f"To get them: {_how(name)}")
    lines.append("or point root=... or the environment variable NOISEPROOF_DATA to a folder that has them.")
    return "\n".join(lines)


def _brief(name: str, root: Path, choices: Sequence[Sequence[str]], places: Sequence[Path]) -> str:
    begun = [absent for present, absent in (_parted(choice, places) for choice in choices) if present]
    missing = f" (missing: {', '.join(begun[0])})" if begun else ""
    needed = "" if begun or name not in BY_HAND else f" ({', '.join(choices[0])})"
    return f"{name} is not complete under {root}{missing}{needed}: {_how(name)}"


def _how(name: str) -> str:
    if name not in BY_HAND:
        return f"noiseproof data get {name}"
    return f"{BY_HAND[name]} and put it into DIR/{name}, with --root DIR where a command has it"


def _parted(choice: Sequence[str], places: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Files that are in one of the places, and the others."""
    present = [file for file in choice if any((place / file).exists() for place in places)]
    return present, [file for file in choice if file not in present]


class NoSplitError(ValueError):
    """The source has training data only."""


def check_split(source: str, split: str, *, validation: bool = False) -> None:
    """``validation`` says whether the source has that split."""
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
            f"{source}: path={path!r} has no {split} split: write {{split}} where the names differ, as in"
            f' path="somewhere/{{split}}"'
        )
    return Path(path.replace("{split}", split)).expanduser()
