"""Write FOLDER/README.md: about.md, and a table for every results/*.json.

    python tables/page.py tables/small_scale

The JSON files are what ``noiseproof compare --json`` prints.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

HEADINGS = ("run", "seeds", "final %", "gain", "best %", "memorised %", "training labels fitted %")
SHOWN = ("data", "noise", "model", "epochs", "lr", "schedule", "weight_decay", "clip", "augment")


def plus_minus(numbers: list[float]) -> str:
    if not numbers:
        return ""
    mean = 100 * statistics.fmean(numbers)
    return f"{mean:.1f} ± {100 * statistics.stdev(numbers):.1f}" if len(numbers) > 1 else f"{mean:.1f}"


def cells(row: dict[str, Any]) -> list[str]:
    results = [run["result"] for run in row["runs"] if run["result"]]
    failed = [run for run in row["runs"] if run["problem"]]
    gain = row["final_against_first"]
    columns = [
        [result["final_test_accuracy"] for result in results],
        [result["best_test_accuracy"] for result in results],
        [result["train"]["noisy_subset"] for result in results],
        [result["train"]["corrupted"] for result in results],
    ]
    final, best, memorised, fitted = (
        plus_minus([number for number in column if number is not None]) for column in columns
    )
    seeds = f"{len(results)}" + (f" ({len(failed)} failed)" if failed else "")
    return [
        f"`{row['run']}`",
        seeds,
        final,
        "" if gain is None else f"{100 * gain:+.1f}",
        best,
        memorised,
        fitted,
    ]


def table(path: Path) -> str:
    found = json.loads(path.read_text())
    settings = found["settings"]
    told = ", ".join(f"{name} `{settings[name]}`" for name in SHOWN if settings.get(name))
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(cells(row) for row in found["rows"])]
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"## {path.stem.replace('_', ' ')}\n\n{told}\n\n{rows}\n"


def main() -> None:
    folder = Path(sys.argv[1])
    parts = [(folder / "about.md").read_text()]
    parts += [table(path) for path in sorted((folder / "results").glob("*.json"))]
    (folder / "README.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
