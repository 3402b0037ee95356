"""From downloaded files to the contents of a dataset: as they are, unpacked, or converted."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..archive.unpack import unpack

LABELS = {
    "CIFAR-10_human.pt": {
        "clean_label": "cifar10_clean",
        "aggre_label": "cifar10_aggre",
        "worse_label": "cifar10_worse",
        "random_label1": "cifar10_random1",
        "random_label2": "cifar10_random2",
        "random_label3": "cifar10_random3",
    },
    "CIFAR-100_human.pt": {
        "clean_label": "cifar100_clean",
        "noisy_label": "cifar100_noisy",
    },
}
"""File of the CIFAR-N authors to its keys to our names."""
LARGEST_PICKLE = 64 * 10**6


def install_files(downloaded: Sequence[Path], folder: Path) -> None:
    """Moves every file into the folder."""
    folder.mkdir()
    for path in downloaded:
        shutil.move(path, folder / path.name)


def install_archive(downloaded: Sequence[Path], folder: Path) -> None:
    """Unpacks the one archive into the folder."""
    (archive,) = downloaded
    unpack(archive, folder)
    archive.unlink()


def install_human_labels(downloaded: Sequence[Path], folder: Path) -> None:
    """``cifar_n.npz`` from the two files of the authors, which are pickles and are never unpickled."""
    import numpy as np

    arrays: dict[str, Any] = {}
    for path in downloaded:
        found = read_torch_file(path)
        for key, name in LABELS[path.name].items():
            labels = np.asarray(found.get(key))
            if labels.dtype.kind not in "iu" or labels.ndim != 1:
                raise ValueError(
                    f"{path.name} has no integer labels {key!r} (it has: {', '.join(sorted(found))})"
                )
            arrays[name] = labels.astype(np.uint8)
    folder.mkdir()
    np.savez_compressed(folder / "cifar_n.npz", **arrays)


def read_torch_file(path: Path) -> dict[str, object]:
    """The dict of plain numbers and arrays that ``torch.save`` wrote; anything else is refused."""
    from ..safe_pickle import parse_plain_pickle

    try:
        with zipfile.ZipFile(path) as archive:
            (member,) = [info for info in archive.infolist() if info.filename.endswith("/data.pkl")]
            if member.file_size > LARGEST_PICKLE:
                raise ValueError(f"its pickle has {member.file_size:,} bytes")
            return dict(parse_plain_pickle(archive.read(member)))
    except (zipfile.BadZipFile, ValueError, EOFError) as problem:
        raise ValueError(f"{path.name} is not a file of labels written by torch.save: {problem}") from None


FORMS: dict[str, Callable[[Sequence[Path], Path], None]] = {
    "files": install_files,
    "archive": install_archive,
    "human_labels": install_human_labels,
}
