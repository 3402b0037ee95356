"""Methods with soft targets record the probability of the given label in the target."""

import pytest
import torch

from noiseproof.labels import find
from noiseproof.train import Config, fit


@pytest.mark.parametrize("method", ["elr", "selc(start=2)", "nal(start=2, period=1)"])
def test_target_probability_is_recorded_and_lower_for_wrong_labels(method, tmp_path):
    config = Config(
        noise="symmetric(0.4)", model="mlp(norm=True)", method=method, epochs=8, lr=0.05, device="cpu"
    )
    run = fit(config.replace(out=str(tmp_path / "run")))
    record = run.record
    share = record.extra["target_probability"]
    assert share.shape == record.margin.shape
    assert ((share >= 0) & (share <= 1)).all()
    wrong = record.label != record.clean_label
    assert share[-1][wrong].float().mean() < share[-1][~wrong].float().mean()
    disagreement = torch.as_tensor(find(run)["memory_disagreement"].to_numpy(copy=True))
    assert disagreement[wrong].mean() > disagreement[~wrong].mean()
