"""All tables by name: those of the papers, and ours with the runs of figures and of open questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..grammar import unknown
from . import curriculum, gr, imae, nal, sl
from .cells import JOINT, Cell, Runs, Table
from .table_builder import cropped, notes, printed, shifted

RunCell = tuple[str, str, Mapping[str, Any]]
"""Row, column and settings of a run."""
CURVE = "a curve"
"""The printed value of a cell whose run is drawn in a figure."""
SYMMETRIC, ASYMMETRIC = "symmetric(0.4)", 'asymmetric(0.4, map="cifar10")'
GRID = {0.0: (0.5, 1, 2, 4), 0.5: (4, 8, 12, 16), 1.0: (8, 12, 16, 20), 2.0: (12, 16, 20, 24)}
"""Lambda -> betas of the grid."""
TEMPERATURES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
ALPHAS, CONSTANTS = (0.01, 0.1, 0.5, 1.0), (-8.0, -6.0, -4.0, -2.0)
ABLATION = {"RCE": "rce(A=-6.0)", "5CE": "5*ce", "5RCE": "5*rce(A=-6.0)"}
GR = {**gr.RECIPE, "data": "cifar10", "augment": cropped("CIFAR-10")}
IMAE = {**imae.CIFAR10, "data": "cifar10", "model": "resnet20", "augment": cropped("CIFAR-10")}
SL = {**sl.COMMON, **sl.RECIPES["CIFAR-10"], "data": "cifar10", "model": "cnn8"}
SL |= {"augment": shifted("CIFAR-10", sl.SHIFT)}
NAL = {**nal.RECIPE, "model": "resnet34"}
CIFAR10 = {"data": "cifar10", "augment": cropped("CIFAR-10")}
CIFAR100 = {"data": "cifar100", "augment": cropped("CIFAR-100")}


def _gr() -> Iterator[RunCell]:
    for words, model in {"ResNet-20": "resnet20", "ResNet-56": "resnet56"}.items():
        losses = {"CCE": "ce", **{f"β={beta:g}": gr.gr(beta, 0.0) for beta in GRID[0.0]}}
        for row, loss in losses.items():
            yield f"{words} · {row}", "clean", {**GR, "model": model, "loss": loss}
    for rate in (0.2, 0.4, 0.6, 0.8):
        for lam, betas in GRID.items():
            for beta in betas:
                noisy = {"model": "resnet56", "loss": gr.gr(beta, lam), "noise": f"symmetric({rate})"}
                yield f"ResNet-56 · λ={lam:g} · β={beta:g}", f"symmetric {rate}", {**GR, **noisy}


def _imae() -> Iterator[RunCell]:
    for column, noise in {"clean": None, "symmetric 0.4": SYMMETRIC}.items():
        for T in TEMPERATURES:
            yield f"T={T:g}", column, {**IMAE, "noise": noise, "loss": f'imae(T={T}, normalize="none")'}


def _sl() -> Iterator[RunCell]:
    yield "CE", "clean", {**SL, "exact_noise": False, "loss": "ce"}
    proposed = "sl(alpha=0.1, beta=1.0, A=-6.0)"
    named = {"CE": "ce", "LSR": sl.LOSSES["LSR"], "SL · alpha=0.1 · A=-6": proposed}
    for row, loss in named.items():
        yield row, "symmetric 0.4", {**SL, "noise": SYMMETRIC, "loss": loss}
    pairs = [(alpha, -6.0) for alpha in ALPHAS] + [(alpha, A) for alpha in (0.1, 1.0) for A in CONSTANTS]
    swept = {f"SL · alpha={alpha:g} · A={A:g}": f"sl(alpha={alpha}, beta=1.0, A={A})" for alpha, A in pairs}
    for row, loss in {"CE": "ce", **ABLATION, **swept}.items():
        yield row, "symmetric 0.6", {**SL, "noise": "symmetric(0.6)", "loss": loss}


def _attention(lam: float, alpha: float = 0.9) -> dict[str, Any]:
    return {**NAL, **nal.attention(lam, alpha)}


def _nal() -> Iterator[RunCell]:
    noises = {"symmetric 0.4": SYMMETRIC, "symmetric 0.8": "symmetric(0.8)", "asymmetric 0.4": ASYMMETRIC}
    for column, noise in noises.items():
        yield "CIFAR-10 · NAL", column, {**_attention(0.5), **CIFAR10, "noise": noise}
    large = {**CIFAR100, "noise": SYMMETRIC}
    yield "CIFAR-10 · CE", "symmetric 0.4", {**NAL, **CIFAR10, "noise": SYMMETRIC, "loss": "ce"}
    yield "CIFAR-100 · NAL", "symmetric 0.4", {**_attention(10.0), **large}
    yield "CIFAR-100 · CE", "symmetric 0.4", {**NAL, **large, "loss": "ce"}


def _curriculum() -> Iterator[RunCell]:
    for cell in curriculum.TABLES["curriculum.table5"].cells:
        if cell.column.startswith("clean") and isinstance(cell.filling, Runs):
            yield cell.row, "asymmetric 0.4", {**cell.filling.settings, "noise": ASYMMETRIC}
    digits = {**curriculum.COMMON, "data": "mnist", "model": "cnn4", "augment": "normalize(mnist)"}
    digits |= {"schedule": "constant", "epochs": 200, "weight_decay": 1e-3, "noise": SYMMETRIC}
    for row, loss, lr in (("MAE", "0.5*mae", 0.01), *(("CE", "ce", lr) for lr in (0.001, 0.01, 0.1))):
        yield f"{row} · rate {lr:g}", "symmetric 0.4", {**digits, "loss": loss, "lr": lr}


def _saturations() -> Iterator[Cell]:
    """Saturations of IMAE: none, as printed; where float32 rounds p to 1 (default); where bfloat16 does."""
    cells = [cell for cell in imae.TABLES["imae.table6"].cells if cell.row == "ResNet-20 · IMAE"]
    endings = {"never": ", saturation=None", "at 17.33": "", "at 6.24": ", saturation=6.24"}
    for words, ending in endings.items():
        for cell in cells:
            if isinstance(cell.filling, Runs):
                settings = {**cell.filling.settings}
                settings["loss"] = f"{settings['loss'][:-1]}{ending})"
                filling = replace(cell.filling, settings=settings)
                yield replace(cell, row=f"emphasis ends {words}", filling=filling)


def _cross_entropy() -> Iterator[Cell]:
    """CE in the recipe of the other rows of Curriculum Table 3; the paper quotes its numbers."""
    table = curriculum.TABLES["curriculum.table3"]
    for cell, record in zip(table.cells, printed("curriculum")["table3"], strict=True):
        if record.method == "CE":
            yield replace(cell, row="CE", filling=Runs(curriculum.settings(record), (0, 1, 2)))


def _scaling() -> Iterator[RunCell]:
    losses = {"MAE": "mae", "2 MAE": "2*mae", "4 MAE": "4*mae", "IMAE": 'imae(T=8.0, normalize="none")'}
    for row, loss in losses.items():
        yield row, "symmetric 0.4", {**IMAE, "noise": SYMMETRIC, "loss": loss}


def _chosen() -> Iterator[RunCell]:
    """Runs with a tenth of the training data, including wrong labels, held out for validation."""
    held_out = {"noise": SYMMETRIC, "validation": 0.1}
    for T in TEMPERATURES:
        loss = f'imae(T={T}, normalize="none")'
        yield f"IMAE · T={T:g}", "symmetric 0.4", {**IMAE, **held_out, "loss": loss}
    tried = [(lam, 0.9) for lam in (0.01, 0.05, 0.1, 0.5, 5.0, 10.0, 50.0)] + [(0.5, 0.7), (0.5, 0.99)]
    for lam, alpha in tried:
        settings = {**_attention(lam, alpha), **CIFAR10, **held_out}
        yield f"NAL · λ={lam:g}, alpha={alpha:g}", "symmetric 0.4", settings


def _table(name: str, title: str, runs: Iterable[RunCell], *notes: str, **metrics: str) -> Table:
    """A table with one cell per run and metric; ``metrics`` maps a metric to the end of its column name."""
    cells = {}
    for row, column, settings in runs:
        for metric, ending in (metrics or {"test_accuracy": ""}).items():
            place = f"{column}{ending and JOINT}{ending}"
            cells[row, place] = Cell(row, place, f"{metric}_%", CURVE, Runs(settings, (0,)))
    return Table(name, title, tuple(cells.values()), notes)


_ALL = (
    _table(
        "gr.figures",
        "Figures: beta with clean labels, and the grid of beta and lambda",
        _gr(),
        *notes("gr", "schedule", "normalized", "saturation"),
    ),
    _table(
        "imae.figures", "Figures: T with clean labels and 40% noise", _imae(), *notes("imae", "saturation")
    ),
    _table(
        "sl.figures",
        "Figures: class bias, alpha and A, ablation",
        _sl(),
        *notes("sl", "rates", "decay", "A", "sizes", "bootstrap", "exact"),
    ),
    _table(
        "nal.figures",
        "Figures: CE and NAL on CIFAR",
        _nal(),
        "The appendix does not say how targets are renewed; chosen: as in the public code, from epoch 60 on,"
        " in every tenth.",
    ),
    _table(
        "curriculum.figures",
        "Figures: margins under asymmetric noise, and constant rates on MNIST",
        _curriculum(),
        *notes("curriculum", "raw", "augment"),
        "How long training on MNIST is extended, which rates and noise are drawn is not in the text; chosen:"
        " 200 epochs, 40% symmetric, rates 0.001, 0.01 and 0.1.",
    ),
    Table(
        "questions.saturation",
        "IMAE on CIFAR-10 with ResNet-20: where must the emphasis end?",
        tuple(_saturations()),
        (
            "Printed numbers are those of IMAE Table 6, which has no saturation.",
            "17.33 and 6.24: the margins beyond which a probability rounds to 1 in float32 and in bfloat16.",
        ),
    ),
    _table(
        "claims.scaling",
        "CIFAR-10, ResNet-20: does a factor cure the underfitting of MAE?",
        _scaling(),
        "IMAE section 4.1; the recipe of IMAE Table 6.",
        test_accuracy="test %",
        fit_clean_subset="clean subset %",
    ),
    _table(
        "claims.choices",
        "CIFAR-10: T of IMAE, and lambda and alpha of NAL, by validation data with wrong labels",
        _chosen(),
        "How the papers choose these; what is chosen is the row with the highest validation accuracy.",
        validation_accuracy="validation %",
        test_accuracy="test %",
    ),
    Table(
        "questions.ce",
        "CE on CIFAR-100 with ResNet-34, in the recipe of Curriculum Table 3",
        tuple(_cross_entropy()),
        (
            "The paper quotes CE from Zhou et al. 2021; here it is trained as its own rows are.",
            *notes("curriculum", "raw", "augment", "tau", "cycle", "clean mae"),
        ),
    ),
)
OWN_TABLES: dict[str, Table] = {table.name: table for table in _ALL}


_OF_PAPERS = {**gr.TABLES, **imae.TABLES, **sl.TABLES, **nal.TABLES, **curriculum.TABLES}
PRINTED: dict[str, Table] = {name: table for name, table in _OF_PAPERS.items() if ":" not in name}
"""Tables of the papers."""
OTHER_READINGS: dict[str, Table] = {name: table for name, table in _OF_PAPERS.items() if ":" in name}
"""Tables in another reading of their recipe, such as ``gr.table3:printed``."""
TABLES: dict[str, Table] = {**PRINTED, **OWN_TABLES}
"""Tables of the papers, the runs behind their figures, and our own questions."""


def get(name: str | Table) -> Table:
    """A table by name; a ``Table`` is returned unchanged.

    Example:
        >>> get("sl.table1").cell("MNIST · 4-layer CNN · SL", "symmetric 0.4").printed
        98.97
        >>> get("sl.table9")
        Traceback (most recent call last):
        ValueError: unknown table 'sl.table9', did you mean 'sl.table...'? (known: gr.table1, ...
    """
    if isinstance(name, Table):
        return name
    if re.fullmatch(r"\w+\.figure\d+[a-z]?", name):
        raise ValueError(f"{name} is a figure, not a table: 'noiseproof papers figure {name}' draws it")
    known = TABLES | OTHER_READINGS
    if name not in known:
        raise ValueError(unknown("table", name, known if ":" in name else TABLES))
    return known[name]
