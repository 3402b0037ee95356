"""The runs of a comparison: one setting of losses and methods at a time, over the same seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..config import NEUTRAL, Config, run_folder

VARIED = frozenset({"loss", "method", "seed"})


def grid(
    config: Config,
    *,
    losses: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: int | Iterable[int] = 5,
    out: str | Path | None = None,
) -> list[Config]:
    """Every loss alone, then every method with the loss of ``config``, each with every seed.

    Without losses and methods it is ``config`` itself with every seed. Each run has its own folder below
    ``out``, named after its settings: the same settings find the same folder again, others never do.

    Example:
        >>> runs = grid(Config(epochs=3), losses=["ce", "mae"], seeds=2, out="runs/both")
        >>> [(run.loss, run.seed) for run in runs]
        [('ce', 0), ('ce', 1), ('mae', 0), ('mae', 1)]
        >>> runs[2].out
        'runs/both/digits-mae-seed0-...'
    """
    for name, given in {"losses": losses, "methods": methods}.items():
        if isinstance(given, str):
            raise TypeError(f"{name}={given!r} is one string: write {name}=[{given!r}]")
    if out is not None and not str(out).strip():
        raise ValueError(f"out={out!r} names no folder: give one such as runs/first, or leave it out")
    place = comparison_folder(config) if out is None else Path(out).expanduser()
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))
    if not numbers:
        raise ValueError(f"seeds={seeds!r}: a comparison needs at least one seed")
    kinds = [config.replace(loss=loss, method=None) for loss in dict.fromkeys(losses)]
    kinds += [config.replace(method=method) for method in dict.fromkeys(methods)]
    runs = [kind.replace(seed=seed, out=None) for kind in kinds or [config] for seed in numbers]
    return [run.replace(out=(place / run_folder(run).name).as_posix()) for run in runs]


def comparison_folder(config: Config) -> Path:
    """Where a comparison goes when nobody says: the same folder whatever losses, methods and seeds.

    Example:
        >>> comparison_folder(Config(noise="pair(0.2)", loss="mae")).as_posix()
        'runs/compare-digits-pair-0.2-...'
    """
    settings = {name: value for name, value in config.to_dict().items() if name not in NEUTRAL | VARIED}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    told = run_folder(config.replace(loss="ce", method=None, seed=0, out=None)).name
    return Path("runs", f"compare-{told.rpartition('-ce-seed0-')[0]}-{digest}")


def row_name(config: Config, others: Sequence[Config]) -> str:
    """What sets a run apart from the others beside its seed: its loss or method, else all that differs.

    Example:
        >>> row_name(Config(loss="mae"), [Config(), Config(loss="mae")])
        'mae'
        >>> row_name(Config(lr=0.1), [Config(), Config(lr=0.1)])
        'lr=0.1'
    """
    mine, differing = config.to_dict(), set()
    for other in others:
        theirs = other.to_dict()
        differing |= {name for name in mine if mine[name] != theirs[name]}
    differing -= {*NEUTRAL, "seed", "noise_seed"}
    if differing <= {"loss", "method"}:
        return config.method or config.loss
    told = [name for name in mine if name in differing and mine[name] is not None]
    return ", ".join(f"{name}={mine[name]}" for name in told)
