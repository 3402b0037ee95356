"""``noiseproof doctor``: report versions, devices, kernels and extras."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
from typing import Annotated

import typer

EXTRAS = {
    "cleanlab": ["cleanlab"],
    "hf": ["transformers", "datasets", "accelerate"],
    "lightning": ["lightning"],
    "mlflow": ["mlflow-skinny"],
    "parquet": ["pyarrow"],
    "ray": ["ray"],
    "review": ["starlette", "uvicorn"],
    "skorch": ["skorch"],
    "text": ["sentence_transformers"],
    "track": ["tensorboard"],
    "vision": ["torchvision", "timm"],
    "wandb": ["wandb"],
}
"""Packages that each extra installs; the extra ``integrations`` combines several of these."""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Report the versions, devices, kernels and extras that are usable on this machine."""
    findings = examine()
    if as_json:
        typer.echo(json.dumps(findings, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="noiseproof doctor", title_justify="left", show_header=False)
    for topic, found in findings.items():
        table.add_section()
        for number, (name, state) in enumerate(found.items()):
            table.add_row(topic if number == 0 else "", name, state)
    Console().print(table)


def examine() -> dict[str, dict[str, str]]:
    """Findings by topic and name, as text."""
    import torch

    from .. import __version__

    devices = {"cpu": f"{torch.get_num_threads()} threads"}
    for number in range(torch.cuda.device_count()):
        devices[f"cuda:{number}"] = torch.cuda.get_device_name(number)
    return {
        "versions": {
            "noiseproof": __version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
        },
        "devices": devices,
        "kernels": _kernels(),
        "extras": {extra: _state(packages) for extra, packages in EXTRAS.items()},
    }


def _kernels() -> dict[str, str]:
    import torch

    from ..kernels import apply
    from ..losses import get

    has_gpu = torch.cuda.is_available()
    logits = torch.empty(128, 10, device="cuda" if has_gpu and torch.cuda.device_count() else "cpu")
    return {
        "reference": "ready (pure torch, every device)",
        "triton": apply.triton_state(),
        "cpu-operator": apply.operator_state(),
        "losses": apply.explain(get("gce"), logits),
        "training": "steps captured as CUDA graphs" if has_gpu else "steps one by one: no CUDA device",
    }


def _state(packages: list[str]) -> str:
    words = []
    for package in packages:
        try:
            words.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            words.append(f"{package} missing")
    return ", ".join(words)
