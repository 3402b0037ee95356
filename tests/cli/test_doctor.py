import importlib.metadata
import json
import platform

import pytest
import torch
from typer.testing import CliRunner

from noiseproof import __version__
from noiseproof.cli import doctor as doctor_module
from noiseproof.cli.doctor import EXTRAS, examine
from noiseproof.cli.main import app


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["doctor", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.exception
    return result.output


def test_json_output_matches_the_findings():
    found = json.loads(run("--json"))
    assert found == examine()
    assert list(found) == ["versions", "devices", "kernels", "extras"]


def test_versions_match_the_installed_packages():
    assert examine()["versions"] == {
        "noiseproof": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def test_cpu_is_always_a_device():
    devices = examine()["devices"]
    assert devices["cpu"] == f"{torch.get_num_threads()} threads"
    assert len(devices) == 1 + torch.cuda.device_count()


def test_cuda_devices_are_listed(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: f"card {number}")
    devices = examine()["devices"]
    assert (devices["cuda:0"], devices["cuda:1"]) == ("card 0", "card 1")


def test_reference_kernels_are_ready():
    kernels = examine()["kernels"]
    assert set(kernels) == {"reference", "triton", "cpu-operator", "losses", "training"}
    assert kernels["reference"].startswith("ready")
    assert kernels["losses"].startswith("gce(q=0.7): ")


def test_every_extra_of_the_package_is_examined():
    declared = set(importlib.metadata.metadata("noiseproof").get_all("Provides-Extra") or [])
    assert declared - {"dev", "docs", "integrations"} == set(EXTRAS)
    assert set(examine()["extras"]) == set(EXTRAS)


def test_extras_say_version_or_missing(monkeypatch):
    monkeypatch.setattr(
        doctor_module, "EXTRAS", {"some": ["torch", "no-such-package"], "none": ["no-such-package"]}
    )
    extras = examine()["extras"]
    installed = importlib.metadata.version("torch")
    assert extras == {
        "some": f"torch {installed}, no-such-package missing",
        "none": "no-such-package missing",
    }


@pytest.mark.parametrize("topic", ["versions", "devices", "kernels", "extras"])
def test_table_matches_the_findings(topic):
    output = run()
    for name, state in examine()[topic].items():
        [line] = [line for line in output.splitlines() if f"│ {name} " in line]
        assert state in line
    assert topic in output


@pytest.mark.parametrize(("there", "words"), [(True, "captured as CUDA graphs"), (False, "no CUDA device")])
def test_training_mode_is_reported(monkeypatch, there, words):
    monkeypatch.setattr("torch.cuda.is_available", lambda: there)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda: (9, 0))
    assert words in examine()["kernels"]["training"]
