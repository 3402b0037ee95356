"""What the cells of ``reviewing.py`` say: Markdown, all rows as CSV, and a figure."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from everyday_tables import markdown
from matplotlib.figure import Figure

HERE = Path(__file__).parent
ARMS = {
    "noisy": "noisy",
    "noisy, gce(q=0.7)": "noisy, gce(q=0.7)",
    "dropping, record": "drop, by the record",
    "dropping, cross-fitted": "drop",
    "rules, cross-fitted": "relabel or drop",
    "clean": "clean",
}
OF_MANY = "rules of many classes, cross-fitted"
NOISES = {
    "symmetric 40": "40% symmetric",
    "asymmetric 30": "30% asymmetric",
    "annotators 30": "30% weak annotators",
}
LINES = {
    "noiseproof, then rules": ("#0b6e4f", "-", "s", "noiseproof, rule for the rest"),
    "noiseproof": ("#0b6e4f", "--", "o", "noiseproof"),
    "cleanlab": ("#c2571a", "-", "^", "cleanlab, the better of two models"),
    "random": ("#777777", "-", "v", "random"),
}


def read(folder: Path) -> pd.DataFrame:
    rows = [row for path in folder.glob("*.json") for row in json.loads(path.read_text())]
    table = pd.DataFrame(rows)
    if "looked" not in table:  # seeds without a reviewer
        table["looked"] = float("nan")
    table["noise"] = pd.Categorical(table.noise, list(NOISES))
    return table.sort_values(["set", "noise", "seed"], kind="stable").astype({"noise": str})


def page(folder: Path, *, write: bool) -> str:
    table = read(folder)
    ruled, looked = table[table.looked.isna()], table[table.looked.notna()]
    if write:
        table.to_csv(HERE / "reviewing.csv", index=False)
        draw(looked).savefig(HERE / "reviewing.png", dpi=110)
    parts = ["### By rules", by_rules(ruled)]
    if OF_MANY in set(ruled.arm):
        parts += ["### By the rule of many classes", by_rule_of_many(ruled)]
    if len(looked):
        parts += ["### By a reviewer", by_share(looked), "### Orders", wins(looked)]
    return "\n\n".join(parts)


def by_rules(part: pd.DataFrame) -> str:
    """Mean over the seeds for each set and kind of noise, and the mean of all sets."""
    mean = part.groupby(["set", "noise", "arm"], sort=False).accuracy.mean().unstack("arm")[list(ARMS)]
    mine = part[part.arm == "rules, cross-fitted"].groupby(["set", "noise"], sort=False)
    before = part[part.arm == "noisy"].groupby(["set", "noise"], sort=False).wrong.mean()
    table = mean.rename(columns=ARMS).round(1)
    table.insert(0, "seeds", mine.seed.nunique())
    table["wrong before"] = (100 * before).round(0).astype(int).astype(str) + "%"
    table["after"] = (100 * mine.wrong.mean()).round(1).astype(str) + "%"
    for what in ("relabelled", "dropped"):
        table[what] = (100 * mine[what].mean()).round(0).astype(int).astype(str) + "%"
    whole = mean.rename(columns=ARMS).groupby("noise", sort=False).mean().round(1)
    cells = part.pivot_table(index=["set", "noise", "seed"], columns="arm", values="accuracy")
    for other in [arm for arm in ARMS if arm not in ("clean", "rules, cross-fitted")]:
        ahead = (cells["rules, cross-fitted"] > cells[other]).groupby("noise", sort=False)
        counts = ahead.sum().astype(str) + " of " + ahead.size().astype(str)
        whole[f"ahead of {ARMS[other]}"] = counts
    words = "Means of the sets, and in how many cells *relabel or drop* is ahead:"
    return "\n\n".join([markdown(table.reset_index()), words, markdown(whole.reset_index())])


def by_rule_of_many(part: pd.DataFrame) -> str:
    """Mean over the seeds for each set of more than two classes: the two rules, and clean labels."""
    arms = {"rules, cross-fitted": "0.9 and 0.4", OF_MANY: "0.7 and 0.3", "clean": "clean"}
    keys = ["set", "noise"]
    mean = part.groupby([*keys, "arm"], sort=False).accuracy.mean().unstack("arm")[list(arms)].dropna()
    mine = part[part.arm == OF_MANY].groupby(keys, sort=False)
    table = mean.rename(columns=arms).round(2)
    table.insert(0, "seeds", mine.seed.nunique())
    for what, name in (("wrong", "wrong after"), ("relabelled", "relabelled"), ("dropped", "dropped")):
        table[name] = (100 * mine[what].mean()).round(1).astype(str) + "%"
    return markdown(table.reset_index())


def curves(part: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy by noise, order and share looked at; with none and all the orders are the same."""
    mean = part.groupby(["noise", "arm", "looked"], sort=False).accuracy.mean()
    ends = {0.0: "nobody", 1.0: "everything"}
    rows = [
        {"noise": noise, "arm": arm, "looked": share, "accuracy": mean[noise, end, share]}
        for noise in part.noise.unique()
        for arm in LINES
        for share, end in ends.items()
        if (noise, arm, share) not in mean.index
    ]
    known = mean.reset_index()
    return pd.concat([known[known.arm.isin(list(LINES))], pd.DataFrame(rows)]).sort_values("looked")


def by_share(part: pd.DataFrame) -> str:
    table = curves(part).pivot(index=["noise", "arm"], columns="looked", values="accuracy").round(1)
    table.columns = [f"{100 * share:g}%" for share in table.columns]
    order = [(noise, arm) for noise in part.noise.unique() for arm in LINES]
    mean = table.groupby("arm", sort=False).mean().round(1).loc[list(LINES)].reset_index()
    return f"{markdown(table.loc[order].reset_index())}\n\nMeans of the kinds of noise:\n\n{markdown(mean)}"


def wins(part: pd.DataFrame) -> str:
    """In how many cells our order leads to higher accuracy than another one."""
    cells = part.pivot_table(index=["set", "noise", "seed", "looked"], columns="arm", values="accuracy")
    cells = cells.dropna(subset=["noiseproof", "cleanlab", "random"])
    lines = []
    for rival in ("cleanlab", "random"):
        gap = cells["noiseproof"] - cells[rival]
        for share, some in gap.groupby("looked"):
            lines.append(
                {
                    "against": rival,
                    "looked at": f"{100 * share:g}%",
                    "mean difference": f"{some.mean():+.2f}",
                    "better": f"{int((some > 0).sum())} of {len(some)}",
                    "equal": int((some == 0).sum()),
                }
            )
    return markdown(pd.DataFrame(lines))


def draw(part: pd.DataFrame) -> Figure:
    """One panel for each kind of noise."""
    figure = Figure(figsize=(11.0, 3.9), layout="constrained")
    found, noises = curves(part), list(part.noise.unique())
    shares = sorted(found.looked.unique())
    for place, (noise, ax) in enumerate(
        zip(noises, figure.subplots(1, len(noises), squeeze=False, sharey=True)[0], strict=True)
    ):
        for arm, (color, line, mark, name) in LINES.items():
            rows = found[(found.noise == noise) & (found.arm == arm)]
            at = [shares.index(share) for share in rows.looked]
            ax.plot(at, rows.accuracy, line, color=color, marker=mark, ms=4.5, label=name)
        ax.set_title(NOISES[noise], loc="left", fontsize="medium")
        ax.set_xlabel("labels looked at (%)")
        ax.set_xticks(range(len(shares)), [f"{100 * share:g}" for share in shares])
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        if not place:
            ax.set_ylabel("test accuracy (%), mean of the sets")
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=len(LINES), frameon=False
    )
    return figure
