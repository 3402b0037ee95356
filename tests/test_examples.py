"""Run the examples that need this library only; tests/integrations runs the others."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
TASKS = ["token_classification.py", "segmentation.py", "multi_label.py"]


def run(name, monkeypatch, capsys, *options):
    monkeypatch.setattr(sys, "argv", [name, *options])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["own_loop.py", *(pytest.param(name, marks=pytest.mark.slow) for name in ["scikit_learn.py", *TASKS])],
)
def test_suspects_are_mostly_wrong(name, monkeypatch, capsys):
    said = [line for line in run(name, monkeypatch, capsys).splitlines() if "suspects, " in line]
    assert said
    for line in said:
        assert float(line.split("suspects, ")[1].split("%")[0]) > 65, line
