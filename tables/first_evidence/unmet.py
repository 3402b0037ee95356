"""Numbers of the papers that our runs miss: by how much, and what else was tried."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from finished import Run, Setting, best_run, percent, subsets
from page_tables import (
    ENDS,
    SYMMETRIC,
    TABLE3,
    Found,
    Line,
    loss_of_imae,
    losses_of_table3,
    losses_of_table5,
    lost_by_seed,
    printed_of_table5,
    printed_of_table6,
    rows_of_table6,
)

from noiseproof.papers import get

POINTS, SNR = 1.0, 0.05
"""What is off by more is not met."""
NOTHING = "nothing yet"


def unmet(found: Found) -> Iterator[Line]:
    yield ["table", "labels", "row", "ours less printed", "classes at 0", "what was tried"]
    yield from _of_table5(found)
    yield from _of_table3(found)
    yield from _of_table6(found)


def gaps_of_table5(row: str, column: str, runs: Sequence[Run]) -> dict[str, float]:
    """Of the best run."""
    accuracy, snr = printed_of_table5(row, column)
    ours = best_run(runs)
    gaps = {"accuracy": percent(ours, "final_test_accuracy") - accuracy}
    return gaps | ({"snr": float(ours["snr"]) - snr} if snr is not None else {})


def gaps_of_table6(row: str, column: str, runs: Sequence[Run]) -> dict[str, float]:
    ours = [subsets(run) for run in runs]
    wanted = printed_of_table6(row, column)
    return {name: statistics.fmean(one[name] for one in ours) - value for name, value in wanted.items()}


def missed(gaps: dict[str, float]) -> dict[str, float]:
    return {name: gap for name, gap in gaps.items() if abs(gap) > (SNR if name == "snr" else POINTS)}


def in_words(gaps: dict[str, float]) -> str:
    """``accuracy -0.83, snr +0.012``"""
    return ", ".join(f"{name} {gap:+.{3 if name == 'snr' else 2}f}" for name, gap in gaps.items())


def one_try(loss: str, gaps: dict[str, float], runs: Sequence[Run]) -> str:
    lost = lost_by_seed(runs)
    return f"`{loss}`: {in_words(gaps) or 'all met'}" + (f"; classes at 0: {lost}" if lost != "0" else "")


def _of_table5(found: Found) -> Iterator[Line]:
    for column in ("clean", SYMMETRIC, "human 0.4"):
        for row in get("curriculum.table5").rows:
            own, *others = losses_of_table5(row)
            runs = found.get(Setting(column, "cnn8", own), ())
            if runs and (off := missed(gaps_of_table5(row, column, runs))):
                tries = {loss: found.get(Setting(column, "cnn8", loss)) for loss in others}
                told = [
                    one_try(loss, gaps_of_table5(row, column, tried), tried)
                    for loss, tried in tries.items()
                    if tried
                ]
                yield _line("Curriculum Table 5", column, row, off, runs, told)


def _of_table3(found: Found) -> Iterator[Line]:
    for row, loss in losses_of_table3().items():
        if runs := found.get(Setting(SYMMETRIC, "resnet34", loss), ()):
            ours = statistics.fmean(percent(run, "final_test_accuracy") for run in runs)
            if off := missed({"accuracy": ours - get(TABLE3).cell(row, SYMMETRIC).printed}):
                told = [f"{NOTHING}; the paper quotes it"] if row == "CE" else []
                yield _line("Curriculum Table 3", SYMMETRIC, row, off, runs, told)


def _of_table6(found: Found) -> Iterator[Line]:
    for column, row, loss in rows_of_table6():
        runs = found.get(Setting(column, "resnet20", loss), ())
        if runs and (off := missed(gaps_of_table6(row, column, runs))):
            others = [loss_of_imae(column, end) for end in ENDS] if row == "IMAE" else []
            tries = {name: found.get(Setting(column, "resnet20", name)) for name in others if name != loss}
            told = [
                one_try(name, missed(gaps_of_table6(row, column, tried)), tried)
                for name, tried in tries.items()
                if tried
            ]
            yield _line("IMAE Table 6", column, row, off, runs, told)


def _line(table: str, column: str, row: str, off: dict[str, float], runs: Sequence[Run], told: Line) -> Line:
    return [table, column, row, in_words(off), lost_by_seed(runs), ". ".join(told) or NOTHING]
