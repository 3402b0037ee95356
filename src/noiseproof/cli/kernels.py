"""``noiseproof kernels``: compile the CPU operator of the losses."""

from __future__ import annotations

import time

import typer

app = typer.Typer(name="kernels", help="Compile the CPU operator of the losses.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Compile the CPU operator of the losses."""


@app.command()
def build() -> None:
    """Compile the CPU operator into your cache folder. Needs a C++ compiler; takes about 30 seconds."""
    from ..kernels import apply
    from ..kernels import build as compiler

    started = time.perf_counter()
    path = compiler.build()
    typer.echo(f"{path} ({time.perf_counter() - started:.0f} s)")
    typer.echo(f"cpu-operator: {apply.operator_state()}")
