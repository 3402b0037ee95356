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
    """Compile the CPU operator into your cache folder. Needs a C++ compiler and about half a minute."""
    from ..kernels import apply
    from ..kernels import build as compiler

    started = time.perf_counter()
    place = compiler.build()
    typer.echo(f"{place} ({time.perf_counter() - started:.0f} s)")
    typer.echo(f"cpu-operator: {apply.operator_state()}")
