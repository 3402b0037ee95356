"""``review``: serve the page on this machine until interrupted."""

from __future__ import annotations

import getpass
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from ..data import LabelledData
from .app import App
from .review_data import ReviewData, Source

HOST = "127.0.0.1"


def review(
    source: Source,
    data: LabelledData | str | None = None,
    *,
    decisions: str | Path | None = None,
    everything: bool = False,
    folds: int | None = None,
    port: int = 0,
    open_page: bool = False,
    reviewer: str | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the page on which suspects are reviewed, until interrupted.

    Args:
        source: a run, its folder, or the frame of ``labels.find``, which requires ``decisions``.
        data: the inputs; by default loaded from the source of the run.
        decisions: the file of decisions, by default decisions.jsonl in the run folder.
        everything: show all samples, not only the suspects.
        folds: cross-fit the data of the run with this number of folds instead of reading its record.
        port: of the server; 0 picks a free port.
        open_page: open the page in a browser.
        reviewer: name that is stored with decisions, by default the user name.
        ready: called with the address of the page when the server is ready.
    """
    review_data = ReviewData(source, data, decisions=decisions, everything=everything, folds=folds)
    token = secrets.token_urlsafe(24)
    app = App(review_data, token=token, reviewer=reviewer or _user())
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as problem:
            raise ValueError(f"cannot use port {port}: {problem.strerror}; leave --port out") from None
        listener.listen(128)
        address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"
        ready(address)
        if open_page:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            app.asgi, log_level="error", access_log=False, lifespan="off", server_header=False, ws="none"
        )
        with app.presence.servers.announced():
            uvicorn.Server(config).run(sockets=[listener])


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"
