"""A run with infinite or NaN values raises an error that names the step; its folder stays readable."""

import pytest
import torch
from torch import nn

from noiseproof.train import Config, NonFiniteError, RunExistsError, fit
from noiseproof.train.checkpoint import newest


class NaNForLargeInputs(nn.Module):
    """Returns NaN for inputs near 9."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x) + torch.where(x[:, :1] > 8, torch.nan, 0.0)


def test_error_names_sample_epoch_and_step(config, blobs):
    data = blobs()
    data.inputs[37] = 9.0
    with pytest.raises(
        NonFiniteError, match=r"logits became infinite or NaN in epoch 1, step \d, with samples 37:"
    ):
        fit(config(), data=data, model=NaNForLargeInputs())


def test_non_finite_loss_keeps_the_last_checkpoint(config, blobs):
    with pytest.raises(NonFiniteError, match=r"lower lr \(1e\+30\), set clip"):
        fit(config(lr=1e30, checkpoint_seconds=0.0, epochs=20), data=blobs())
    saved = newest(config().out + "/checkpoints")
    finite = {name: bool(v.isfinite().all()) for name, v in saved.tensors.items() if "recorder" not in name}
    assert finite
    assert saved.step >= 1


def test_resumed_run_fails_at_the_same_step(config, blobs):
    messages = []
    for _ in range(2):
        with pytest.raises(NonFiniteError) as problem:
            fit(config(lr=1e30, epochs=20), data=blobs())
        messages.append(str(problem.value))
    assert messages[0] == messages[1]


def test_failed_run_needs_another_out(config, blobs, tmp_path):
    """Also before the first checkpoint, other settings need another folder."""
    with pytest.raises(NonFiniteError, match=r"other settings need another --out than .*run$") as problem:
        fit(config(lr=1e30), data=blobs())
    assert "checkpoint" not in str(problem.value)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(RunExistsError, match=r"lr: 1e\+30 -> 0\.1\): choose another --out"):
        fit(config(), data=blobs())
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    assert fit(config(out=str(tmp_path / "another")), data=blobs()).finished


def test_error_mentions_an_existing_checkpoint(config, blobs):
    with pytest.raises(NonFiniteError, match=r"another --out than .*; the last checkpoint is intact"):
        fit(config(lr=1e30, checkpoint_seconds=0.0, epochs=20), data=blobs())


def test_error_requires_no_out_for_the_default_folder(blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"model": "mlp(hidden=8)", "batch_size": 16, "epochs": 3, "device": "cpu"}
    with pytest.raises(NonFiniteError, match=r"look at these samples$"):
        fit(Config(**settings, lr=1e30), data=blobs())
    assert fit(Config(**settings), data=blobs()).finished
