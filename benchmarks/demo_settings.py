"""Choose the settings of ``noiseproof demo`` by accuracy on a noisy validation split.

Run: python benchmarks/demo_settings.py [--out runs/demo_settings] [--jobs N]
Candidates follow the papers' guidance. A fifth of the training digits, with the labels as given (40% of them
wrong), is put aside and ranks the settings by its accuracy after the last epoch, mean over three seeds that
the demo does not use. There is no test set in these runs.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev

from noiseproof.cli.demo import LOSSES, SETTINGS
from noiseproof.dynamics.run_folder import RunFolder
from noiseproof.train import Config, compare, grid

CANDIDATES = {
    "ce": ["ce"],
    "sl": ["sl(alpha=0.1)", "sl(alpha=0.01)", "sl(alpha=0.1, beta=5.0)", "sl(alpha=0.01, beta=0.1)"],
    "gce": ["gce(q=0.4)", "gce(q=0.7)", "gce(q=0.8)", "gce(q=0.9)"],
    "imae": [
        'imae(T=8.0, normalize="none")',
        'imae(T=12.0, normalize="none")',
        'imae(T=16.0, normalize="none")',
    ],
    "gr": [
        'gr(beta=8.0, lam=0.5, normalize="none")',
        'gr(beta=12.0, lam=0.5, normalize="none")',
        'gr(beta=16.0, lam=1.0, normalize="none")',
        'gr(beta=12.0, lam=2.0, normalize="none")',
        'gr(beta=24.0, lam=2.0, normalize="none")',
    ],
    "unit_max(mae)": ["unit_max(mae)"],
    "unit_max(scale(mae))": [f"unit_max(scale(mae, tau={tau}))" for tau in (1.6, 2.0, 3.0, 4.0)],
}
"""sl: alpha in [0.01, 1] and beta of the SL paper; gce: q up to 1; imae: T up to 16; gr: the settings of the
GR paper for 20% to 80% noise; tau: the values of Curriculum, table 9 (2.6 is unit_max(mae) at 10 classes)."""
SEEDS = (100, 101, 102)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/demo_settings"))
    parser.add_argument("--jobs", type=int)
    chosen = parser.parse_args()
    config = Config(**SETTINGS, test="none", validation=0.2, epochs=100)
    specs = [spec for family in CANDIDATES.values() for spec in family]
    compare(runs := grid(config, losses=specs, seeds=SEEDS, out=chosen.out), jobs=chosen.jobs)
    found = defaultdict(list)
    for run in runs:
        found[run.loss].append(100 * RunFolder(run.out).metrics[-1]["validation_accuracy"])
    print("# Settings of the demo\n\nWritten by `python benchmarks/demo_settings.py`; see its docstring.\n")
    print("| family | setting | validation % (labels as given) | chosen |")
    print("|---|---|---|---|")
    winners = []
    for family, settings in CANDIDATES.items():
        ranked = sorted(settings, key=lambda spec: -fmean(found[spec]))
        winners.append(ranked[0])
        for spec in ranked:
            mark = "yes" if spec == ranked[0] else ""
            print(f"| {family} | `{spec}` | {fmean(found[spec]):.1f} ± {stdev(found[spec]):.1f} | {mark} |")
    print(f"\nchosen: {json.dumps(winners)}; in the demo: {'yes' if winners == list(LOSSES) else 'no'}")


if __name__ == "__main__":
    main()
