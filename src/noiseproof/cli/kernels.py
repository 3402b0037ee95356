"""``noiseproof kernels``: compile what makes losses faster on this machine."""

from __future__ import annotations

import time

import typer

app = typer.Typer(name="kernels", help="Compile what makes losses faster here.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Compile what makes losses faster here."""


@app.command()
def build() -> None:
    """Compile the CPU operator, and the launcher of GPU kernels where there is a GPU, into your cache folder.

    Needs a C++ compiler and about half a minute for each.
    """
    import torch

    from ..kernels import build as parts
    from ..kernels.cpu import operator as cpu_operator
    from ..kernels.launcher import library as launcher

    states = {parts.CPU: cpu_operator.state}
    if torch.cuda.is_available():
        states[parts.LAUNCHER] = launcher.state
    for part, state in states.items():
        started = time.perf_counter()
        place = parts.build(part)
        typer.echo(f"{place} ({time.perf_counter() - started:.0f} s)")
        typer.echo(f"{part.title}: {state()}")
