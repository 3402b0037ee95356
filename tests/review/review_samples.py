"""Small runs and frames for reviews, and a review server in a thread."""

import threading
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pandas
import uvicorn
from small_runs import write_run

from noiseproof.review.app import App
from noiseproof.review.review_data import ReviewData
from noiseproof.testing import example_record

TOKEN = "secret-token-of-the-test"  # noqa: S105


def made_frame(samples, classes=4, *, names=None, seed=0, calibrated=True):
    """A frame as returned by ``labels.find`` in which every sample is a suspect."""
    rng = np.random.default_rng(seed)
    given = rng.integers(0, classes, samples)
    chance = np.sort(rng.random(samples))[::-1]
    columns = {
        "index": np.arange(samples) * 3,
        "is_label_issue": np.ones(samples, bool),
        "label_score": 1 - chance,
        "given_label": given,
        "predicted_label": (given + rng.integers(1, classes, samples)) % classes,
    }
    frame = pandas.DataFrame(columns | ({"wrong_probability": chance} if calibrated else {}))
    frame.attrs = {
        "class_names": names or [f"class {number}" for number in range(classes)],
        "noise_rate": 0.5,
        "weak": False,
    }
    return frame


def small_run(folder, samples=400, **options):
    """A run on digits with suspects and without a network."""
    return write_run(folder, example_record(samples, known=False), outputs={}, **options)


@contextmanager
def served(review_data, reviewer="anna"):
    """The address of a page, served by a thread of this process."""
    app = App(review_data, token=TOKEN, reviewer=reviewer)
    server = uvicorn.Server(uvicorn.Config(app.asgi, port=0, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 120
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with app.presence.servers.announced():
            yield f"http://127.0.0.1:{port}/?token={TOKEN}", app
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def client_of(review_data, reviewer="anna", *, token=TOKEN):
    """The review and a client that talks to it."""
    with served(review_data, reviewer) as (address, app):
        headers = {} if token is None else {"x-noiseproof-token": token}
        with httpx.Client(base_url=address.partition("/?")[0], headers=headers) as client:
            yield app, client


def review_data_of(frame, tmp_path, **options):
    return ReviewData(frame, decisions=tmp_path / "decisions.jsonl", **options)
