"""Cost of loss.linear and linear_margin beside an unfused linear layer with F.cross_entropy.

Forward and backward of hidden states and weight. Times are medians over shuffled rounds; memory is the
peak beyond the inputs and their gradients; errors are those of the gradients against float64, relative
to their norm, for cross entropy. Writes benchmarks/linear.json and benchmarks/linear.md.

    python benchmarks/linear.py [--shape 8192x4096x128256] [--dtype bfloat16] [--device cuda] [--rounds 15]
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from noiseproof import losses

SPECS = ["ce", "mae", "gce", "nce", "gls", "10*nce + 0.1*agce(a=1.8, q=3)", 'imae(normalize="batch")']
BASE = "F.linear + F.cross_entropy"
CROSS_ENTROPIES = [BASE, "F.linear_cross_entropy", "Liger", "CCE", "ce", "linear_margin"]

Contender = Callable[[Tensor, Tensor, Tensor], Tensor]
Step = Callable[[], None]


def rivals() -> dict[str, Contender]:
    """Everybody who can be imported here."""
    found: dict[str, Contender] = {BASE: lambda h, w, y: F.cross_entropy(F.linear(h, w), y)}
    if hasattr(F, "linear_cross_entropy"):
        options = torch.nn.LinearCrossEntropyOptions()
        found["F.linear_cross_entropy"] = lambda h, w, y: F.linear_cross_entropy(h, w, y, options=options)
    try:
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        found["Liger"] = lambda h, w, y: LigerFusedLinearCrossEntropyLoss()(w, h, y)
    except ImportError:
        pass
    try:
        from cut_cross_entropy import linear_cross_entropy

        found["CCE"] = linear_cross_entropy
    except ImportError:
        pass
    return found


def contenders(specs: list[str]) -> dict[str, Contender]:
    found = rivals()
    for spec in specs:
        found[spec] = losses.get(spec).linear
    found["linear_margin"] = lambda h, w, y: -F.logsigmoid(losses.linear_margin(h, w, y)).mean()
    return found


def problem(shape: tuple[int, int, int], dtype: torch.dtype, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Logits of unit variance and a half of the labels likely, as in the middle of a training."""
    rows, width, classes = shape
    generator = torch.Generator(device).manual_seed(0)
    hidden = torch.randn(rows, width, device=device, generator=generator)
    weight = torch.randn(classes, width, device=device, generator=generator) * width**-0.5
    target = torch.randint(classes, (rows,), device=device, generator=generator)
    hidden[::2] += 0.2 * width**0.5 * weight[target[::2]]
    return hidden.to(dtype).requires_grad_(), weight.to(dtype).requires_grad_(), target


def seconds(step: Step, device: str, repeats: int) -> float:
    wait(device)
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    wait(device)
    return (time.perf_counter() - start) / repeats


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def peak_bytes(step: Step, device: str) -> int:
    """Most bytes alive at a time beyond those alive before."""
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        return torch.cuda.max_memory_allocated() - before
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        step()
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


def exact_gradients(hidden: Tensor, weight: Tensor, target: Tensor) -> list[Tensor]:
    """Of the mean cross entropy, in float64 and by torch's own functions, a few rows at a time."""
    wide, matrix = hidden.detach().double(), weight.detach().double().requires_grad_()
    slopes = []
    for part in torch.arange(len(target), device=target.device).split(512):
        rows = wide[part].requires_grad_()
        total = F.cross_entropy(F.linear(rows, matrix), target[part], reduction="sum") / len(target)
        total.backward()
        slopes.append(rows.grad)
    return [torch.cat(slopes), matrix.grad]  # type: ignore[list-item, arg-type]


def relative_error(found: Tensor, exact: Tensor) -> float:
    rows = zip(found.split(4096), exact.split(4096), strict=True)
    return float(sum((f.double() - e).square().sum() for f, e in rows)) ** 0.5 / float(exact.norm())


def without_failures(steps: dict[str, Step]) -> dict[str, Step]:
    """Those that run here; the first time they compile kernels and fill caches."""
    left = {}
    for name, step in steps.items():
        try:
            step()
        except Exception as problem:
            if name == BASE:
                raise
            print(f"{name} does not run here: {type(problem).__name__}: {problem}")
        else:
            left[name] = step
    return left


def measure(shape: tuple[int, int, int], dtype: str, device: str, rounds: int, specs: list[str]) -> dict:
    hidden, weight, target = problem(shape, getattr(torch, dtype), device)
    named = contenders(specs)

    def step_of(loss: Contender) -> Step:
        def step() -> None:
            hidden.grad = weight.grad = None
            loss(hidden, weight, target).backward()

        return step

    steps = without_failures({name: step_of(loss) for name, loss in named.items()})
    table: dict[str, dict[str, float]] = {name: {} for name in steps}
    owned = sum(t.numel() * t.element_size() for t in (hidden, weight))
    exact = exact_gradients(hidden, weight, target)
    for name, step in steps.items():
        step()
        if name in CROSS_ENTROPIES:
            errors = [relative_error(t.grad, e) for t, e in zip((hidden, weight), exact, strict=True)]
            table[name]["hidden error"], table[name]["weight error"] = errors
        hidden.grad = weight.grad = None
        table[name]["megabytes"] = (peak_bytes(step, device) - owned) / 2**20
    del exact
    repeats = 3 if device == "cuda" else 1
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name in random.sample(list(steps), len(steps)):
            times[name].append(seconds(steps[name], device, repeats))
    for name, taken in times.items():
        table[name]["milliseconds"] = 1e3 * statistics.median(taken)
        ratios = [mine / base for mine, base in zip(taken, times[BASE], strict=True)]
        table[name]["time ratio"] = statistics.median(ratios)
        table[name]["memory ratio"] = table[name]["megabytes"] / table[BASE]["megabytes"]
    return table


def markdown(table: dict[str, dict[str, float]]) -> str:
    columns = {"milliseconds": ".2f", "time ratio": ".3f", "megabytes": ".0f", "memory ratio": ".3f"}
    columns |= {"hidden error": ".2e", "weight error": ".2e"}
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name, row in table.items():
        cells = [format(row[c], style) if c in row else "" for c, style in columns.items()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", default="8192x4096x128256" if gpu else "1024x256x32000")
    parser.add_argument("--dtype", default="bfloat16" if gpu else "float32")
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--losses", nargs="*", default=SPECS)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(""))
    options = parser.parse_args()
    rows, width, classes = (int(n) for n in options.shape.split("x"))
    table = measure((rows, width, classes), options.dtype, options.device, options.rounds, options.losses)
    machine = (
        torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} threads"
    )
    title = f"{options.shape} (rows x width x classes), {options.dtype}, {machine}, torch {torch.__version__}"
    text = f"# Output layer and loss in one call\n\n{title}\n\n{markdown(table)}\n"
    print(text)
    options.out.with_suffix(".md").write_text(text)
    options.out.with_suffix(".json").write_text(json.dumps({"about": title, "table": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
