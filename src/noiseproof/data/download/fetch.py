"""Download datasets from their official hosts on request, and verify them."""

from __future__ import annotations

import logging
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...atomic import require_space, staging
from .catalogue import DATASETS, UNKNOWN_SIZE_CAP, Dataset, Download, Report, dataset_named, report_on, verify

if TYPE_CHECKING:
    from requests import Session

__all__ = ["DATASETS", "Dataset", "Download", "Report", "fetch", "verify"]
PREFIXES = ("https://",)
"""Allowed beginnings of addresses."""
CHUNK = 1 << 17
TIMEOUT = 30
UNCOMPRESSED = {"Accept-Encoding": "identity"}
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
"""Names of arrays by key, for each file of the CIFAR-N authors."""
MAX_PICKLE_BYTES = 64 * 10**6


def install_files(downloaded: Sequence[Path], folder: Path) -> None:
    """Move every file into the folder."""
    folder.mkdir()
    for path in downloaded:
        shutil.move(path, folder / path.name)


def install_archive(downloaded: Sequence[Path], folder: Path) -> None:
    """Unpack the archive into the folder: regular files and folders that stay inside."""
    (archive,) = downloaded
    folder.mkdir()
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError, zlib.error) as problem:
        raise ValueError(f"{archive.name} cannot be unpacked: {problem}") from None
    archive.unlink()


def install_human_labels(downloaded: Sequence[Path], folder: Path) -> None:
    """Convert the two files of the authors to ``cifar_n.npz``, without unpickling them."""
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
    """The dict of numbers and arrays in a file of ``torch.save``; anything else raises an error."""
    from ..safe_pickle import parse_plain_pickle

    try:
        with zipfile.ZipFile(path) as archive:
            (member,) = [info for info in archive.infolist() if info.filename.endswith("/data.pkl")]
            if member.file_size > MAX_PICKLE_BYTES:
                raise ValueError(f"its pickle has {member.file_size:,} bytes")
            return dict(parse_plain_pickle(archive.read(member)))
    except (zipfile.BadZipFile, ValueError, EOFError) as problem:
        raise ValueError(f"{path.name} is not a file of labels written by torch.save: {problem}") from None


INSTALLERS: dict[str, Callable[[Sequence[Path], Path], None]] = {
    "files": install_files,
    "archive": install_archive,
    "human_labels": install_human_labels,
}


def fetch(name: str, root: str | Path, *, progress: bool = True) -> Report:
    """Download missing or wrong files of a dataset into ``root/name``; no connection for complete data.

    Downloads use https and must have the expected size and SHA-256; files are renamed into place at the end,
    so that a failure leaves no files behind.

    Raises:
        ValueError: an unknown name, or a download that is not the expected file.
        OSError: no connection, an HTTP status other than 200, or a full disk.
    """
    dataset, root = dataset_named(name), Path(root)
    found = report_on(name, dataset, root / name)
    if found.is_complete:
        return found
    bad = {*found.missing, *found.wrong}
    wanted = [load for load in dataset.downloads if dataset.form != "files" or load.file in bad]
    root.mkdir(parents=True, exist_ok=True)
    with staging(root / name) as folder:
        require_space(folder, sum(load.size or 0 for load in wanted))
        with _progress_bar(name, wanted, progress) as advance:
            downloaded = [_download(load, folder, advance) for load in wanted]
        INSTALLERS[dataset.form](downloaded, folder / "new")
        _check_new(name, dataset, folder / "new", bad)
        _move_files(folder / "new", root / name)
    return report_on(name, dataset, root / name)


def _download(load: Download, folder: Path, advance: Callable[[int], None]) -> Path:
    import pooch  # type: ignore[import-untyped]

    known = None if load.sha256 is None else f"sha256:{load.sha256}"
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        downloader = HttpsDownloader(load.size, advance)
        return Path(pooch.retrieve(load.url, known, fname=load.file, path=folder, downloader=downloader))
    except ValueError as problem:
        raise ValueError(f"{load.file} was rejected: {problem}") from None
    finally:
        logger.setLevel(level)


def _check_new(name: str, dataset: Dataset, new: Path, wanted: set[str]) -> None:
    found = report_on(name, dataset, new)
    invalid = sorted(wanted & {*found.missing, *found.wrong})
    if invalid:
        raise ValueError(f"{name} was rejected: {', '.join(invalid)} in the download is not the official one")


def _move_files(new: Path, folder: Path) -> None:
    for path in sorted(new.rglob("*")):
        if path.is_file():
            target = folder / path.relative_to(new)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)


@contextmanager
def _progress_bar(name: str, loads: Sequence[Download], wanted: bool) -> Iterator[Callable[[int], None]]:
    if not wanted:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    total = None if any(load.size is None for load in loads) else sum(load.size or 0 for load in loads)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda count: bar.advance(task, count)


class HttpsDownloader:
    """A downloader for ``pooch``; ``size`` is the exact size of the body, or None if unknown."""

    def __init__(self, size: int | None, on_bytes: Callable[[int], None] | None = None) -> None:
        self.size = size
        self.on_bytes = on_bytes or (lambda count: None)

    def __call__(self, url: str, output_file: str | os.PathLike[str], pooch: Any = None) -> None:
        import requests
        from urllib3.exceptions import HTTPError

        try:
            with (
                session() as opened,
                opened.get(url, stream=True, timeout=TIMEOUT, headers=UNCOMPRESSED) as answer,
                open(output_file, "wb") as file,
            ):
                answer.raise_for_status()
                self.check(url, int(answer.headers.get("Content-Length") or 0), at_least=0)
                received = 0
                for chunk in answer.raw.stream(CHUNK, decode_content=False):
                    received += len(chunk)
                    self.check(url, received, at_least=0)
                    file.write(chunk)
                    self.on_bytes(len(chunk))
                self.check(url, received, at_least=self.size or 0)
        except requests.exceptions.InvalidSchema:
            raise ValueError(f"refused to download {url}: it is not https, or redirects elsewhere") from None
        except (requests.RequestException, HTTPError) as problem:
            raise OSError(f"cannot download {url}: {problem}") from problem

    def check(self, url: str, received: int, *, at_least: int) -> None:
        """ValueError unless the number of bytes is possible."""
        limit = UNKNOWN_SIZE_CAP if self.size is None else self.size
        if received > limit:
            raise ValueError(f"{url} has {received:,} bytes or more, expected {limit:,}: refused")
        if received < at_least:
            raise ValueError(f"{url} ended after {received:,} of {at_least:,} bytes: try again")


def session() -> Session:
    """A requests session that allows only addresses with ``PREFIXES``."""
    import requests
    from requests.adapters import HTTPAdapter

    opened = requests.Session()
    opened.adapters.clear()
    for prefix in PREFIXES:
        opened.mount(prefix, HTTPAdapter(max_retries=3))
    return opened
