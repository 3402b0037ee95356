"""Stop a run by a signal, and compare the folders of two runs."""

import os
import signal

from noiseproof.dynamics.record import read_tensors
from noiseproof.train import Run, Watcher


class StopAt(Watcher):
    """Send a signal, by default SIGINT, after the given steps."""

    def __init__(self, *steps, number=signal.SIGINT):
        self.steps, self.number = steps, number

    def step(self, done):
        if done in self.steps:
            os.kill(os.getpid(), self.number)


def contents(folder):
    """All results of a run except wall-clock times."""
    run = Run(folder)
    metrics = [{name: value for name, value in line.items() if name != "seconds"} for line in run.metrics]
    result = {name: value for name, value in run.result.items() if name != "seconds"}
    record = run.record
    tensors = {
        **read_tensors(folder / "model.safetensors")[0],
        **{f"outputs {name}": value for name, value in run.outputs.items()},
        "margin": record.margin,
        "prediction": record.prediction,
        **{f"extra {name}": value for name, value in record.extra.items()},
    }
    if (folder / "best.safetensors").exists():
        tensors |= {f"best {k}": v for k, v in read_tensors(folder / "best.safetensors")[0].items()}
    return metrics, result, {name: value.numpy().tobytes() for name, value in tensors.items()}
