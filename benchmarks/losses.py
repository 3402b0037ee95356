"""Cost of every loss beside F.cross_entropy, forward and backward, on a CPU.

Ratios are taken inside each shuffled round, so that a slow moment of the machine hits all alike; the
table shows the median over rounds. Writes benchmarks/losses.json.

    python benchmarks/losses.py [--rounds 30] [--shapes 128x10,4096x1000] [--losses ce,mae]
"""

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from noiseproof import losses

SHAPES = "128x10,128x100,128x1000,4096x1000,1024x32000"
SPECS = (
    "ce,focal,mae,rce,sl,sce,gce,truncated_gce,tce,aul,agce,ael,nal_fixed,unit_max(mae),scale(mae),"
    'ce + mae,gr(normalize="none"),imae(normalize="none"),nce,nfl,mse,gls,10*nce + 0.1*agce(a=1.8, q=3)'
)
SECONDS_PER_MEASUREMENT = 0.03


Contender = Callable[[Tensor, Tensor], Tensor]


def step_time(loss: Contender, logits: Tensor, target: Tensor, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        logits.grad = None
        loss(logits, target).backward()
    return (time.perf_counter() - start) / repeats


def measure(shape: tuple[int, int], specs: list[str], rounds: int) -> dict[str, float]:
    """Median ratio per loss, and the seconds of F.cross_entropy under its own name."""
    logits = torch.randn(shape, requires_grad=True)
    target = torch.randint(shape[1], shape[:1])
    contenders: dict[str, Contender] = {
        "F.cross_entropy": torch.nn.functional.cross_entropy,
        **{spec: losses.get(spec) for spec in specs},
    }
    one = min(step_time(contenders["F.cross_entropy"], logits, target, 1) for _ in range(5))
    repeats = max(1, int(SECONDS_PER_MEASUREMENT / one))
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name in random.sample(list(contenders), len(contenders)):
            seconds[name].append(step_time(contenders[name], logits, target, repeats))
    base = seconds.pop("F.cross_entropy")
    ratios = {
        name: statistics.median(t / b for t, b in zip(times, base, strict=True))
        for name, times in seconds.items()
    }
    return {"F.cross_entropy": statistics.median(base), **ratios}


def extra_memory(spec: str, shape: tuple[int, int] = (512, 8000)) -> float:
    """Peak bytes of live tensors beyond the logits, per byte of logits, in one forward and backward."""
    from torch.profiler import ProfilerActivity, profile

    logits = torch.randn(shape, requires_grad=True)
    target = torch.randint(shape[1], shape[:1])
    loss = losses.get(spec) if spec != "F.cross_entropy" else torch.nn.functional.cross_entropy
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        loss(logits, target).backward()
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak / (logits.numel() * logits.element_size())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--losses", default=None, help="comma separated, as in the default list")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    specs = split_specs(options.losses or SPECS)
    shapes = [tuple(int(n) for n in shape.split("x")) for shape in options.shapes.split(",")]
    table = {f"{n}x{c}": measure((n, c), specs, options.rounds) for n, c in shapes}
    memory = {spec: extra_memory(spec) for spec in ["F.cross_entropy", *specs]}
    print("| loss | " + " | ".join(table) + " | memory / logits |")
    print("|---|" + "---|" * (len(table) + 1))
    micro = " | ".join(f"{found['F.cross_entropy'] * 1e6:.0f} µs" for found in table.values())
    print(f"| F.cross_entropy | {micro} | {memory['F.cross_entropy']:.2f} |")
    for spec in specs:
        ratios = " | ".join(f"{found[spec]:.2f}" for found in table.values())
        print(f"| {spec} | {ratios} | {memory[spec]:.2f} |")
    about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "machine": platform.machine()}
    result = {"about": about, "rounds": options.rounds, "ratios": table, "memory": memory}
    options.out.write_text(json.dumps(result, indent=1) + "\n")


def split_specs(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


if __name__ == "__main__":
    main()
