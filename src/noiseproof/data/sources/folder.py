"""Folders of images with one subfolder per class."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..images import SUFFIXES, ImageFiles
from ..labelled import LabelledData
from ..locations import split_path

OTHER_IMAGES = frozenset({".gif", ".tif", ".tiff", ".heic", ".avif", ".jp2", ".ppm", ".pgm", ".tga", ".ico"})
SPLIT_NAMES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation"})
POLICIES = ("raise", "skip")


def folder(
    *,
    path: str,
    root: Path | None = None,
    split: str = "train",
    size: int | None = None,
    mode: str = "RGB",
    on_error: str = "raise",
    labelled: bool = True,
) -> LabelledData:
    """JPEG, PNG, WebP and BMP files, read on demand, as uint8 (channels, height, width).

    Classes are the subfolders of the training folder that contain images, in alphabetical order; samples are
    their files, also in subfolders, sorted by path. Transparent pixels become white. With a test set:
    ``folder(path="photos/{split}")``. ``labelled=False`` reads all images in the folder, for prediction.
    """
    here = split_path("folder", path, split)
    if not labelled:
        files = image_paths(here)
        if not files:
            raise ValueError(f"{here}: no JPEG, PNG, WebP or BMP file in it")
        rest = {"name": "folder", "mode": mode, "size": size, "on_error": on_error}
        return image_data(files, [0] * len(files), ["unlabelled"], **rest)  # type: ignore[arg-type]
    names = classes_in(split_path("folder", path, "train"))
    unknown = [name for name in class_folders(here) if name not in names and has_images(here / name)]
    if unknown:
        raise ValueError(f"{here / unknown[0]} is not a class of the training folder ({', '.join(names)})")
    found = [(file, label) for label, name in enumerate(names) for file in image_paths(here / name)]
    if not found:
        raise ValueError(f"{here}: no JPEG, PNG, WebP or BMP file in its subfolders")
    paths, labels = zip(*found, strict=True)
    return image_data(paths, labels, names, name="folder", mode=mode, size=size, on_error=on_error)


def class_folders(path: Path) -> list[str]:
    """Names of the subfolders in alphabetical order."""
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is not a folder: expected one with a subfolder of images per class")
    names = sorted(
        entry.name for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")
    )
    if not names:
        raise ValueError(f"{path} has no subfolders: expected one per class")
    if {name.lower() for name in names} <= SPLIT_NAMES:
        raise ValueError(
            f'{path} contains splits, not classes: use folder(path="{path.as_posix()}/{{split}}")'
        )
    return names


def classes_in(path: Path) -> list[str]:
    """Subfolders that contain images; warns of the others."""
    names = class_folders(path)
    found = [name for name in names if has_images(path / name)]
    if not found:
        raise ValueError(f"{path}: no JPEG, PNG, WebP or BMP file in its subfolders")
    if len(found) < len(names):
        empty = [name for name in names if name not in found]
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        warnings.warn(
            f"{path}: the subfolder {empty[0]!r}{more} has no JPEG, PNG, WebP or BMP file and is not a class",
            stacklevel=4,
        )
    return found


def has_images(path: Path) -> bool:
    """Whether a folder or its subfolders contain an image."""
    return any(_is_image(Path(parent, name)) for parent, _, files in _walk(path) for name in files)


def _walk(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """``os.walk`` without hidden folders; links to folders are not followed."""
    for parent, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield parent, folders, files


def _is_image(file: Path) -> bool:
    return not file.name.startswith(".") and file.suffix.lower() in SUFFIXES and file.is_file()


def image_paths(path: Path) -> list[str]:
    """Sorted image files of a folder and its subfolders, without links to folders and hidden files."""
    found, others = [], []
    for parent, _, files in _walk(path):
        for file in (Path(parent, name) for name in files):
            if _is_image(file):
                found.append(file.as_posix())
            elif file.suffix.lower() in OTHER_IMAGES and not file.name.startswith("."):
                others.append(file.as_posix())
    if others:
        warnings.warn(
            f"{path}: {len(others)} images are neither JPEG, PNG, WebP nor BMP and are left out, the first"
            f" being {min(others)}: convert them",
            stacklevel=4,
        )
    return sorted(found)


def image_data(
    paths: Sequence[str],
    labels: Sequence[int],
    class_names: Sequence[str],
    *,
    name: str,
    mode: str,
    size: int | tuple[int, int] | None,
    on_error: str,
    clean_labels: Sequence[int] | None = None,
) -> LabelledData:
    """Data of images that are read on demand.

    ``on_error="skip"`` reads all images once and leaves out broken files, which are listed in ``skipped``;
    the other samples keep their numbers.
    """
    if on_error not in POLICIES:
        raise ValueError(f"{name}: on_error={on_error!r} is unknown, choose 'raise' or 'skip'")
    files = ImageFiles(paths, mode=mode, size=size)
    broken = files.broken() if on_error == "skip" else []
    if broken:
        more = f" and {len(broken) - 1} more, see .skipped" if len(broken) > 1 else ""
        warnings.warn(f"{name}: left out {broken[0]}{more}", stacklevel=4)
    bad = {file.index for file in broken}
    kept = [number for number in range(len(paths)) if number not in bad]
    if not kept:
        raise ValueError(f"{name}: none of the {len(paths)} images can be read, the first being {broken[0]}")
    return LabelledData(
        ImageFiles([paths[number] for number in kept], mode=mode, size=size, index=kept),
        [labels[number] for number in kept],
        clean_label=None if clean_labels is None else [clean_labels[number] for number in kept],
        class_names=class_names,
        index=kept,
        name=name,
        skipped=broken,
    )
