"""Downloads one file: https only, through every redirect; never more bytes than announced."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .download_catalogue import UNKNOWN_SIZE_CAP

if TYPE_CHECKING:
    from requests import Session

PREFIXES = ("https://",)
"""Addresses a connection is made to; anything else is refused before a byte is sent."""
CHUNK = 1 << 17
TIMEOUT = 30
AS_IT_IS = {"Accept-Encoding": "identity"}


class HttpsDownloader:
    """A downloader as ``pooch`` calls it, with the exact size of the body, or None where it is not known."""

    def __init__(self, size: int | None, on_bytes: Callable[[int], None] | None = None) -> None:
        self.size = size
        self.on_bytes = on_bytes or (lambda count: None)

    def __call__(self, url: str, output_file: str | os.PathLike[str], pooch: Any = None) -> None:
        import requests
        from urllib3.exceptions import HTTPError

        try:
            with (
                session() as opened,
                opened.get(url, stream=True, timeout=TIMEOUT, headers=AS_IT_IS) as answer,
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
            raise ValueError(f"refused to download {url}: it is not, or leads away from, https") from None
        except (requests.RequestException, HTTPError) as problem:
            raise OSError(f"cannot download {url}: {problem}") from problem

    def check(self, url: str, received: int, *, at_least: int) -> None:
        """ValueError unless the number of bytes is possible."""
        most = UNKNOWN_SIZE_CAP if self.size is None else self.size
        if received > most:
            raise ValueError(f"{url} has {received:,} bytes or more, expected {most:,}: refused")
        if received < at_least:
            raise ValueError(f"{url} ended after {received:,} of {at_least:,} bytes: try again")


def session() -> Session:
    """A requests session that knows no other kind of address than ``PREFIXES``."""
    import requests
    from requests.adapters import HTTPAdapter

    opened = requests.Session()
    opened.adapters.clear()
    for prefix in PREFIXES:
        opened.mount(prefix, HTTPAdapter(max_retries=3))
    return opened
