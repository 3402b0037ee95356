"""Questions the tables leave open: rows of ours beside numbers of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from . import curriculum, imae
from .cells import Cell, Runs, Table
from .table_builder import printed

SATURATIONS = {"never": "None", "at 17.33": "", "at 6.24": "6.24"}
"""Where the emphasis ends: as printed, where float32 rounds p to 1 (the default), where bfloat16 does."""

READINGS = {
    "SCE · its MAE is 2 (1 - p)": ("SCE", "unit_max(0.05*ce + 0.95*mae)"),
    "SCE · no unit maximum": ("SCE", "sce(q=0.95)"),
    "GCE · no unit maximum": ("GCE", "gce(q=0.4)"),
    "MAE · no unit maximum": ("MAE", "0.5*mae"),
    "AUL · no unit maximum": ("AUL", "aul(a=2.0, q=2.0)"),
    "AGCE · no unit maximum": ("AGCE", "agce(a=3.0, q=4.0)"),
}
"""Other ways to read rows of Curriculum Table 5: the row, and the loss that would be meant."""


def _saturations() -> Iterator[Cell]:
    cells = [cell for cell in imae.TABLES["imae.table6"].cells if cell.row == "ResNet-20 · IMAE"]
    for words, value in SATURATIONS.items():
        for cell in cells:
            if isinstance(cell.filling, Runs):
                loss = str(cell.filling.settings["loss"])
                ending = f"{loss[:-1]}, saturation={value})" if value else loss
                yield replace(cell, row=f"emphasis ends {words}", filling=_with_loss(cell.filling, ending))


def _readings() -> Iterator[Cell]:
    cells = curriculum.TABLES["curriculum.table5"].cells
    for words, (row, loss) in READINGS.items():
        for cell in cells:
            if cell.row == row and isinstance(cell.filling, Runs):
                yield replace(cell, row=words, filling=_with_loss(cell.filling, loss))


def _with_loss(runs: Runs, loss: str) -> Runs:
    baseline = None if runs.baseline is None else {**runs.baseline, "loss": loss}
    return replace(runs, settings={**runs.settings, "loss": loss}, baseline=baseline)


def _cross_entropy() -> Iterator[Cell]:
    """CE as the other rows of the table are trained; the paper quotes its numbers."""
    table = curriculum.TABLES["curriculum.table3"]
    for cell, record in zip(table.cells, printed("curriculum")["table3"], strict=True):
        if record.method == "CE":
            yield replace(cell, row="CE", filling=Runs(curriculum.settings(record), (0, 1, 2)))


TABLES: dict[str, Table] = {
    "questions.saturation": Table(
        "questions.saturation",
        "IMAE on CIFAR-10 with ResNet-20: where must the emphasis end?",
        tuple(_saturations()),
        (
            "Printed numbers are those of IMAE Table 6, which knows no end of the emphasis.",
            "17.33 and 6.24: the margins beyond which a probability rounds to 1 in float32 and in bfloat16.",
        ),
    ),
    "questions.readings": Table(
        "questions.readings",
        "CIFAR-10 with the 8-layer CNN: which losses do the printed numbers belong to?",
        tuple(_readings()),
        (
            "Printed numbers are those of Curriculum Table 5, which runs its rows as the paper tells them.",
            "With MAE as the sum of |p - one-hot|, 2 (1 - p), SCE(0.95) has the curve of SCE(0.9744).",
            "Without the unit maximum the learning rate is in effect smaller, 0.26 of it for SCE(0.95), 0.43"
            " for GCE(0.4), 0.25 for MAE as 1 - p, 0.38 for AUL(2, 2), and 11.2 times larger for AGCE(3, 4).",
            "A run of MAE or AGCE may leave whole classes unlearned, about nine points each: one seed says"
            " little of a best of five.",
        ),
    ),
    "questions.ce": Table(
        "questions.ce",
        "CE on CIFAR-100 with ResNet-34, in the recipe of Curriculum Table 3",
        tuple(_cross_entropy()),
        (
            "The paper quotes CE from Zhou et al. 2021; here it is trained as its own rows are.",
            *curriculum.CIFAR100,
        ),
    ),
}
