"""Tables of the page: printed beside ours, a line for every setting with a finished run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from finished import SUBSETS, Run, Setting, best_run, lost_classes, mean_of, percent, subsets

from noiseproof.papers import get

TABLE5, TABLE6, TABLE3 = "curriculum.table5", "imae.table6", "curriculum.table3"
ENDS = {"never": ", saturation=None", "at 17.33": "", "at 6.24": ", saturation=6.24"}
"""Where the emphasis of IMAE ends, in words and in the loss."""
NOISES = ("clean", "symmetric 0.4", "symmetric 0.8")
SYMMETRIC = "symmetric 0.4"

Found = Mapping[Setting, Sequence[Run]]
Line = list[str]


def losses_of_table5(row: str) -> list[str]:
    """That of the table, and those of other readings of the row."""
    own = get(TABLE5).cell(row, "clean · test %").filling.settings["loss"]
    readings = get("questions.readings")
    others = [name for name in readings.rows if name.split(" · ")[0] == row]
    return [own, *(readings.cell(name, "clean · test %").filling.settings["loss"] for name in others)]


def printed_of_table5(row: str, column: str) -> tuple[float, float | None]:
    """Accuracy and snr; the accuracy under noise is clean + diff, clean labels have no snr."""
    cell = get(TABLE5).cell
    clean = cell(row, "clean · test %").printed
    if column == "clean":
        return clean, None
    return clean + cell(row, f"{column} · diff").printed, cell(row, f"{column} · snr").printed


def table5(found: Found, column: str) -> Iterator[Line]:
    """The best of the runs, as the paper has it, and the mean of all."""
    noisy = column != "clean"
    snrs = ["printed snr", "ours snr"] if noisy else []
    yield ["row", "loss", "runs", "printed last", "ours last", "mean", "ours best", *snrs, "classes at 0"]
    for row in get(TABLE5).rows:
        accuracy, snr = printed_of_table5(row, column)
        for loss in losses_of_table5(row):
            if runs := found.get(Setting(column, "cnn8", loss)):
                ours = best_run(runs)
                last, best = (f"{percent(ours, f'{name}_test_accuracy'):.2f}" for name in ("final", "best"))
                numbers = [f"{accuracy:.2f}", last, mean_of_many(runs), best]
                numbers += [f"{snr:.2f}", f"{float(ours['snr']):.3f}"] if noisy else []
                yield [row, f"`{loss}`", str(len(runs)), *numbers, lost_by_seed(runs)]


def mean_of_many(runs: Sequence[Run]) -> str:
    values = [percent(run, "final_test_accuracy") for run in runs]
    return mean_of(values) if len(values) > 1 else "-"


def lost_by_seed(runs: Sequence[Run]) -> str:
    """``0``, or ``1, 0, 2`` of three runs."""
    return ", ".join(str(lost_classes(run)) for run in runs)


def loss_of_imae(column: str, end: str) -> str:
    return f"imae(T={0.5 if column == 'clean' else 8.0}{ENDS[end]})"


def rows_of_table6() -> Iterator[tuple[str, str, str]]:
    """Labels, row and loss."""
    for column in NOISES:
        yield from ((column, row, loss) for row, loss in (("CCE", "ce"), ("MAE", "mae")))
        yield column, "IMAE", loss_of_imae(column, "at 17.33")


def table6(found: Found) -> Iterator[Line]:
    yield ["labels · row", "loss", "runs", *SUBSETS, "classes at 0"]
    for column, row, loss in rows_of_table6():
        if runs := found.get(Setting(column, "resnet20", loss)):
            yield [f"{column} · {row}", f"`{loss}`", str(len(runs)), *beside(row, column, runs)]


def ends_of_the_emphasis(found: Found) -> Iterator[Line]:
    yield ["labels · the emphasis ends", "loss", "runs", *SUBSETS, "classes at 0"]
    for column in NOISES:
        for end in ENDS:
            loss = loss_of_imae(column, end)
            if runs := found.get(Setting(column, "resnet20", loss)):
                yield [f"{column} · {end}", f"`{loss}`", str(len(runs)), *beside("IMAE", column, runs)]


def beside(row: str, column: str, runs: Sequence[Run]) -> Line:
    """*Printed / ours* for every number of IMAE Table 6, and the lost classes."""
    wanted, ours = printed_of_table6(row, column), [subsets(run) for run in runs]
    pairs = [
        f"{wanted[name]:.1f} / {mean_of([one[name] for one in ours])}" if name in wanted else "-"
        for name in SUBSETS
    ]
    return [*pairs, lost_by_seed(runs)]


def printed_of_table6(row: str, column: str) -> dict[str, float]:
    names = [name for name in SUBSETS if (column, name) != ("clean", "noisy subset")]
    cell = get(TABLE6).cell
    return {name: cell(f"ResNet-20 · {row}", f"{column} · {name} %").printed for name in names}


def losses_of_table3() -> dict[str, str]:
    """Row to loss; CE is quoted there and has a table of ours."""
    rows = {"CE": get("questions.ce").cell("CE", SYMMETRIC)}
    rows |= {row: get(TABLE3).cell(row, SYMMETRIC) for row in ("MAE", "MAE shift", "MAE scale")}
    return {row: cell.filling.settings["loss"] for row, cell in rows.items()}


def table3(found: Found) -> Iterator[Line]:
    yield ["row", "loss", "runs", "printed last", "ours last", "ours best", "noisy labels", "classes at 0"]
    for row, loss in losses_of_table3().items():
        if runs := found.get(Setting(SYMMETRIC, "resnet34", loss)):
            cell = get(TABLE3).cell(row, SYMMETRIC)
            quoted = ", quoted" if row == "CE" else ""
            names = ("final_test_accuracy", "best_test_accuracy", "train_noisy_subset")
            numbers = [mean_of([percent(run, name) for run in runs]) for name in names]
            printed = f"{cell.printed:.2f} ± {cell.std:.2f}{quoted}"
            yield [row, f"`{loss}`", str(len(runs)), printed, *numbers, lost_by_seed(runs)]
