"""What TensorBoard reads is what metrics.jsonl says."""

import sys

import pytest
from stopping import StopAt

from noiseproof.integrations.tensorboard import TensorBoard, scalars
from noiseproof.train import Interrupted, Watcher, fit


class Both(StopAt):
    def __init__(self, *steps):
        super().__init__(*steps)
        self.lines = []

    def epoch(self, line):
        self.lines.append(line)


def curves(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    found.Reload()
    return {tag: {e.step: e.value for e in found.Scalars(tag)} for tag in found.Tags()["scalars"]}


def test_every_metric_of_every_epoch_also_after_an_interruption(config, blobs, tmp_path):
    pytest.importorskip("tensorboard")
    settled = config(out=str(tmp_path / "run"))
    told = Both(4)
    with pytest.raises(Interrupted):
        fit(settled, data=blobs(wrong=9), test=blobs(seed=1), watcher=TensorBoard(tmp_path / "tb", told))
    run = fit(settled, data=blobs(wrong=9), test=blobs(seed=1), watcher=TensorBoard(tmp_path / "tb", told))
    assert [line["epoch"] for line in told.lines] == [line["epoch"] for line in run.metrics]
    found = curves(tmp_path / "tb")
    for line in run.metrics:
        for name, value in scalars(line).items():
            assert found[name][line["epoch"]] == pytest.approx(value, rel=1e-6), name


def test_without_the_package_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match=r"pip install 'noiseproof\[track\]'"):
        TensorBoard(tmp_path, Watcher())
