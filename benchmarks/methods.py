"""Time and memory of a training step with every method, relative to the same step with cross entropy.

    python benchmarks/methods.py [--rounds 15] [--data digits] [--model mlp(norm=True)]

The step is the one of the training loop: view, forward, method, backward, update, record; what methods do
between epochs is not in it. Times are medians of ratios to cross entropy within the same round, in shuffled
order. ``peak`` is the most memory a step allocates at a time, relative to cross entropy; ``copies`` is how
often the weights of a network are kept, ``kept`` what the method remembers per training sample.
Writes tables/methods/cost.json and cost.md.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from itertools import islice
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from noiseproof.train import Config
from noiseproof.train.session import Session
from noiseproof.train.steps import PlainSteps
from noiseproof.train.task import make_task

NOISE = "symmetric(0.4)"
METHODS = (
    "nal(start=1, period=1)",
    "elr",
    "selc(start=0)",
    "bootstrap_soft",
    "bootstrap_hard",
    "joint(start=1)",
    f'forward(transition="{NOISE}")',
    f'forward(transition="{NOISE}", rce=1.0)',
    f'backward(transition="{NOISE}")',
    "s_adaptation",
    "gls_sl",
    "truncated_gce(start=1)",
    "self_paced(warmup=0)",
    "mentornet_pd(burn_in=0)",
    "d2l",
    "sop",
    "decoupling",
    "co_teaching(noise_rate=0.4)",
    "elr_plus",
    "divide_mix(warmup=1)",
)
"""As they work after the epoch at which they start."""
OPTIONS: dict[str, dict[str, float]] = {
    "ce, mixup=1": {"mixup": 1.0},
    "ce, weight_average": {"weight_average": 0.997},
}
BASE = "ce"
STEPS = 20
HOME = Path(__file__).parents[1] / "tables/methods/cost"


def session_of(method: str, options: argparse.Namespace) -> Session:
    shared = Config(data=options.data, model=options.model, noise=NOISE, epochs=1000, lr=0.01)
    changes = OPTIONS.get(method, {} if method == BASE else {"method": method})
    config = shared.replace(**changes)
    session = Session(config, make_task(config), torch.device("cpu"))
    session.epoch = 10
    return session


def steps(session: Session, count: int) -> None:
    for _ in islice(PlainSteps(session).epoch(), count):
        pass
    session.batch = 0


def peak_bytes(session: Session) -> int:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as recorded:
        steps(session, 1)
    live = peak = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


def kept_bytes(session: Session) -> float:
    state = session.method.state_dict().values()
    return sum(t.numel() * t.element_size() for t in state) / len(session.train)


def copies(session: Session) -> int:
    return len(session.networks) * (1 if session.average is None else 2)


def measure(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    sessions = {name: session_of(name, options) for name in (BASE, *OPTIONS, *METHODS)}
    for session in sessions.values():
        steps(session, 3)
    table = {
        name: {"peak": float(peak_bytes(session)), "copies": copies(session), "kept": kept_bytes(session)}
        for name, session in sessions.items()
    }
    taken: dict[str, list[float]] = {name: [] for name in sessions}
    for _ in range(options.rounds):
        for name in random.sample(list(sessions), len(sessions)):
            start = time.perf_counter()
            steps(sessions[name], STEPS)
            taken[name].append((time.perf_counter() - start) / min(STEPS, len(sessions[name].bounds)))
    base = table[BASE]["peak"]
    for name, row in table.items():
        row["ms"] = 1e3 * statistics.median(taken[name])
        row["time"] = statistics.median(m / b for m, b in zip(taken[name], taken[BASE], strict=True))
        row["peak"] /= base
    return table


def markdown(table: dict[str, dict[str, float]], about: str) -> str:
    heads = "method | time | ms per step | peak memory | copies of the weights | kept, bytes per sample"
    lines = [about, "", f"| {heads} |", "|---|---|---|---|---|---|"]
    for name, row in table.items():
        times = f"{row['time']:.2f} | {row['ms']:.2f} | {row['peak']:.2f}"
        lines.append(f"| `{name}` | {times} | {row['copies']} | {row['kept']:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--model", default="mlp(norm=True)")
    parser.add_argument("--out", type=Path, default=HOME)
    options = parser.parse_args()
    table = measure(options)
    threads = torch.get_num_threads()
    about = f"{options.data}, {options.model}, batch 128, {threads} threads, torch {torch.__version__}"
    about = f"{about}, {options.rounds} rounds"
    text = markdown(table, about)
    print(text)
    options.out.with_suffix(".md").write_text(text)
    options.out.with_suffix(".json").write_text(json.dumps({"about": about, "table": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
