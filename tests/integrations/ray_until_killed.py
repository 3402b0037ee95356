"""Run as a script: a table on a local cluster of two cores, whose workers are killed; prints JSON.

python ray_until_killed.py FOLDER SIGNAL. With KILL the worker of each run is killed once, in its second epoch
or later; with INT this process itself is asked to stop.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path

from noiseproof.papers.cells import Cell, Runs, Table
from noiseproof.papers.running import run
from noiseproof.train import Interrupted

SETTINGS = {"data": "digits", "noise": "symmetric(0.4)", "model": "mlp(hidden=32)", "epochs": 30}
SETTINGS |= {"batch_size": 16, "checkpoint_seconds": 0.2}


def table():
    cells = [
        Cell(loss, "test", "test_accuracy_%", 90.0, Runs({**SETTINGS, "loss": loss}, (0,)))
        for loss in ("ce", "gce(q=0.7)")
    ]
    return Table("mine.table1", "Mine", tuple(cells))


def disturb(folder, kind, killed):
    """Send a signal to the process that writes each run, after two epochs."""
    left = set()
    while len(killed) < 2:
        for metrics in Path(folder).glob("runs/*/metrics.jsonl"):
            if metrics not in left and metrics.read_text().count("\n") >= 2:
                writer = json.loads((metrics.parent / "lock").read_text())["pid"]
                left.add(metrics)
                killed.append(writer)
                os.kill(os.getpid() if kind == "INT" else writer, getattr(signal, f"SIG{kind}"))
                if kind == "INT":
                    return
        time.sleep(0.05)


def run_disturbed(folder, kind):
    killed = []
    threading.Thread(target=disturb, args=(folder, kind, killed), daemon=True).start()
    told = {"killed": killed, "me": os.getpid()}
    try:
        found = run(table(), out=folder, engine="ray", device="cpu")
        return told | {"finished": [entry.finished for entry in found.entries], "problems": found.problems}
    except Interrupted as stop:
        return told | {"stopped": str(stop)}


if __name__ == "__main__":
    import ray

    with redirect_stdout(sys.stderr):
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        told = run_disturbed(*sys.argv[1:])
        ray.shutdown()
    json.dump(told, sys.stdout)
