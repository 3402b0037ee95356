"""Run as a script: short runs that are killed and resumed; prints JSON.

python training_until_killed.py FOLDER KILLS [METHOD]. Torch is imported once and every run is a fork of this
process, so that a kill costs milliseconds.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch

from noiseproof.train import Config, fit

METHOD = sys.argv[3] if len(sys.argv) > 3 else None


def config(folder):
    return Config(
        noise="symmetric(0.4)",
        model="mlp(hidden=32, norm=True)",
        loss="ce" if METHOD else "gce(q=0.7)",
        method=METHOD,
        dropout=0.2,
        validation=0.1,
        epochs=4,
        lr=0.05,
        augment="crop(padding=1)",
        checkpoint_seconds=0.1,
        device="cpu",
        out=str(folder),
    )


def start(folder):
    child = os.fork()
    if child == 0:
        try:
            fit(config(folder))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def run(folder):
    """Train a run to its end; return its duration."""
    begin = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(start(folder), 0)[1]) == 0, folder
    return time.monotonic() - begin


def kill_after(folder, seconds):
    """Kill a run after this time; False if it had ended before."""
    child = start(folder)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def kill_and_resume(folder, length, moments):
    """Kill a run once or more and then resume it; False if it ended before the first kill."""
    if not kill_after(folder, moments.uniform(0.0, length)):
        return False
    while moments.random() < 0.3 and not (folder / "result.json").exists():
        kill_after(folder, moments.uniform(0.0, length))
    if not (folder / "result.json").exists():
        run(folder)
    return True


if __name__ == "__main__":
    torch.set_num_threads(1)
    fit(config(Path(sys.argv[1], "first")))  # imports what is imported late, once for all forks
    home, kills = Path(sys.argv[1]), int(sys.argv[2])
    length = run(home / "unbroken")
    moments = random.Random(0)  # noqa: S311
    names = (f"killed {number}" for number in range(20 * kills))
    broken = []
    while len(broken) < kills:  # the scheduler decides how many kills are early enough
        name = next(names)
        if kill_and_resume(home / name, length, moments):
            broken.append(name)
    json.dump({"broken": broken, "seconds": length}, sys.stdout)
