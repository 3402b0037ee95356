"""Figures of the papers that plot runs: which function of the report draws them, and of which runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ...losses.curves.drawing import COLOURS
from ...report import (
    plot_class_accuracy,
    plot_confidence,
    plot_confusion,
    plot_features,
    plot_margin_ridges,
    plot_prediction_counts,
    plot_sample_sheet,
    plot_subset_accuracy,
    plot_tau,
    plot_test_accuracy,
)
from .run_curves import (
    plot_class_accuracy_at_stages,
    plot_intact_accuracy,
    plot_relative_update_scales,
    plot_train_accuracy,
    plot_update_scales,
)
from .run_figure import Plot, RunFigure, Selection

BOTH = (plot_test_accuracy, plot_train_accuracy)
BOTH_BY_STEPS = tuple(partial(plot, x="iteration") for plot in BOTH)
SUBSETS = partial(plot_subset_accuracy, x="iteration")
CLASS3 = (partial(plot_confidence, of=3), plot_prediction_counts)
SL = "SL · alpha=0.1 · A=-6"
RATES = {7: "symmetric 0.2", 8: "symmetric 0.4", 9: "symmetric 0.6", 10: "symmetric 0.8"}
NAL_NOISE = {1: "symmetric 0.4", 3: "symmetric 0.8", 5: "asymmetric 0.4"}
GREEN, ORANGE = COLOURS[2], COLOURS[5]
"""Wrong and right labels in Curriculum Fig. 3, 9 and 10."""
FIRST, MORE = ("CE", "AUL", "MAE"), ("SCE", "GCE", "AGCE")
"""Losses of Curriculum Fig. 3 and 9, and of Fig. 10; the text does not name them: chosen."""


def _figure(title: str, plots: tuple[Plot, ...], *of: Selection, **options: Any) -> RunFigure:
    return RunFigure(title, plots, of, **options)


def _ridges(losses: tuple[str, ...], *columns: str) -> RunFigure:
    """A line of pictures for each noise, as in the paper."""
    of = [
        Selection(f"curriculum.{'figures' if column.startswith('asym') else 'table5'}", losses, (column,))
        for column in columns
    ]
    plot = partial(plot_margin_ridges, colours=(ORANGE, GREEN), scales=True)
    options: dict[str, Any] = {"each": True, "final": True, "size": (7.2, 5.6)}
    return _figure("Margins of right (orange) and wrong (green) labels", (plot,), *of, **options)


def _nal_labels(number: int, which: str) -> RunFigure:
    plot = partial(plot_confusion, labels=which)
    of = Selection("nal.figures", ("CIFAR-10 · NAL",), (NAL_NOISE[number],))
    words = "given" if which == "given" else "NAL estimates them"
    return _figure(f"Labels as {words}, {NAL_NOISE[number]}", (plot,), of, each=True)


def _nal_curves(data: str, plot: Plot) -> RunFigure:
    return _figure(f"CE and NAL on {data}", (plot,), Selection("nal.figures", (data,), ("symmetric 0.4",)))


def _nal_attention(stage: int) -> RunFigure:
    of = Selection("nal.figures", ("CIFAR-10 · NAL",), ("symmetric 0.4",))
    return _figure(f"Attention, stage {stage} of 3", (partial(plot_tau, stage=stage),), of, each=True)


def _t_curves(plot: Plot, rows: tuple[str, ...], *columns: str) -> RunFigure:
    return _figure(
        "IMAE by T", (partial(plot, x="iteration"),), Selection("imae.figures", rows, columns), by="noise"
    )


def _sheet(table: str, noise: str) -> RunFigure:
    of = Selection(table, ("CCE",), (noise,))
    return _figure("Training samples", (plot_sample_sheet,), of, each=True, size=(8.4, 5.0))


def _clean(network: str) -> RunFigure:
    return _figure(f"Clean labels, {network}", BOTH, Selection("gr.figures", (network,), ("clean",)))


def _sl(title: str, plots: tuple[Plot, ...], rows: tuple[str, ...], *columns: str) -> RunFigure:
    return _figure(title, plots, Selection("sl.figures", rows, columns), each=True)


def _sweep(title: str, *rows: str) -> RunFigure:
    of = Selection("sl.figures", rows, ("symmetric 0.6",))
    return _figure(f"{title}, 60% symmetric", (plot_test_accuracy,), of)


_NOISY = tuple(RATES.values())
RUN_FIGURES: Mapping[str, RunFigure] = {
    "gr.figure2": _figure(
        "GR by emphasis focus, ResNet-56", BOTH_BY_STEPS, Selection("gr.table3", (), _NOISY[:3]), by="noise"
    ),
    "gr.figure3": _sheet("gr.table3", "symmetric 0.4"),
    "gr.figure4": _clean("ResNet-20"),
    "gr.figure5": _clean("ResNet-56"),
    "gr.figure6": _figure("GR by emphasis focus, 80%", BOTH_BY_STEPS, Selection("gr.table3", (), _NOISY[3:])),
    **{
        f"gr.figure{number}": _figure(
            f"GR by focus and spread, {noise}", BOTH, Selection("gr.figures", (), (noise,)), by="lam"
        )
        for number, noise in RATES.items()
    },
    "imae.figure4": _figure(
        "Subsets, 40%", (SUBSETS,), Selection("imae.table6", (), ("symmetric 0.4",)), each=True
    ),
    "imae.figure6": _t_curves(plot_test_accuracy, (), "clean", "symmetric 0.4"),
    "imae.figure7": _t_curves(plot_train_accuracy, (), "clean", "symmetric 0.4"),
    "imae.figure8": _t_curves(plot_intact_accuracy, ("T=4", "T=8", "T=16"), "symmetric 0.4"),
    "imae.figure9": _sheet("imae.table1", "symmetric 0.4"),
    "imae.figure10": _figure(
        "Subsets, 80%", (SUBSETS,), Selection("imae.table6", (), ("symmetric 0.8",)), each=True
    ),
    "sl.figure1": _sl(
        "Accuracy by class", (plot_class_accuracy,), ("CE", "LSR", SL), "clean", "symmetric 0.4"
    ),
    "sl.figure2": _sl("Features", (plot_features,), ("CE", SL), "clean", "symmetric 0.4"),
    "sl.figure3": _sl("Three stages", (plot_class_accuracy_at_stages,), ("CE",), "clean", "symmetric 0.4"),
    "sl.figure4": _sl("Class 3 under CE", CLASS3, ("CE",), "symmetric 0.4"),
    "sl.figure5": _sl("By class, 60%", (plot_class_accuracy,), ("CE", SL), "symmetric 0.6"),
    "sl.figure6": _sl("Class 3 under SL", CLASS3, (SL,), "symmetric 0.4"),
    "sl.figure7": _sl("Features, 60%", (plot_features,), ("CE", SL), "symmetric 0.6"),
    "sl.figure8a": _sweep("SL by alpha, A = -6", "A=-6"),
    "sl.figure8b": _sweep("SL by A, alpha = 0.1", "alpha=0.1"),
    "sl.figure8c": _sweep("SL by A, alpha = 1", "alpha=1"),
    "sl.figure9a": _sweep("Ablation of SL", "CE", "RCE", "5CE", "5RCE", SL),
    "sl.figure9b": _figure(
        "SL and others, 60%", (plot_test_accuracy,), Selection("sl.table1", ("CIFAR-10",), ("symmetric 0.6",))
    ),
    **{f"nal.figure{number}": _nal_labels(number, "given") for number in NAL_NOISE},
    **{f"nal.figure{number + 1}": _nal_labels(number, "targets") for number in NAL_NOISE},
    "nal.figure7": _nal_curves("CIFAR-100", plot_train_accuracy),
    "nal.figure8": _nal_curves("CIFAR-100", plot_test_accuracy),
    "nal.figure9": _nal_curves("CIFAR-10", plot_train_accuracy),
    "nal.figure10": _nal_curves("CIFAR-10", plot_test_accuracy),
    **{f"nal.figure{10 + stage}": _nal_attention(stage) for stage in (1, 2, 3)},
    "curriculum.figure1a": _figure(
        "Update scale over its maximum, CIFAR-100",
        (plot_relative_update_scales,),
        Selection("curriculum.table2", ("CIFAR-100 · ResNet-34 · CE", "CIFAR-100 · ResNet-34 · NCE")),
    ),
    "curriculum.figure1b": _figure(
        "Update scale of AUL, CIFAR-100",
        (plot_update_scales,),
        Selection("curriculum.table2", ("CIFAR-100 · ResNet-34 · AUL*",)),
    ),
    "curriculum.figure3": _ridges(FIRST, "symmetric 0.4"),
    "curriculum.figure4a": _figure(
        "Constant rates on MNIST, CE and MAE",
        (plot_test_accuracy,),
        Selection("curriculum.figures", ("rate 0.01",), ("symmetric 0.4",)),
    ),
    "curriculum.figure4b": _figure(
        "Constant rates on MNIST, CE",
        (plot_test_accuracy,),
        Selection("curriculum.figures", ("CE · rate*",), ("symmetric 0.4",)),
    ),
    "curriculum.figure9": _ridges(FIRST, "symmetric 0.2", "human 0.4", "asymmetric 0.4"),
    "curriculum.figure10": _ridges(MORE, "symmetric 0.4", "human 0.4", "asymmetric 0.4"),
}
