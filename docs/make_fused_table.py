"""Fill in the GPU table of docs/fused_losses.md from benchmarks/kernels_h200.json.

python docs/make_fused_table.py
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START, END = "<!-- table: benchmarks/kernels_h200.json -->", "<!-- end -->"
COLUMNS = {
    "8192x128256:bfloat16": "128256 bf16",
    "8192x32000:bfloat16": "32000 bf16",
    "4096x1000:float32": "4096x1000 fp32",
    "128x10:float32": "128x10 fp32",
    "8192x128256:float32": "128256 fp32",
    "8192x32000:float32": "32000 fp32",
    "4096x1000:graph": "captured 4096x1000",
    "128x10:graph": "captured 128x10",
    "128x100:graph": "captured 128x100",
}
Entry = dict[str, Any]


def main() -> None:
    page = ROOT / "docs/fused_losses.md"
    found = json.loads((ROOT / "benchmarks/kernels_h200.json").read_text())
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{START}\n{gpu_table(found)}{END}{after}", encoding="utf-8")


def gpu_table(found: dict[str, Any]) -> str:
    """Ratios to eager F.cross_entropy, and microseconds added to a captured step, one row per loss."""
    tables = {shape: {entry["loss"]: entry for entry in found["tables"][shape]} for shape in COLUMNS}
    lines = ["| loss | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---|" * len(COLUMNS)]
    ranges = (eager_range(list(rows.values())) for rows in tables.values())
    lines.append("| `F.cross_entropy` | " + " | ".join(ranges) + " |")
    for loss in next(iter(tables.values())):
        lines.append(f"| `{loss}` | " + " | ".join(cell(rows.get(loss)) for rows in tables.values()) + " |")
    return "\n".join(lines) + "\n"


def cell(entry: Entry | None) -> str:
    if entry is None:
        return "-"
    if "added_us" in entry:
        return f"+{entry['added_us']:.0f} µs"
    return f"{ratio_of(entry):.2f}" + (" ‡" if entry.get("launcher") == "on" else "")


def ratio_of(entry: Entry) -> float:
    """Both times are of one run."""
    return float(entry["ms"]["ours"] / entry["ms"]["F.cross_entropy"])


def eager_range(entries: list[Entry]) -> str:
    """From the fastest to the slowest of the runs that took turns with a loss."""
    times = [entry["ms"]["F.cross_entropy"] for entry in entries]
    if "added_us" in entries[0]:
        times = [1e3 * (time - entry["ms"]["nothing"]) for time, entry in zip(times, entries, strict=True)]
        return f"+{min(times):.0f} to {max(times):.0f} µs"
    return f"{min(times):.2f} to {max(times):.2f} ms"


if __name__ == "__main__":
    main()
