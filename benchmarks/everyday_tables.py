"""What the cells of ``everyday.py`` say, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import everyday_sets as sets
import numpy as np
import pandas as pd

OURS = "noiseproof"
MEASURES = ("accuracy", "balanced", "seconds")


def read(cells: Path) -> pd.DataFrame:
    """The rows of a folder of cells, or of a .csv that holds them."""
    if cells.suffix == ".csv":
        table = pd.read_csv(cells)
    else:
        rows = [row for path in sorted(cells.glob("*.json")) for row in json.loads(path.read_text())]
        table = pd.DataFrame(rows)
    groups = {name: group for group, names in sets.GROUPS.items() for name in names}
    return table.assign(group=table["set"].map(groups))


def update(stored: Path, cells: Path) -> None:
    """Replace the rows of a .csv by those of a folder of cells; new ones follow the rest of their cell."""
    before, new = pd.read_csv(stored), read(cells)[lambda table: table.columns.drop("group")]
    cell = ["set", "noise", "seed"]
    key = [*cell, "finder" if "finder" in before else "model"]
    before["place"] = np.arange(len(before), dtype=float)
    ends = before.groupby(cell, as_index=False).place.max().rename(columns={"place": "end"})
    new = new.merge(before[[*key, "place"]], how="left", on=key).merge(ends, how="left", on=cell)
    new["place"] = new.place.fillna(new.end)
    rows = pd.concat([before, new.reindex(columns=before.columns)])
    rows = rows.drop_duplicates(key, keep="last").sort_values("place", kind="stable")
    rows.drop(columns="place").to_csv(stored, index=False)


def page(what: str, folder: Path) -> str:
    table = read(folder)
    tables: dict[str, Callable[[pd.DataFrame], str]] = {"find": found, "classify": classified}
    parts = []
    for group in [group for group in sets.GROUPS if (table.group == group).any()]:
        part = table[table.group == group]
        told = "looked at while the library was made" if group in ("tuned", "more") else "put aside"
        count = part.groupby(["set", "noise", "seed"]).ngroups
        parts.append(f"### {group}: {part['set'].nunique()} sets ({told}), {count} cells")
        parts.append(tables[what](part))
    return "\n\n".join(parts)


def found(part: pd.DataFrame) -> str:
    """One line per finder: means over the cells, and how often we rank wrong labels better."""
    noisy = part[part.noise != "clean"]
    mine = noisy[noisy.finder == OURS].set_index(["set", "noise", "seed"]).ap
    lines = []
    for finder, rows in noisy.groupby("finder", sort=False):
        clean = part[(part.finder == finder) & (part.noise == "clean")]
        every = part[part.finder == finder]
        same = rows.set_index(["set", "noise", "seed"]).ap
        shared = mine.reindex(same.index)
        ahead = f"{100 * (shared > same).mean():.0f}%" if finder != OURS else ""
        lines.append(
            {
                "finder": finder,
                "cells": len(rows),
                "AP": f"{rows.ap.mean():.3f}",
                "ours there": f"{shared.mean():.3f}",
                "ours ahead": ahead,
                "F1": f"{rows.f1.mean():.3f}",
                "rate error": f"{every.rate_error.mean():.3f}",
                "ECE": f"{every.ece.mean():.3f}",
                "Brier": f"{every.brier.mean():.3f}",
                "clean flagged": f"{100 * clean.flagged.mean():.1f}%",
                "at worst": f"{100 * clean.flagged.max():.0f}%",
                "CPU s": f"{rows.seconds.mean():.1f}",
            }
        )
    kinds = noisy[noisy.finder == OURS].groupby("noise", sort=False).agg(AP=("ap", "mean"), F1=("f1", "mean"))
    best = noisy[noisy.finder.str.startswith("cleanlab")].groupby(["finder", "noise"]).ap.mean()
    kinds["best cleanlab AP"] = best.groupby("noise").max()
    return f"{markdown(pd.DataFrame(lines))}\n\n{markdown(kinds.round(3).reset_index())}\n\n{weak(noisy)}"


def weak(noisy: pd.DataFrame) -> str:
    mine = noisy[noisy.finder == OURS]
    low, high = mine[mine.f1 < 0.3], mine[mine.f1 >= 0.5]
    return (
        f"`weak` is set in {int(low.weak.sum())} of {len(low)} cells with F1 < 0.3 and in"
        f" {int(high.weak.sum())} of {len(high)} cells with F1 >= 0.5."
    )


def classified(part: pd.DataFrame) -> str:
    """One line per classifier, beside ours in the same cells, and regret against the best rival of a cell."""
    cells = {what: part.pivot_table(what, ["set", "noise", "seed"], "model", sort=False) for what in MEASURES}
    accuracy, is_clean = cells["accuracy"], cells["accuracy"].index.get_level_values("noise") == "clean"
    mean = part.groupby(["set", "noise", "model"], sort=False).accuracy.mean().unstack("model")
    rivals = [name for name in mean if not name.startswith(OURS)]
    regret = mean.rsub(mean[rivals].max(axis=1), axis=0)
    failed = part[part.failed.fillna("") != ""].groupby("model").size()
    lines = []
    for name in by_lead(accuracy[~is_clean]):
        there = accuracy[name].notna().to_numpy()
        line = {"model": name, "cells": int(there.sum())}
        for what, rows in (("clean", there & is_clean), ("noisy", there & ~is_clean)):
            line |= {
                what: f"{accuracy[name][rows].mean():.2f}",
                f"ours, {what}": f"{accuracy[OURS][rows].mean():.2f}",
            }
        noisy = there & ~is_clean
        line |= {
            "noisy, balanced": f"{cells['balanced'][name][noisy].mean():.2f}",
            "ours, balanced": f"{cells['balanced'][OURS][noisy].mean():.2f}",
            "regret, 95th percentile": f"{np.nanpercentile(regret[name], 95):.1f}",
            "worst": f"{regret[name].max():.1f}",
            "failed": int(failed.get(name, 0)),
            "CPU s": f"{cells['seconds'][name].mean():.1f}",
        }
        lines.append(line)
    kinds = ahead(accuracy, [name for name in by_lead(accuracy[~is_clean]) if name in rivals])
    return f"{markdown(pd.DataFrame(lines))}\n\n{markdown(kinds)}"


def by_lead(accuracy: pd.DataFrame) -> list[str]:
    """Ours, then the others, the best of the cells it has first."""
    lead = accuracy.sub(accuracy[OURS], axis=0).mean().drop(OURS)
    return [OURS, *lead.sort_values(ascending=False).index]


def ahead(accuracy: pd.DataFrame, rivals: list[str]) -> pd.DataFrame:
    """How many points ours is ahead of each rival in the cells that it has too, by kind of noise."""
    table = accuracy[rivals].rsub(accuracy[OURS], axis=0).groupby("noise", sort=False).mean().T
    shown = table.round(2).astype(object).where(table.notna(), "")
    return shown.rename_axis("ours ahead of, in points").reset_index()


def markdown(table: pd.DataFrame) -> str:
    head = [str(name) for name in table.columns]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in table.to_numpy()])
