"""Under torchrun every rank says that it is one of several, and nothing is written."""

import os
import subprocess
import sys

import pytest

from noiseproof.methods import OneProcessError
from noiseproof.train import compare, fit

RANKS = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}
WORDS = r"not supported yet, and this is rank 1 of 2: start the command once, without torchrun"


def test_each_rank_is_refused_by_name(config, blobs, monkeypatch):
    for name, value in RANKS.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(OneProcessError, match=WORDS):
        fit(config(), data=blobs())
    with pytest.raises(OneProcessError, match=WORDS):
        compare([config(data="digits")], jobs=1)
    assert not os.path.exists(config().out)


def test_a_single_rank_may_train(config, blobs, monkeypatch):
    for name, value in (RANKS | {"RANK": "0", "WORLD_SIZE": "1"}).items():
        monkeypatch.setenv(name, value)
    assert fit(config(epochs=1), data=blobs()).finished


@pytest.mark.slow
def test_torchrun_itself(tmp_path):
    """Both ranks end with one line and exit code 2; torchrun adds its own summary."""
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
    ]
    command = [
        *torchrun,
        "-m",
        "noiseproof.cli.main",
        "train",
        "--epochs",
        "1",
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)  # noqa: S603
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("noiseproof: ")]
    assert lines
    assert all("rank" in line and "without torchrun" in line for line in lines)
    assert not (tmp_path / "run").exists()
