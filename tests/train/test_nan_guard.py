"""A run with infinite values stops with the place of the error, and its folder stays readable."""

import pytest
import torch
from torch import nn

from noiseproof.train import Config, NonFiniteError, RunExistsError, fit
from noiseproof.train.checkpoint import newest


class Poisoned(nn.Module):
    """Returns NaN for inputs near 9."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(x) + torch.where(x[:, :1] > 8, torch.nan, 0.0)


def test_the_sample_the_epoch_and_the_step_are_named(config, blobs):
    data = blobs()
    data.inputs[37] = 9.0
    with pytest.raises(
        NonFiniteError, match=r"logits became infinite or NaN in epoch 1, step \d, with samples 37:"
    ):
        fit(config(), data=data, model=Poisoned())


def test_a_loss_that_explodes_leaves_the_last_checkpoint(config, blobs):
    with pytest.raises(NonFiniteError, match=r"lower lr \(1e\+30\), set clip"):
        fit(config(lr=1e30, checkpoint_seconds=0.0, epochs=20), data=blobs())
    saved = newest(config().out + "/checkpoints")
    finite = {name: bool(v.isfinite().all()) for name, v in saved.tensors.items() if "recorder" not in name}
    assert finite
    assert saved.step >= 1


def test_it_can_be_resumed_and_fails_again_at_the_same_place(config, blobs):
    messages = []
    for _ in range(2):
        with pytest.raises(NonFiniteError) as problem:
            fit(config(lr=1e30, epochs=20), data=blobs())
        messages.append(str(problem.value))
    assert messages[0] == messages[1]


def test_the_advice_can_be_followed_to_the_letter(config, blobs, tmp_path):
    """Also before the first checkpoint: the folder still belongs to the failed run."""
    with pytest.raises(NonFiniteError, match=r"other settings need another --out than .*run$") as problem:
        fit(config(lr=1e30), data=blobs())
    assert "checkpoint" not in str(problem.value)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(RunExistsError, match=r"lr: 1e\+30 -> 0\.1\): choose another --out"):
        fit(config(), data=blobs())
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    assert fit(config(out=str(tmp_path / "another")), data=blobs()).finished


def test_a_checkpoint_is_spoken_of_where_there_is_one(config, blobs):
    with pytest.raises(NonFiniteError, match=r"another --out than .*; the last checkpoint is intact"):
        fit(config(lr=1e30, checkpoint_seconds=0.0, epochs=20), data=blobs())


def test_no_other_out_is_asked_for_where_settings_name_the_folder(blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"model": "mlp(hidden=8)", "batch_size": 16, "epochs": 3, "device": "cpu"}
    with pytest.raises(NonFiniteError, match=r"look at these samples$"):
        fit(Config(**settings, lr=1e30), data=blobs())
    assert fit(Config(**settings), data=blobs()).finished
