"""Questions the tables leave open: rows of ours beside numbers of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from . import curriculum, imae
from .filling import Runs
from .record import printed
from .table import Cell, Table

SATURATIONS = {"never": "None", "at 17.33": "", "at 6.24": "6.24"}
"""Where the emphasis ends: as printed, where float32 rounds p to 1 (the default), where bfloat16 does."""


def _saturations() -> Iterator[Cell]:
    cells = [cell for cell in imae.TABLES["imae.table6"].cells if cell.row == "ResNet-20 · IMAE"]
    for words, value in SATURATIONS.items():
        for cell in cells:
            if isinstance(cell.filling, Runs):
                loss = str(cell.filling.settings["loss"])
                ending = f"{loss[:-1]}, saturation={value})" if value else loss
                filling = replace(cell.filling, settings={**cell.filling.settings, "loss": ending})
                yield replace(cell, row=f"emphasis ends {words}", filling=filling)


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
