"""Figures of the papers that need no training: emphasis curves and initial margins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .curve_panels import CurveFigure
from .curve_panels import draw as draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _gr(*settings: tuple[float, float]) -> list[str]:
    return [f"gr(beta={beta}, lam={lam})" for beta, lam in settings]


TABLE8 = ["ce", "sce(q=0.7)", "gce(q=0.3)", "aul(a=1.1, q=5)", "agce(a=0.1, q=0.1)", "mae"]
TABLE8_INFERIOR = ["aul(a=3, q=0.7)", "agce(a=1.6, q=2)"]
TABLE12 = ["ce", "sce(q=0.95)", "gce(q=0.4)", "aul(a=2, q=2)", "mae", "agce(a=3, q=4)"]

_GR1 = {
    "a": ["ce", "mae", "gce(q=0.7)", *_gr((2, 0), (8, 0.5), (12, 1))],
    "λ = 0.5": _gr((4, 0.5), (8, 0.5), (12, 0.5), (16, 0.5)),
    "λ = 2": _gr((12, 2), (16, 2), (20, 2), (24, 2)),
    "c": _gr((8, 0.4), (8, 0.5), (8, 1), (8, 2), (8, 4)),
}
CURVE_FIGURES: dict[str, CurveFigure] = {
    "gr.figure1": CurveFigure(
        "GR Figure 1: focus and spread of the weight",
        {
            "a: GR, CCE, MAE, GCE": _GR1["a"],
            "b: λ = 0.5, many spreads": _GR1["λ = 0.5"],
            "b: λ = 2, many spreads": _GR1["λ = 2"],
            "c: β = 8, the focus moves with λ": _GR1["c"],
        },
        kind="weight",
    ),
    "gr.figure1a": CurveFigure(
        "GR Figure 1a: GR, CCE, MAE, GCE",
        {"": _GR1["a"]},
        kind="weight",
    ),
    "gr.figure1b": CurveFigure(
        "GR Figure 1b: one focus, many spreads",
        {words: _GR1[words] for words in ("λ = 0.5", "λ = 2")},
        kind="weight",
    ),
    "gr.figure1c": CurveFigure(
        "GR Figure 1c: β = 8, the focus moves with λ",
        {"": _GR1["c"]},
        kind="weight",
    ),
    "imae.figure1": CurveFigure(
        "IMAE Figure 1: CCE, MAE and IMAE", {"": ["ce", "mae", "imae(T=8)"]}, kind="weight"
    ),
    "imae.figure3": CurveFigure(
        "IMAE Figure 3: the loss as the area from p to 1, cut at the saturation (uncut it diverges)",
        {"": ["ce", "mae", "imae(T=2)", "imae(T=4)", "imae(T=8)"]},
        kind="value",
    ),
    "imae.figure5": CurveFigure(
        "IMAE Figure 5: T sets the spread",
        {"": [f"imae(T={T})" for T in (0, 0.5, 1, 2, 4, 8)]},
        kind="weight",
    ),
    "curriculum.figure2": CurveFigure(
        "Curriculum Figure 2: losses of Table 2, at their maximum 1",
        {"tuned": TABLE8, "inferior settings": [*TABLE8_INFERIOR, "mae"]},
        x="margin",
        kind="unit",
        classes=(100, 10),
    ),
    "curriculum.figure5": CurveFigure(
        "Curriculum Figure 5: what the hyper-parameters do",
        {
            "GCE": [f"gce(q={q})" for q in (0.1, 0.3, 0.5, 0.7, 1)],
            "SCE": [f"sce(q={q})" for q in (0.1, 0.5, 0.7, 0.95, 1)],
            "AUL": ["aul(a=1.1, q=5)", "aul(a=2, q=2)", "aul(a=3, q=0.7)", "aul(a=1.5, q=0.9)"],
            "AGCE": ["agce(a=0.1, q=0.1)", "agce(a=0.6, q=0.6)", "agce(a=1.6, q=2)", "agce(a=1, q=1.5)"],
            "AEL": [f"ael(q={q})" for q in (0.2, 0.5, 1, 2.5)],
            "TCE": [f"tce(order={n})" for n in (1, 2, 4, 10, 50)],
            "focal": [f"focal(gamma={g})" for g in (0, 0.5, 1, 2, 4)],
            "CE and MAE": ["ce", "mae"],
        },
        x="margin",
        classes=(100,),
    ),
    "curriculum.figure6": CurveFigure(
        "Curriculum Figure 6: margins before training, simulated with logits N(0, 1) and of a network",
        {"": []},
        x="margin",
        kind="start",
        classes=(10, 100, 1000),
    ),
    "curriculum.figure7": CurveFigure(
        "Curriculum Figure 7: MAE as it is, shifted and scaled, 100 classes",
        {"": ["mae", "shift(mae, tau=2.6018)", "scale(mae, tau=2.6018)"]},
        x="margin",
        kind="unit",
        classes=(100, 10),
    ),
    "curriculum.figure8": CurveFigure(
        "Curriculum Figure 8: losses of Table 5, at their maximum 1",
        {"": TABLE12},
        x="margin",
        kind="unit",
        classes=(10,),
    ),
}


def draw(name: str) -> Figure:
    """Draw one figure by name."""
    if name not in CURVE_FIGURES:
        raise ValueError(f"unknown figure {name!r} (known: {', '.join(CURVE_FIGURES)})")
    return draw_panels(CURVE_FIGURES[name])
