"""Draw docs/images/fused_losses.png from benchmarks/cpu.json and benchmarks/linear.json.

python docs/make_fused_figure.py
"""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
EXPRESSIONS, OPERATOR, CROSS_ENTROPY = "#b9c4d0", "#1f5fa8", "#c0392b"


def main() -> None:
    mpl.use("Agg")
    cpu = json.loads((ROOT / "benchmarks/cpu.json").read_text())
    linear = json.loads((ROOT / "benchmarks/linear.json").read_text())
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 2), layout="constrained")
    draw_cpu(left, cpu)
    draw_linear(right, linear)
    figure.savefig(ROOT / "docs/images/fused_losses.png", dpi=130)


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
    ax.set_yticks([0.25, 0.5, 1, 2, 4, 8], ["0.25", "0.5", "1", "2", "4", "8"])
    ax.set_xticks(range(len(found["shapes"])), found["shapes"])
    ax.set_ylabel("time / F.cross_entropy")
    ax.set_title("CPU: one dot per loss, forward and backward")
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
