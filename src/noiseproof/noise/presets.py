"""The same words mean different noise in different public repositories: their variants by name.

``PRESETS[repository][dataset, kind].at(rate)`` gives the arguments of ``corrupt``. Facts were read from the
public code; labels agree in distribution, not draw by draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from .sampling import Exact


class Arguments(TypedDict):
    """What ``corrupt`` needs to know."""

    spec: str
    exact: Exact


@dataclass(frozen=True)
class Preset:
    """A spec with ``{rate}`` left open, and how its samples are counted.

    Example:
        >>> PRESETS["apl"]["cifar10", "asymmetric"].at(0.4)
        {'spec': 'asymmetric(0.4, map="cifar10", mutated=True)', 'exact': 'per_class'}
    """

    template: str
    exact: Exact = False

    def at(self, rate: float) -> Arguments:
        return {"spec": self.template.format(rate=float(rate)), "exact": self.exact}


_EXCLUSIVE = "symmetric({rate})"
_INCLUSIVE = "symmetric({rate}, inclusive=True)"
_MNIST = 'asymmetric({rate}, map="mnist")'
_CIFAR10 = 'asymmetric({rate}, map="cifar10")'
_CIFAR10_MUTATED = 'asymmetric({rate}, map="cifar10", mutated=True)'
_BLOCK_CYCLE = 'cycle({rate}, grouping="index_block")'
_BLOCK_PAIR = 'pair({rate}, grouping="index_block")'
_PAIR_FLIP = 'cycle({rate}, grouping="all")'

Presets = dict[tuple[str, str], Preset]


def _everywhere(kind: str, preset: Preset) -> Presets:
    return {(dataset, kind): preset for dataset in ("mnist", "cifar10", "cifar100")}


def _on_cifar(kind: str, preset: Preset) -> Presets:
    return {(dataset, kind): preset for dataset in ("cifar10", "cifar100")}


_PATRINI: Presets = {
    **_everywhere("symmetric", Preset(_EXCLUSIVE)),
    ("mnist", "asymmetric"): Preset(_MNIST),
    ("cifar10", "asymmetric"): Preset(_CIFAR10),
    ("cifar100", "asymmetric"): Preset(_BLOCK_CYCLE),
}
_APL: Presets = {
    **_everywhere("symmetric", Preset(_EXCLUSIVE, "per_class")),
    ("mnist", "asymmetric"): Preset(_MNIST),
    ("cifar10", "asymmetric"): Preset(_CIFAR10_MUTATED, "per_class"),
    ("cifar100", "asymmetric"): Preset(_BLOCK_CYCLE),
}
_DIVIDEMIX: Presets = {
    **_on_cifar("symmetric", Preset(_INCLUSIVE, True)),
    ("cifar10", "asymmetric"): Preset(_CIFAR10, True),
}

PRESETS: dict[str, Presets] = {
    "patrini": _PATRINI,
    "gce": _PATRINI,
    "co_teaching": {
        **_everywhere("symmetric", Preset(_EXCLUSIVE)),
        **_everywhere("pair_flip", Preset(_PAIR_FLIP)),
    },
    "sl": {
        **_everywhere("symmetric", Preset(_EXCLUSIVE, "per_class")),
        ("mnist", "asymmetric"): Preset(_MNIST, "per_class"),
        ("cifar10", "asymmetric"): Preset(_CIFAR10, "per_class"),
        ("cifar100", "asymmetric"): Preset(_BLOCK_PAIR),
    },
    "apl": _APL,
    "alfs": _APL,
    "dividemix": _DIVIDEMIX,
    "nal": {**_DIVIDEMIX, ("cifar100", "asymmetric"): Preset(_BLOCK_CYCLE, True)},
    "selc": _on_cifar("symmetric", Preset(_INCLUSIVE, True)),
    "sop": _on_cifar("symmetric", Preset(_INCLUSIVE, True)),
    "elr": {
        **_on_cifar("symmetric", Preset(_INCLUSIVE, True)),
        ("cifar10", "asymmetric"): Preset(_CIFAR10_MUTATED, "per_class"),
        ("cifar100", "asymmetric"): Preset(_BLOCK_CYCLE),
    },
    "gr": {
        **_on_cifar("symmetric", Preset(_EXCLUSIVE)),
        ("cifar100", "asymmetric"): Preset("sibling({rate})"),
    },
    "imae": {
        **_on_cifar("symmetric", Preset(_EXCLUSIVE)),
        ("cifar100", "asymmetric"): Preset("pair({rate})"),
    },
    "deep_critical_learning": {
        **_on_cifar("symmetric", Preset(_EXCLUSIVE)),
        ("cifar100", "asymmetric"): Preset("pair({rate})"),
    },
    "curriculum": {
        **_on_cifar("symmetric", Preset(_EXCLUSIVE)),
        ("cifar10", "asymmetric"): Preset(_CIFAR10),
        ("cifar100", "asymmetric"): Preset("cycle({rate})"),
    },
}
"""Exclusive or inclusive, flipped on the clean copy or on labels already flipped (``mutated``), by coin or in
exact counts (over all, or per class), in blocks of indices or in superclasses. GR, IMAE and Curriculum follow
their papers' text, the others their code. DivideMix and NAL count over all samples, also those of unmapped
classes; here the count is over the mapped ones. SL and APL take the same number from every class, here it is
the same share; the two agree wherever classes have the same size (MNIST's differ a little)."""
