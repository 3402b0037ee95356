"""Runs killed by SIGKILL at random moments and resumed are bit-identical to an uninterrupted run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stopping import contents

SCRIPT = Path(__file__).with_name("training_until_killed.py")
KILLS_IN_CI, KILLS, KILLS_OF_METHODS = 2, 100, 10


def check_kills(folder, kills, *method):
    command = [sys.executable, str(SCRIPT), str(folder), str(kills), *method]
    found = subprocess.run(command, capture_output=True, text=True, timeout=3000)  # noqa: S603 -- our own script
    assert found.returncode == 0, found.stderr
    broken, expected = json.loads(found.stdout)["broken"], contents(folder / "unbroken")
    assert len(broken) == kills
    assert [name for name in broken if contents(folder / name) != expected] == []


def test_killed_runs_resume_bit_identically(tmp_path):
    check_kills(tmp_path, KILLS_IN_CI)


@pytest.mark.slow
def test_100_killed_runs_resume_bit_identically(tmp_path):
    check_kills(tmp_path, KILLS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["co_teaching(gradual=2)", "elr_plus(ramp=2)", "divide_mix(warmup=1, ramp=2)"]
)
def test_killed_runs_with_two_networks_resume_bit_identically(tmp_path, method):
    check_kills(tmp_path, KILLS_OF_METHODS, method)
