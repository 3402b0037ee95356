"""The noise of public repositories by name; the same terms have different meanings there.

``PRESETS[repository][dataset, kind].at(rate)`` gives the arguments of ``corrupt``. They follow the
public code; labels agree in distribution, not sample by sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from .sampling import Exact


class Arguments(TypedDict):
    """Arguments of ``corrupt``."""

    spec: str
    exact: Exact


@dataclass(frozen=True)
class Preset:
    """A spec with the placeholder ``{rate}``, and the ``exact`` argument of ``corrupt``.

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
"""Presets by repository. They differ in whether noise is exclusive or inclusive, flips the clean labels or
labels already flipped (``mutated``), selects samples independently or in exact counts (over all, or per
class), and uses blocks of indices or superclasses. GR, IMAE and Curriculum follow the text of their papers,
the others their code. DivideMix and NAL count over all samples, including unmapped classes; here the count is
over mapped classes. SL and APL select the same number from every class, here the same share: both agree where
classes have the same size (those of MNIST differ a little)."""
