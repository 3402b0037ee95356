"""Get datasets from their official hosts, only when asked, and verify what is on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .archive import require_space, staging
from .download_catalogue import DATASETS, Dataset, Download
from .download_https import HttpsDownloader
from .download_install import FORMS
from .download_verify import Report, dataset_named, report_on, verify

__all__ = ["DATASETS", "Dataset", "Download", "Report", "fetch", "verify"]


def fetch(name: str, root: str | Path, *, progress: bool = True) -> Report:
    """Download what is missing or wrong of a dataset into ``root/name``; complete data costs no connection.

    Every download goes over https, is no longer than announced, has the expected SHA-256, and is renamed
    into place at the end: a failure leaves no file behind.

    Raises:
        ValueError: an unknown name, or a body that is not the expected one.
        OSError: no connection, an answer other than 200, or a full disk.
    """
    dataset, root = dataset_named(name), Path(root)
    found = report_on(name, dataset, root / name)
    if found.is_complete:
        return found
    bad = {*found.missing, *found.wrong}
    wanted = [load for load in dataset.downloads if dataset.form != "files" or load.file in bad]
    root.mkdir(parents=True, exist_ok=True)
    with staging(root / name) as place:
        require_space(place, sum(load.size or 0 for load in wanted))
        with _progress_bar(name, wanted, progress) as advance:
            downloaded = [_download(load, place, advance) for load in wanted]
        FORMS[dataset.form](downloaded, place / "new")
        _check_new(name, dataset, place / "new", bad)
        _move_files(place / "new", root / name)
    return report_on(name, dataset, root / name)


def _download(load: Download, place: Path, advance: Callable[[int], None]) -> Path:
    import pooch  # type: ignore[import-untyped]

    known = None if load.sha256 is None else f"sha256:{load.sha256}"
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        getter = HttpsDownloader(load.size, advance)
        return Path(pooch.retrieve(load.url, known, fname=load.file, path=place, downloader=getter))
    except ValueError as problem:
        raise ValueError(f"{load.file} was not kept: {problem}") from None
    finally:
        logger.setLevel(level)


def _check_new(name: str, dataset: Dataset, new: Path, wanted: set[str]) -> None:
    found = report_on(name, dataset, new)
    unfit = sorted(wanted & {*found.missing, *found.wrong})
    if unfit:
        raise ValueError(f"{name} was not kept: {', '.join(unfit)} in the download is not the official one")


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
