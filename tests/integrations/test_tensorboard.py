"""TensorBoard files contain the values of metrics.jsonl."""

import sys

import pytest
from stopping import StopAt

from noiseproof.integrations.tensorboard import TensorBoard, scalars
from noiseproof.train import Interrupted, Watcher, fit


class StopAndCollect(StopAt):
    def __init__(self, *steps):
        super().__init__(*steps)
        self.lines = []

    def epoch(self, line):
        self.lines.append(line)


def read_scalars(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    return {tag: {e.step: e.value for e in found.Scalars(tag)} for tag in found.Tags()["scalars"]}


def test_metrics_of_an_interrupted_run_are_complete(config, blobs, tmp_path):
    pytest.importorskip("tensorboard")
    settled = config(out=str(tmp_path / "run"))
    told = StopAndCollect(4)
    with pytest.raises(Interrupted):
        fit(settled, data=blobs(wrong=9), test=blobs(seed=1), watcher=TensorBoard(tmp_path / "tb", told))
    run = fit(settled, data=blobs(wrong=9), test=blobs(seed=1), watcher=TensorBoard(tmp_path / "tb", told))
    assert [line["epoch"] for line in told.lines] == [line["epoch"] for line in run.metrics]
    found = read_scalars(tmp_path / "tb")
    for line in run.metrics:
        for name, value in scalars(line).items():
            assert found[name][line["epoch"]] == pytest.approx(value, rel=1e-6), name


def test_missing_tensorboard_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match=r"pip install 'noiseproof\[track\]'"):
        TensorBoard(tmp_path, Watcher())
