"""Cost of every loss beside F.cross_entropy on a CPU: as torch expressions and as the compiled operator.

Needs the operator (``noiseproof kernels build``). Ratios are taken inside each shuffled round, in which both
ways and F.cross_entropy all run, so that a slow moment of the machine hits all alike; the table shows the
median over rounds. Writes benchmarks/cpu.json and benchmarks/cpu.md.

    python benchmarks/cpu.py [--rounds 30] [--shapes 128x10,4096x1000] [--losses ce,mae]
"""

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from losses import SPECS, split_specs
from torch import Tensor

from noiseproof import losses
from noiseproof.kernels import apply

AROUND = (
    'gr(normalize="batch"),imae(normalize="batch"),cr(ce),cr(mae),cr(sl),cr(gce),cr(focal),peer(ce),peer(gce),'
    "peer(nce),peer(nfl),peer(mse),peer(gls),nfl + mae,10*nce + nfl"
)
"""Losses that look at more than a row and its label."""
SHAPES = "128x10,128x100,4096x1000,1024x32000"
SECONDS_PER_MEASUREMENT = 0.03
BASE = "F.cross_entropy"
WAYS = ("torch expressions", "operator")
Step = Callable[[Tensor, Tensor], Tensor]


def measure(shape: tuple[int, int], specs: list[str], rounds: int, clock: Any) -> dict[str, Any]:
    """Seconds of F.cross_entropy, and per loss the median ratio of both ways."""
    logits = torch.randn(shape, requires_grad=True)
    target = torch.randint(shape[1], shape[:1])
    contenders: dict[tuple[str, str], Step] = {(BASE, ""): torch.nn.functional.cross_entropy}
    contenders |= {(spec, way): losses.get(spec) for spec in specs for way in WAYS}

    def seconds(name: tuple[str, str], repeats: int) -> float:
        apply.enabled = name[1] != WAYS[0]
        start = clock()
        for _ in range(repeats):
            logits.grad = None
            contenders[name](logits, target).backward()
        return (clock() - start) / repeats

    one = min(seconds((BASE, ""), 1) for _ in range(5))
    repeats = max(1, int(SECONDS_PER_MEASUREMENT / max(one, 1e-6)))
    times: dict[tuple[str, str], list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name in random.sample(list(contenders), len(contenders)):
            times[name].append(seconds(name, repeats))
    base = times[BASE, ""]
    found: dict[str, Any] = {BASE: statistics.median(base)}
    for spec in specs:
        found[spec] = {way: _ratio(times[spec, way], base) for way in WAYS}
    return found


def _ratio(times: list[float], base: list[float]) -> float:
    return statistics.median(t / b for t, b in zip(times, base, strict=True))


def table_of(found: dict[str, Any], specs: list[str]) -> str:
    lines = ["| loss | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    micro = " | ".join(f"{shape[BASE] * 1e6:.0f} µs" for shape in found.values())
    lines.append(f"| {BASE} | {micro} |")
    for spec in specs:
        cells = (shape[spec] for shape in found.values())
        pairs = " | ".join(f"**{c[WAYS[1]]:.2f}** ({c[WAYS[0]]:.2f})" for c in cells)
        lines.append(f"| {spec} | {pairs} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--losses", default=None, help="comma separated, as in benchmarks/losses.py")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    if not apply.uses_operator(torch.zeros(2, 2)):
        parser.error(f"the operator is {apply.operator_state()}")
    single = torch.get_num_threads() == 1
    clock, name = (time.process_time, "processor") if single else (time.perf_counter, "wall clock")
    specs = split_specs(options.losses or f"{SPECS},{AROUND}")
    shapes = [tuple(int(n) for n in shape.split("x")) for shape in options.shapes.split(",")]
    found = {f"{n}x{c}": measure((n, c), specs, options.rounds, clock) for n, c in shapes}
    about = {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "clock": name,
    }
    result = {"about": about, "rounds": options.rounds, "shapes": found}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    head = (
        "# Cost of losses on a CPU\n\n`python benchmarks/cpu.py` writes this page.\n\n"
        f"Forward and backward, {name} time as a ratio to F.cross_entropy: **compiled operator** (torch"
        f" calls). Float32, {about['threads']} thread(s), torch {about['torch']}, median of"
        f" {options.rounds} rounds."
    )
    text = f"{head}\n\n{table_of(found, specs)}\n"
    options.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
