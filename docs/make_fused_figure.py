"""Draw docs/images/fused_losses.png and training.png from benchmarks/*.json, and fill in the GPU table.

python docs/make_fused_figure.py
"""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from make_fused_table import main as fill_in_table
from make_fused_table import ratio_of

ROOT = Path(__file__).parents[1]
EXPRESSIONS, OPERATOR, CROSS_ENTROPY = "#b9c4d0", "#1f5fa8", "#c0392b"
GPU_SHAPES = ("128x10:float32", "4096x1000:float32", "8192x32000:bfloat16", "8192x128256:bfloat16")
"""Those measured without the launcher; of rows with it, other losses at 4096x1000 are left out."""


def main() -> None:
    mpl.use("Agg")
    cpu = json.loads((ROOT / "benchmarks/cpu.json").read_text())
    linear = json.loads((ROOT / "benchmarks/linear.json").read_text())
    gpu = json.loads((ROOT / "benchmarks/kernels_h200.json").read_text())
    training = json.loads((ROOT / "benchmarks/training_h200.json").read_text())
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.6), width_ratios=(3, 3.6, 2), layout="constrained")
    draw_cpu(axes[0], cpu)
    draw_gpu(axes[1], gpu)
    draw_linear(axes[2], linear)
    figure.savefig(ROOT / "docs/images/fused_losses.png", dpi=130)
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    draw_training(ax, training)
    fill_in_table()
    figure.savefig(ROOT / "docs/images/training.png", dpi=130)


def draw_cpu(ax: Any, found: dict[str, Any]) -> None:
    """Every loss as a dot, both ways, beside the line of F.cross_entropy."""
    for place, shape in enumerate(found["shapes"].values()):
        ratios = [pair for name, pair in shape.items() if name != "F.cross_entropy"]
        for offset, way, colour in ((-0.14, "torch expressions", EXPRESSIONS), (0.14, "operator", OPERATOR)):
            heights = [pair[way] for pair in ratios]
            label = way if place == 0 else None
            ax.plot([place + offset] * len(heights), heights, "o", color=colour, alpha=0.7, label=label)
    ax.axhline(1, color=CROSS_ENTROPY, linewidth=1.2, label="F.cross_entropy")
    ax.set_yscale("log")
    ax.set_yticks([0.25, 0.5, 1, 2, 4, 8, 16], ["0.25", "0.5", "1", "2", "4", "8", "16"])
    ax.set_ylim(0.15, 220)
    ax.set_xticks(range(len(found["shapes"])), found["shapes"])
    ax.set_ylabel("time / F.cross_entropy")
    ax.set_title("CPU: one dot per loss, forward and backward")
    ax.legend(frameon=False)


def draw_gpu(ax: Any, found: dict[str, Any]) -> None:
    """Every loss as a dot beside eager F.cross_entropy."""
    kinds = {True: ("#d08a2e", 0.13), False: ("#1f5fa8", -0.13)}
    for place, shape in enumerate(GPU_SHAPES):
        for entry in found["tables"][shape]:
            if entry.get("launcher") == "on":
                continue
            colour, offset = kinds[has_no_kernel(entry["loss"])]
            ax.plot(place + offset, ratio_of(entry), "o", color=colour, alpha=0.6, markersize=5)
    for label, kind in (("kernels", False), ("torch calls: nfl, cr, peer", True)):
        ax.plot([], [], "o", color=kinds[kind][0], label=label)
    ax.axhline(1, color=CROSS_ENTROPY, linewidth=1.2, label="F.cross_entropy")
    ax.axhline(0.4, color="grey", linewidth=0.8, linestyle=":", label="0.4")
    ax.set_yscale("log")
    ax.set_yticks([0.25, 0.5, 1, 2, 4, 8, 16, 32], ["0.25", "0.5", "1", "2", "4", "8", "16", "32"])
    ax.set_ylim(0.25, 60)
    ax.set_xticks(range(len(GPU_SHAPES)), [shape.replace(":", "\n") for shape in GPU_SHAPES], fontsize=7.5)
    ax.set_ylabel("time / F.cross_entropy")
    ax.set_title("H200: one dot per loss, forward and backward")
    ax.legend(frameon=False, fontsize="small", ncols=2)


def has_no_kernel(spec: str) -> bool:
    """``cr(ce)`` has a closed form."""
    return "nfl" in spec or spec.startswith("peer(") or (spec.startswith("cr(") and spec != "cr(ce)")


def draw_training(ax: Any, found: dict[str, Any]) -> None:
    """Milliseconds of a step, network by network, from the usual loop to eight runs at once."""
    colours = ("#c0392b", "#d9a441", "#8fb3d9", "#1f5fa8")
    names = list(next(iter(found["models"].values())))
    for number, (name, colour) in enumerate(zip(names, colours, strict=True)):
        places = [place + 0.2 * (number - 1.5) for place in range(len(found["models"]))]
        heights = [row[name] for row in found["models"].values()]
        bars = ax.bar(places, heights, 0.19, color=colour, label=name)
        ax.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
    ax.set_xticks(range(len(found["models"])), found["models"])
    ax.set_ylabel("ms per step and run")
    ax.set_title("A training step at batch 128 on one H200")
    ax.legend(frameon=False)


def draw_linear(ax: Any, found: dict[str, Any]) -> None:
    """Time and memory of ``loss.linear`` beside the linear layer followed by F.cross_entropy."""
    rows = {name: row for name, row in found["table"].items() if name != "F.linear + F.cross_entropy"}
    places = range(len(rows))
    names = ["10*nce + 0.1*agce" if name.startswith("10*nce") else name for name in rows]
    ax.barh(
        [p - 0.2 for p in places],
        [r["time ratio"] for r in rows.values()],
        0.38,
        color=EXPRESSIONS,
        label="time",
    )
    ax.barh(
        [p + 0.2 for p in places],
        [r["memory ratio"] for r in rows.values()],
        0.38,
        color=OPERATOR,
        label="memory",
    )
    ax.axvline(1, color=CROSS_ENTROPY, linewidth=1.2)
    ax.set_yticks(list(places), names)
    ax.invert_yaxis()
    ax.set_xlabel("over F.linear + F.cross_entropy")
    ax.set_title("H200: loss.linear, 128256 words")
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.13), ncols=2, frameon=False)


if __name__ == "__main__":
    main()
