"""Labelled data of image files, with or without the broken ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..image_files import ImageFiles
from ..labelled import LabelledData

POLICIES = ("raise", "skip")


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
    """Images read when asked for. ``on_error="skip"`` reads all once now and leaves the broken ones out;

    they are listed in ``skipped`` of the result, and the others keep the numbers they would have had.
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
