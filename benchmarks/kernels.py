"""Every loss on a GPU beside eager F.cross_entropy and torch.compile of the same loss, forward and backward.

Medians of rounds in which all contenders take turns in shuffled order. ``compiled`` is the loss as plain
torch expressions under torch.compile (the kernels switched off). ``share`` is the bandwidth of a device to
device copy over ours, counting three passes over the logits (read; read and write); ``memory`` is the peak
beyond the logits over the size of the logits. Small shapes are replays of a CUDA graph, and show what the
loss adds to a step that copies a ready gradient. Writes benchmarks/kernels_<device>.json and .md; what was
measured before stays in them. A row is one run, and keeps its rounds.

Compiling takes most of the time. With ``--turns FILE`` several processes, each with some of the losses,
compile side by side and measure one after the other; they write to the same files. Small shapes, where the
host sets the pace, should be measured by one process alone.

    python benchmarks/kernels.py [--rounds 20] [--shapes 8192x32000:bfloat16,128x10:graph] [--losses "ce;nfl"]
"""

import argparse
import fcntl
import json
import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from noiseproof import losses
from noiseproof.kernels import apply

SHAPES = (
    "8192x32000:bfloat16,8192x32000:float32,8192x128256:bfloat16,8192x128256:float32,"
    "4096x1000:bfloat16,4096x1000:float32,128x10:graph,128x100:graph"
)
ARGUMENTS = {
    "scale": "mae",
    "shift": "mae",
    "unit_max": "gce",
    "cr": "ce",
    "peer": "ce",
    "gr": 'normalize="none"',
    "imae": 'normalize="none"',
}
MORE = [
    *("10*nce + 0.1*agce(a=1.8, q=3)", 'gr(normalize="batch")', 'imae(normalize="batch")'),
    *("cr(mae)", "cr(gce)", "peer(mae)", "10*nce + nfl"),
]
EAGER = "F.cross_entropy"
LAUNCHED = "‡"
"""Marks rows of earlier versions, whose kernels were launched from C++."""
BUSY_PASSES_MS = 9.0
"""Passes over the logits in one measurement: the 0.1 ms the host needs to begin do not count then."""
turns: Path | None = None
Step = Callable[[], Tensor]
Entry = dict[str, Any]


def specs() -> list[str]:
    """Every loss of the registry that takes class targets, some in more than one form, and sums."""
    names = [name for name in losses.LOSSES if name not in ("binary", "ls")]
    return [f"{n}({ARGUMENTS[n]})" if n in ARGUMENTS else n for n in names] + MORE


def step_of(loss: Callable[..., Tensor], logits: Tensor, target: Tensor) -> Step:
    """The value leaves its graph: a graph kept alive would tie later steps to the stream of this one."""

    def step() -> Tensor:
        logits.grad = None
        value = loss(logits, target)
        value.backward()
        return value.detach()

    return step


def compiled(spec: str) -> Callable[..., Tensor]:
    """The reference formula under torch.compile; the kernels are off while it is traced."""
    loss = torch.compile(losses.get(spec).cuda(), fullgraph=True)

    def call(logits: Tensor, target: Tensor) -> Tensor:
        apply.enabled = False
        try:
            return loss(logits, target)  # type: ignore[no-any-return]
        finally:
            apply.enabled = True

    return call


def milliseconds(step: Step, repeats: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        step()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / repeats


def medians(steps: dict[str, Step], rounds: int, repeats: int) -> dict[str, float]:
    with my_turn():
        found = _medians(steps, rounds, repeats)
        torch.cuda.synchronize()
    return found


@contextmanager
def my_turn() -> Iterator[None]:
    """Nobody else measures meanwhile, if there is a file that says whose turn it is."""
    if turns is None:
        yield
        return
    with turns.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _medians(steps: dict[str, Step], rounds: int, repeats: int) -> dict[str, float]:
    for step in steps.values():
        milliseconds(step, 2)
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name in random.sample(list(steps), len(steps)):
            found[name].append(milliseconds(steps[name], repeats))
    return {name: statistics.median(times) for name, times in found.items()}


def extra_memory(step: Step, logits: Tensor) -> float:
    """Peak beyond what is there before, per byte of logits; the gradient itself counts."""
    logits.grad = None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    logits.grad = None
    return peak / (logits.numel() * logits.element_size())


def copy_milliseconds(logits: Tensor, rounds: int) -> float:
    """One pass over the logits at the speed of a copy, half of reading and writing them."""
    out = torch.empty_like(logits)
    source = logits.detach()
    return medians({"copy": lambda: out.copy_(source)}, rounds, 5)["copy"] / 2


def large(rows: int, classes: int, dtype: torch.dtype, spec: str, compiles: bool, rounds: int) -> Entry:
    logits = torch.randn(rows, classes, device="cuda").to(dtype).requires_grad_()
    target = torch.randint(classes, (rows,), device="cuda")
    one_pass = copy_milliseconds(logits, rounds)
    repeats = max(1, int(BUSY_PASSES_MS / max(one_pass, 0.15)))
    steps = {
        EAGER: step_of(torch.nn.functional.cross_entropy, logits, target),
        "ours": step_of(losses.get(spec).cuda(), logits, target),
    }
    if compiles and works(rival := step_of(compiled(spec), logits, target), spec):
        steps["compiled"] = rival
    for step in steps.values():
        step()
    memory = {name: extra_memory(step, logits) for name, step in steps.items()}
    times = medians(steps, rounds, repeats)
    share = 3 * one_pass / times["ours"]
    return {"loss": spec, "ms": times, "one_pass_ms": one_pass, "share": share, "memory": memory}


def works(step: Step, spec: str) -> bool:
    """Whether torch.compile manages; where it does not, its column stays empty and the log says why."""
    try:
        step()
    except Exception as problem:
        print(f"torch.compile of {spec} fails: {str(problem).splitlines()[0]}", flush=True)
        return False
    return True


def graphed(step: Step) -> Step:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = step()

    def replay() -> Tensor:
        graph.replay()
        return value

    return replay


def small(rows: int, classes: int, spec: str, compiles: bool, rounds: int) -> Entry:
    """Replays of a captured step; ``nothing`` hands a ready gradient to the same backward pass."""
    logits = torch.randn(rows, classes, device="cuda", requires_grad=True)
    target = torch.randint(classes, (rows,), device="cuda")
    ready = torch.randn(rows, classes, device="cuda")

    def nothing() -> Tensor:
        logits.grad = None
        (logits * 1.0).backward(ready)
        return ready

    def captured(loss: Callable[..., Tensor]) -> Step:
        return graphed(step_of(lambda z, y: loss(z * 1.0, y), logits, target))

    steps = {
        "nothing": graphed(nothing),
        EAGER: captured(torch.nn.functional.cross_entropy),
        "ours": captured(losses.get(spec).eval().cuda()),
    }
    rival = compiled(spec)
    if compiles and works(lambda: captured(rival)(), spec):
        steps["compiled"] = captured(rival)
    times = medians(steps, rounds, 200)
    return {"loss": spec, "ms": times, "added_us": 1e3 * (times["ours"] - times["nothing"])}


def row(entry: Entry) -> str:
    """One line of the table."""
    ms = entry["ms"]
    name = f"{entry['loss']} {LAUNCHED}" if entry.get("launcher") == "on" else entry["loss"]
    eager, ours, rival = ms[EAGER], ms["ours"], ms.get("compiled")
    if "added_us" in entry:
        base = ms["nothing"]
        columns = [f"{1e3 * (t - base):.1f}" if t is not None else "-" for t in (eager, rival, ours)]
        return f"| {name} | " + " | ".join(columns) + " |"
    memory = entry["memory"]
    faster = "-" if rival is None else f"{rival:.3f}"
    return (
        f"| {name} | {eager:.3f} | {faster} | {ours:.3f} | {ours / eager:.2f} |"
        f" {'-' if rival is None else f'{ours / rival:.2f}'} | {100 * entry['share']:.0f}% |"
        f" {memory['ours']:.2f} | {memory[EAGER]:.2f} |"
    )


HEADS = {
    True: "| loss | eager CE, µs added | compiled, µs added | ours, µs added |\n|---|---|---|---|",
    False: (
        "| loss | eager CE ms | compiled ms | ours ms | ours / eager CE | ours / compiled |"
        " share of copy, 3 passes | memory | memory of eager CE |\n|---|---|---|---|---|---|---|---|---|"
    ),
}


def introduction(page: Path, about: dict[str, str]) -> str:
    """The text before the first table: that of the page, which may be written by hand, if there is one."""
    if page.exists():
        return page.read_text().partition("\n## ")[0]
    return f"# Losses on a GPU\n\n{', '.join(f'{name} {value}' for name, value in about.items())}\n"


def markdown(result: Entry, page: Path) -> str:
    about, tables = result["about"], result["tables"]
    lines = [introduction(page, about)]
    for shape, table in tables.items():
        lines += [f"## {shape}", "", HEADS[shape.endswith("graph")], *(row(entry) for entry in table), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--losses", default=None, help="semicolon separated specs")
    parser.add_argument("--compiled", default=None, help="specs to compile too, all if not given")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--turns", type=Path, default=None, help="a file processes lock while they measure")
    options = parser.parse_args()
    global turns
    turns = options.turns
    names = options.losses.split(";") if options.losses else specs()
    rivals = names if options.compiled is None else options.compiled.split(";")
    for shape in options.shapes.split(","):
        size, kind = shape.split(":")
        rows, classes = (int(n) for n in size.split("x"))
        print(f"\n## {shape}\n{HEADS[kind == 'graph']}", flush=True)
        for spec in names:
            torch.compiler.reset()
            torch.cuda.empty_cache()
            if kind == "graph":
                found = small(rows, classes, spec, spec in rivals, options.rounds)
            else:
                found = large(rows, classes, getattr(torch, kind), spec, spec in rivals, options.rounds)
            found["rounds"] = options.rounds
            print(row(found), flush=True)
            with my_turn():
                keep(options.out, shape, found)


def keep(folder: Path, shape: str, found: Entry) -> None:
    """Put this row to those that are there, in the order of the registry."""
    name = torch.cuda.get_device_name()
    target = folder / f"kernels_{name.split()[-1].lower()}.json"
    tables: dict[str, list[Entry]] = json.loads(target.read_text())["tables"] if target.exists() else {}
    rows = {entry["loss"]: entry for entry in [*tables.get(shape, []), found]}
    order = [*specs(), *rows]
    tables[shape] = sorted(rows.values(), key=lambda entry: order.index(entry["loss"]))
    known = [*SHAPES.split(","), *tables]
    ordered = {name: tables[name] for name in sorted(tables, key=known.index)}
    about = {"device": name, "torch": str(torch.__version__)}
    result = {"about": about, "tables": ordered}
    target.write_text(json.dumps(result, indent=1) + "\n")
    page = target.with_suffix(".md")
    page.write_text(markdown(result, page) + "\n")


if __name__ == "__main__":
    main()
