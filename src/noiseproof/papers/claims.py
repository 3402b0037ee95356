"""The 17 claims of the papers that our runs can confirm or contradict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scipy.stats import spearmanr  # type: ignore[import-untyped]

from ..losses import curve
from .tables import get
from .verdict import Check, Claim, Numbers, Point


def _cells(table: str, column: str, number: str, **rows: str) -> dict[str, Point]:
    """Points that differ in their rows, by name; underscores of a name are spaces."""
    return {name.replace("_", " "): Point(table, row, column, number) for name, row in rows.items()}


def _by(points: Mapping[str, Point], words: str) -> dict[str, Point]:
    return {f"{name} {words}": point for name, point in points.items()}


_T2 = "CIFAR-100 · ResNet-34 · "
_SMALL = "CIFAR-10 · 8-layer CNN · "
_LOSSES = {
    "CE": "ce",
    "SCE": "sce(q=0.7)",
    "GCE": "gce(q=0.3)",
    "AUL": "aul(a=1.1, q=5.0)",
    "AGCE": "agce(a=0.1, q=0.1)",
    "MAE": "mae",
    "AUL†": "aul(a=3.0, q=0.7)",
    "AGCE†": "agce(a=1.6, q=2.0)",
}
_FITS = {name: Point("curriculum.table2", _T2 + name, "clean", "corrupted") for name in _LOSSES}
_GR3 = {"CE": "CCE", "GR(12, 0.5)": "GR · λ=0.5, β=12", "GR(16, 1)": "GR · λ=1, β=16"}
_RATES = ("0.2", "0.4", "0.6", "0.8")
_LAMBDAS = {
    "0.2": {0: "GR · λ=0, β=2", 0.5: "GR · λ=0.5, β=12", 1: "GR · λ=1, β=16", 2: "GR · λ=2, β=24"},
    "0.4": {0: "GR · λ=0, β=1", 0.5: "GR · λ=0.5, β=12", 1: "GR · λ=1, β=16", 2: "GR · λ=2, β=20"},
    "0.6": {0: "GR · λ=0, β=0.5", 0.5: "GR · λ=0.5, β=12", 1: "GR · λ=1, β=12", 2: "GR · λ=2, β=12"},
    "0.8": {0: "GR · λ=0, β=0.5", 0.5: "GR · λ=0.5, β=8", 1: "GR · λ=1, β=8", 2: "GR · λ=2, β=12"},
}
_OPTIMISERS = tuple(column for column in get("imae.table8").columns)
_TEMPERATURES = (0, 0.5, 1, 2, 4, 8, 16)


def _gr3(number: str) -> dict[str, Point]:
    return {
        f"{name} {number}": Point("gr.table3", row, "symmetric 0.4", number) for name, row in _GR3.items()
    }


def _best_lambda(numbers: Numbers, rate: str) -> float:
    return max(_LAMBDAS[rate], key=lambda lam: numbers[f"λ={lam} at {rate}"])


def _loses_less_than_6(name: str) -> Check:
    return lambda n: n[f"{name} best"] - n[f"{name} final"] < 6


def _gains(after: str, before: str) -> Check:
    return lambda n: n[after] >= n[before] + 0.5


def _imae_is_best(column: str) -> Check:
    return lambda n: n[f"IMAE, {column}"] > max(n[f"{row}, {column}"] for row in ("CCE", "MAE", "GCE"))


def _rank(pairs: Sequence[tuple[float, float]]) -> float:
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "MAE underfits when classes are many; scaling it repairs this, shifting mostly",
        "Curriculum Tables 2 and 3",
        {
            "MAE, 10 classes": Point("curriculum.table2", _SMALL + "MAE", "clean", "corrupted"),
            "MAE": _FITS["MAE"],
            "CE": Point("questions.ce", "CE", "clean", "final"),
            "MAE scaled": Point("curriculum.table3", "MAE scale", "clean", "final"),
            "MAE shifted": Point("curriculum.table3", "MAE shift", "clean", "final"),
        },
        {
            "with 10 classes MAE fits 90% or more of the labels": lambda n: n["MAE, 10 classes"] >= 90,
            "with 100 classes it fits less than 15%": lambda n: n["MAE"] < 15,
            "scaled, it tests within 3 points of CE": lambda n: n["MAE scaled"] > n["CE"] - 3,
            "shifted, within 6 points": lambda n: n["MAE shifted"] > n["CE"] - 6,
        },
    ),
    Claim(
        2,
        "The emphasis at the initial margin predicts which losses underfit",
        "Curriculum section 4.1",
        _FITS,
        {
            "rank correlation with the share of fitted labels above 0.8": lambda n: (
                _rank([(curve(spec).initial_share(100), n[name]) for name, spec in _LOSSES.items()]) > 0.8
            )
        },
    ),
    Claim(
        3,
        "Multiplying MAE does not cure its underfitting; a nonlinear transform does",
        "IMAE section 4.1",
        _cells(
            "claims.scaling",
            "symmetric 0.4",
            "clean_subset",
            MAE="MAE",
            twice="2 MAE",
            four_times="4 MAE",
            IMAE="IMAE",
        ),
        {
            "MAE times 2 and 4 fit the right labels 3 points or more below IMAE": lambda n: (
                max(n["MAE"], n["twice"], n["four times"]) <= n["IMAE"] - 3
            )
        },
    ),
    Claim(
        4,
        "Under noise cross entropy ends far below its best test accuracy, GR does not",
        "GR Table 3, symmetric 0.4; IMAE Table 6",
        {**_gr3("final"), **_gr3("best")},
        {
            "CE loses more than 15 points": lambda n: n["CE best"] - n["CE final"] > 15,
            **{f"{name} loses less than 6": _loses_less_than_6(name) for name in list(_GR3)[1:]},
        },
    ),
    Claim(
        5,
        "The heavier the noise, the larger the best λ; accuracy on true training labels ranks as on tests",
        "GR Table 3",
        {
            **{
                f"λ={lam} at {rate}": Point("gr.table3", row, f"symmetric {rate}", "final")
                for rate, rows in _LAMBDAS.items()
                for lam, row in rows.items()
            },
            **{
                f"λ={lam} at 0.4, intact": Point("gr.table3", row, "symmetric 0.4", "intact")
                for lam, row in _LAMBDAS["0.4"].items()
            },
        },
        {
            "the best λ never falls from 20% to 80%": lambda n: (
                sorted(best := [_best_lambda(n, rate) for rate in _RATES]) == best
            ),
            "at 40% a λ above 0 is best": lambda n: _best_lambda(n, "0.4") > 0,
            "at 40% both accuracies rank the λ alike": lambda n: (
                _rank([(n[f"λ={lam} at 0.4"], n[f"λ={lam} at 0.4, intact"]) for lam in _LAMBDAS["0.4"]]) > 0.9
            ),
        },
    ),
    Claim(
        6,
        "Weighting all samples alike nearly matches cross entropy on clean labels and fails under noise",
        "GR Tables 2 and 3",
        {
            "CE, clean": Point("gr.table2", "CIFAR-10 · ResNet-20 · CCE", "clean", "final"),
            "β=0, clean": Point("gr.table2", "CIFAR-10 · ResNet-20 · GR · β=0", "clean", "final"),
            "β=0, 40%": Point("gr.table3", "GR · β=0", "symmetric 0.4", "final"),
            "GR(12, 0.5), 40%": Point("gr.table3", "GR · λ=0.5, β=12", "symmetric 0.4", "final"),
        },
        {
            "clean, it is within 2 points of CE": lambda n: n["β=0, clean"] > n["CE, clean"] - 2,
            "at 40% it ends 10 points or more below GR(12, 0.5)": lambda n: (
                n["β=0, 40%"] <= n["GR(12, 0.5), 40%"] - 10
            ),
        },
    ),
    Claim(
        7,
        "GR with weight decay is best on CIFAR-100 at 40%; on the small Vehicles-10 dropout helps on top",
        "GR Tables 8 and 9",
        {
            **_cells(
                "gr.table8", "symmetric 0.4", "final", GR="GR", L2="L2", both="GR+L2", three="GR+L2+Dropout"
            ),
            **_by(
                _cells("gr.table9", "symmetric 0.4", "final", both="GR+L2", three="GR+L2+Dropout"), "vehicles"
            ),
        },
        {
            "GR+L2 beats GR and L2 alone": lambda n: n["both"] > max(n["GR"], n["L2"]),
            "dropout on top hurts on CIFAR-100": lambda n: n["three"] < n["both"],
            "and helps on Vehicles-10": lambda n: n["three vehicles"] > n["both vehicles"],
        },
    ),
    Claim(
        8,
        "Training again on the labels GR predicts raises accuracy",
        "GR Table 11",
        {
            f"{words} {rate}": Point("gr.table11", "GR", f"symmetric {rate} · {column}", "final")
            for rate in ("0.2", "0.4")
            for words, column in (("once", "final %"), ("again", "retrained %"))
        },
        {
            f"at {rate} by 0.5 points or more": _gains(f"again {rate}", f"once {rate}")
            for rate in ("0.2", "0.4")
        },
    ),
    Claim(
        9,
        "The ratio of the weights of right and wrong labels orders the losses",
        "Curriculum Table 5, symmetric 0.4",
        _cells(
            "curriculum.table5",
            "symmetric 0.4 · snr",
            "snr",
            **{name: name for name in ("CE", "SCE", "GCE", "AUL", "MAE")},
        ),
        {
            "CE is below SCE and GCE": lambda n: n["CE"] < min(n["SCE"], n["GCE"]),
            "SCE and GCE are below AUL": lambda n: max(n["SCE"], n["GCE"]) < n["AUL"],
            "AUL is below MAE": lambda n: n["AUL"] < n["MAE"],
        },
    ),
    Claim(
        10,
        "At a long constant rate MAE overfits too, and another rate makes cross entropy robust",
        "Curriculum Figure 4, MNIST",
        {
            f"{row} {number}": Point("curriculum.figures", row, "symmetric 0.4", number)
            for row in ("MAE · rate 0.01", "CE · rate 0.001", "CE · rate 0.01", "CE · rate 0.1")
            for number in ("final", "best")
        },
        {
            "MAE at 0.01 ends a point or more below its best": lambda n: (
                n["MAE · rate 0.01 best"] - n["MAE · rate 0.01 final"] >= 1
            ),
            "CE at 0.001 ends 5 points or more above CE at 0.01": lambda n: (
                n["CE · rate 0.001 final"] >= n["CE · rate 0.01 final"] + 5
            ),
            "so does CE at 0.1": lambda n: n["CE · rate 0.1 final"] >= n["CE · rate 0.01 final"] + 5,
        },
    ),
    Claim(
        11,
        "Under noise cross entropy is biased between classes; SL narrows the spread",
        "SL Figures 1 and 3, CIFAR-10, symmetric 0.4",
        _cells(
            "sl.table1",
            "symmetric 0.4",
            "class_spread",
            CE="CIFAR-10 · 8-layer CNN · CE",
            SL="CIFAR-10 · 8-layer CNN · SL",
        ),
        {
            "with CE classes differ by 20 points or more": lambda n: n["CE"] >= 20,
            "with SL by 5 points less or fewer": lambda n: n["SL"] <= n["CE"] - 5,
        },
    ),
    Claim(
        12,
        "More cross entropy overfits more, RCE alone does not overfit; with a small alpha A is free",
        "SL Figures 8 and 9, 60%",
        {
            f"{row} {number}": Point("sl.figures", row, "symmetric 0.6", number)
            for row in ("CE", "5CE", "RCE", *(f"SL · alpha=0.1 · A={A}" for A in (-8, -6, -4, -2)))
            for number in ("final", "noisy_subset")
        },
        {
            "5CE repeats more wrong labels than CE": lambda n: n["5CE noisy_subset"] > n["CE noisy_subset"],
            "RCE repeats half of them or fewer": lambda n: n["RCE noisy_subset"] <= n["CE noisy_subset"] / 2,
            "SL with alpha = 0.1 ends within 3 points for A from -8 to -4": lambda n: (
                max(ends := [n[f"SL · alpha=0.1 · A={A} final"] for A in (-8, -6, -4)]) - min(ends) <= 3
            ),
        },
    ),
    Claim(
        13,
        "SL improves Forward and label smoothing",
        "SL Tables 1 and 2, symmetric 0.4",
        {
            **_cells("sl.table2", "symmetric 0.4", "final", Forward_with="Forward+SL", LSR_with="LSR+SL"),
            **_cells(
                "sl.table1",
                "symmetric 0.4",
                "final",
                Forward="CIFAR-10 · 8-layer CNN · Forward",
                LSR="CIFAR-10 · 8-layer CNN · LSR",
            ),
        },
        {
            "Forward by a point or more": lambda n: n["Forward with"] >= n["Forward"] + 1,
            "label smoothing by 3 points or more": lambda n: n["LSR with"] >= n["LSR"] + 3,
        },
    ),
    Claim(
        14,
        "NAL fits about the share of right labels, and ends above cross entropy",
        "NAL Figures 9 and 10",
        {
            f"{name} {number}": Point("nal.figures", f"CIFAR-10 · {name}", "symmetric 0.4", number)
            for name in ("NAL", "CE")
            for number in ("corrupted", "final")
        },
        {
            "at 40% noise NAL fits 55 to 70% of the labels": lambda n: 55 <= n["NAL corrupted"] <= 70,
            "CE fits 90% or more": lambda n: n["CE corrupted"] >= 90,
            "NAL ends 10 points or more above CE": lambda n: n["NAL final"] >= n["CE final"] + 10,
        },
    ),
    Claim(
        15,
        "Fit is a bad guide to T of IMAE: it rises to T = 8, while tests under noise are best from 8 on",
        "IMAE Figures 6 to 8",
        {
            f"T={T} {number}": Point("imae.figures", f"T={T}", "symmetric 0.4", number)
            for T in _TEMPERATURES
            for number in ("corrupted", "intact", "final")
        },
        {
            "tests are best at T = 8 or 16": lambda n: (
                max(_TEMPERATURES, key=lambda T: n[f"T={T} final"]) in (8, 16)
            ),
            "accuracy on true training labels ranks T as tests do": lambda n: (
                _rank([(n[f"T={T} intact"], n[f"T={T} final"]) for T in _TEMPERATURES]) > 0.8
            ),
            "fit does not": lambda n: (
                _rank([(n[f"T={T} corrupted"], n[f"T={T} final"]) for T in _TEMPERATURES]) < 0.8
            ),
        },
    ),
    Claim(
        16,
        "IMAE is above CCE, MAE and GCE whatever the optimiser",
        "IMAE Table 8",
        {
            f"{row}, {column}": Point("imae.table8", row, column, "final")
            for row in ("CCE", "MAE", "GCE", "IMAE")
            for column in _OPTIMISERS
        },
        {column.removeprefix("symmetric 0.4 · "): _imae_is_best(column) for column in _OPTIMISERS},
    ),
    Claim(
        17,
        "NCE updates less and less than cross entropy; with MAE it underfits less than either alone",
        "Curriculum Figure 1 and Table 2, CIFAR-100",
        {
            **{
                f"{name} fit": Point("curriculum.table2", _T2 + name, "clean", "corrupted")
                for name in ("NCE", "MAE", "NCE+MAE")
            },
            **{
                f"{name} scale": Point("curriculum.table2", _T2 + name, "clean", "alpha")
                for name in ("NCE", "CE")
            },
        },
        {
            "NCE's average update scale ends below half of CE's": lambda n: (
                n["NCE scale"] < n["CE scale"] / 2
            ),
            "NCE+MAE fits more than NCE and MAE": lambda n: (
                n["NCE+MAE fit"] > max(n["NCE fit"], n["MAE fit"])
            ),
        },
    ),
)
