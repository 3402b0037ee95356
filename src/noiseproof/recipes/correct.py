"""Estimate the transition matrix with a first network, then train a second network with it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from ..data import LabelledData
from ..noise import anchor_transition, confident_transition
from ..train import Config, Run, Watcher
from .stage import quoted, recipe_folder, save_array, stage

MATRIX = "transition.npy"
ESTIMATES = ("anchor", "anchor97", "confident")
CORRECTIONS = ("forward", "backward", "s_adaptation")


class Corrected(NamedTuple):
    """Both runs and the estimated matrix."""

    first: Run
    second: Run
    transition: Tensor
    """(K, K) estimate of [i, j] = P(given j | clean i)."""


def estimate_and_correct(
    config: Config,
    *,
    correction: str = "forward",
    estimate: str = "anchor97",
    data: LabelledData | None = None,
    test: LabelledData | None = None,
    watcher: Watcher | None = None,
) -> Corrected:
    """Train with the loss of the config, estimate the matrix, and train from scratch with a correction.

    Args:
        correction: "forward", "backward" or "s_adaptation", also with options: "forward(rce=1.0)".
        estimate: "anchor97" (97th percentile, as published), "anchor" (maximum, which the authors use for
            CIFAR-100) or "confident" (confident joint).

    With a validation split, the matrix is estimated from the network that it selected, as published; without
    one, from the last epoch, which may have memorised the labels, so that the matrix is too close to the
    identity.

    Reference:
        Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach, CVPR
        2017, section 4.3
    """
    if estimate not in ESTIMATES:
        raise ValueError(f"estimate={estimate!r} is unknown, choose one of {', '.join(ESTIMATES)}")
    if correction.partition("(")[0] not in CORRECTIONS:
        raise ValueError(f"correction={correction!r} is unknown, choose one of {', '.join(CORRECTIONS)}")
    first = stage(config.replace(method=None), "first", watcher=watcher, data=data, test=test)
    matrix = _estimated(first, estimate, data)
    path = recipe_folder(config) / MATRIX
    save_array(path, matrix)
    method = _with_matrix(correction, path)
    second = stage(config.replace(method=method, loss="ce"), "second", watcher=watcher, data=data, test=test)
    return Corrected(first, second, matrix)


def _estimated(run: Run, estimate: str, data: LabelledData | None) -> Tensor:
    probability = run.outputs["train_probability"].double()
    if run.result is not None and run.result["selected"] is not None:
        probability = _selected(run, data).double()
    probability = probability / probability.sum(1, keepdim=True)
    if estimate == "confident":
        return confident_transition(run.record.label, probability)
    return anchor_transition(probability, percentile=97.0 if estimate == "anchor97" else None)


def _selected(run: Run, data: LabelledData | None) -> Tensor:
    """Probabilities of the training samples by the network that validation selected."""
    from ..data import load

    whole = load(run.config.data) if data is None else data
    row_of = {int(number): row for row, number in enumerate(whole.index.tolist())}
    rows = [row_of[int(number)] for number in run.record.index.tolist()]
    return run.predict(whole.subset(rows), which="best")


def _with_matrix(correction: str, path: Path) -> str:
    name, _, options = correction.partition("(")
    argument = f"transition={quoted(path)}"
    return f"{name}({argument}, {options}" if options else f"{name}({argument})"
