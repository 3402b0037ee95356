"""Write README.md: about.md, the table of all rows, accuracies by kind of noise, cost.md and earlier.md.

    python tables/methods/table.py

Numbers are computed from results/ and cost.json; seeds that are not complete yet are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

HOME = Path(__file__).parent
sys.path.insert(0, str(HOME.parent))
import page as pages  # noqa: E402

KINDS = {"symmetric 40": "symmetric", "asymmetric 40": "asymmetric", "annotators 40": "annotators"}
SETS = 5
ENOUGH, HARM = 2.0, -3.0
"""Points of accuracy: a mean gain that counts, and a loss on one set that is warned of."""


class Row(NamedTuple):
    """What the numbers do not say."""

    paper: str
    needs: str = ""
    networks: int = 1
    cost: str | None = None
    """The name of its step in cost.json, where that is not the name of the row."""


RATE, MATRIX, NOISY_VALIDATION = "noise rate", "transition matrix", "validation data, labels as noisy"
NOISE = "symmetric(0.4)"
ROWS = {
    "ce": Row(""),
    "gce(q=0.7)": Row("Zhang & Sabuncu 2018", cost="ce"),
    "sl": Row("SL: Wang et al. 2019", cost="ce"),
    "imae": Row("IMAE: Wang et al. 2019", cost="ce"),
    "gr": Row("GR: Wang et al. 2020", cost="ce"),
    "ce, mixup=1": Row("Zhang et al. 2018"),
    "ce, weight_average=0.99": Row("Polyak & Juditsky 1992", cost="ce, weight_average"),
    "forgetting": Row("Arpit et al. 2017", f"{NOISY_VALIDATION}; a run per dropout", cost="ce"),
    "bootstrap_soft": Row("Reed et al. 2015"),
    "bootstrap_hard": Row("Reed et al. 2015"),
    "s_adaptation": Row("Goldberger & Ben-Reuven 2017"),
    "gls_sl": Row("SL"),
    "forward": Row("Patrini et al. 2017", MATRIX, cost=f'forward(transition="{NOISE}")'),
    "backward": Row("Patrini et al. 2017", MATRIX, cost=f'backward(transition="{NOISE}")'),
    "joint": Row("Tanaka et al. 2018", cost="joint(start=1)"),
    "nal": Row("NAL: Lu et al. 2022", cost="nal(start=1, period=1)"),
    "elr": Row("Liu et al. 2020"),
    "selc": Row("Lu & He 2022", cost="selc(start=0)"),
    "sop": Row("Liu et al. 2022"),
    "truncated_gce": Row("Zhang & Sabuncu 2018", cost="truncated_gce(start=1)"),
    "truncated_gce, by validation": Row("Zhang & Sabuncu 2018", NOISY_VALIDATION, cost="ce"),
    "self_paced": Row("Kumar et al. 2010", RATE, cost="self_paced(warmup=0)"),
    "mentornet_pd": Row("Jiang et al. 2018", RATE, cost="mentornet_pd(burn_in=0)"),
    "d2l": Row("Ma et al. 2018"),
    "decoupling": Row("Malach & Shalev-Shwartz 2017", networks=2),
    "co_teaching": Row("Han et al. 2018", RATE, 2, "co_teaching(noise_rate=0.4)"),
    "co_teaching, estimated rate": Row("Han et al. 2018", NOISY_VALIDATION, 2, "co_teaching(noise_rate=0.4)"),
    "elr_plus": Row("Liu et al. 2020", networks=2),
    "divide_mix": Row("Li et al. 2020", networks=2, cost="divide_mix(warmup=1)"),
}


def complete(runs: pd.DataFrame, cells: int) -> pd.DataFrame:
    """Runs of the seeds for which there is one in every cell of every row."""
    counts = runs.groupby("seed").size()
    return runs[runs.seed.isin(counts.index[counts == cells])]


def gains(runs: pd.DataFrame) -> pd.DataFrame:
    """Points of accuracy above cross entropy with the same data, noise and seed, and the time beside its."""
    place = ["seed", "data", "noise"]
    base = runs[runs.row == "ce"][[*place, "accuracy", "seconds"]]
    runs = runs.merge(base, on=place, suffixes=("", "_ce"))
    runs["gain"] = 100 * (runs.accuracy - runs.accuracy_ce)
    runs["time"] = runs.seconds / runs.seconds_ce
    return runs


def advice(by_kind: pd.Series, by_cell: pd.Series) -> str:
    """When to use it, by the rule that about.md states."""
    good = [KINDS[kind] for kind in KINDS if by_kind[kind] >= ENOUGH]
    if not good:
        words = "loses" if (by_kind <= -ENOUGH).any() else "no gain here"
    else:
        words = "all three" if len(good) == len(KINDS) else ", ".join(good)
    data, kind = by_cell.idxmin()
    return words if by_cell.min() > HARM else f"{words}; {by_cell.min():+.0f} on {data}, {KINDS[kind]}"


def table(heads: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, ["---"] * len(heads), *lines])


def overview(runs: pd.DataFrame, cost: dict[str, dict[str, float]]) -> str:
    lines = []
    for name, about in ROWS.items():
        mine = runs[runs.row == name]
        by_cell = mine.groupby(["data", "noise"]).gain.mean()
        by_kind = by_cell.groupby("noise").mean()
        peak = cost.get(about.cost or name, {}).get("peak")
        lines.append(
            [
                f"`{name}`",
                f"{100 * mine.accuracy.mean():.1f}",
                *(f"{by_kind[kind]:+.1f}" if name != "ce" else "" for kind in KINDS),
                f"{mine.time.median():.1f}",
                "" if peak is None else f"{peak:.2f}",
                str(about.networks),
                about.needs,
                about.paper,
                "" if name == "ce" else advice(by_kind, by_cell),
            ]
        )
    heads = ["row", "accuracy %", *KINDS.values(), "time", "memory", "networks", "needs", "paper"]
    return table([*heads, "use it for"], lines)


def accuracies(runs: pd.DataFrame, kind: str) -> str:
    here = runs[runs.noise == kind]
    sets = list(dict.fromkeys(here.data))
    lines = []
    for name in ROWS:
        mine = here[here.row == name]
        cells = []
        for one in sets:
            found = 100 * mine[mine.data == one].accuracy
            cells.append(f"{found.mean():.1f}" + (f" ± {found.std():.1f}" if len(found) > 1 else ""))
        lines.append([f"`{name}`", *cells, f"{100 * mine.memorised.mean():.0f}"])
    wrong = ", ".join(f"{one} {100 * here[here.data == one].wrong.mean():.0f}%" for one in sets)
    text = table(["row", *sets, "memorised %"], lines)
    return f"## {KINDS[kind]}\n\nWrong labels: {wrong}.\n\n{text}\n"


def findings(runs: pd.DataFrame) -> str:
    """Which rows gain under which noise, the largest gain first."""
    mean = runs[runs.row != "ce"].groupby(["noise", "row"]).gain.mean()
    lines = ["Main results:", ""]
    for kind, word in KINDS.items():
        here = mean[kind].sort_values(ascending=False)
        good, bad = here[here >= ENOUGH], here[here <= -ENOUGH][::-1]
        told = f"- **{word}:** above cross entropy {_some(good)}"
        lines.append(f"{told}; below it {_some(bad)}." if len(bad) else f"{told}.")
    return "\n".join(lines) + "\n"


def _some(gains: pd.Series, most: int = 6) -> str:
    words = ", ".join(f"`{row}` {gain:+.1f}" for row, gain in gains.head(most).items())
    return f"{words or 'none'}, and {len(gains) - most} others" if len(gains) > most else words or "none"


def everyday(runs: pd.DataFrame) -> list[str]:
    cells = SETS * len(KINDS) * len(ROWS)
    whole = complete(runs, cells)
    if whole.empty:
        return [f"**Not complete yet:** {len(runs)} of the {cells} runs of the first seed are there.\n"]
    failed, done = int(whole.accuracy.isna().sum()), gains(whole)
    cost = json.loads((HOME / "cost.json").read_text())["table"]
    return [
        f"{whole.seed.nunique()} of 5 seeds, {len(whole):,} runs, {failed} of them failed.\n",
        findings(done),
        overview(done, cost) + "\n",
        *(accuracies(done, kind) for kind in KINDS),
    ]


def main() -> None:
    parts = [
        (HOME / "about.md").read_text(),
        *everyday(pd.read_csv(HOME / "results/runs.csv")),
        "## Cost of a training step\n\n`python benchmarks/methods.py`; work between epochs is not in it. "
        + (HOME / "cost.md").read_text(),
        (HOME / "earlier.md").read_text(),
        *(pages.table(path).replace("## ", "### ") for path in sorted((HOME / "results").glob("*.json"))),
    ]
    (HOME / "README.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
