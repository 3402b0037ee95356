"""Losses as functions of p in mpmath with 50 digits, independent of the code under test."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import mpmath as mp

mp.mp.dps = 50


@dataclass(frozen=True)
class Formula:
    """A loss that depends only on p: its value and -dl/dp, as functions of p and 1 - p."""

    spec: str
    value: Callable[[mp.mpf, mp.mpf], mp.mpf]
    slope: Callable[[mp.mpf, mp.mpf], mp.mpf]
    tolerance: float = field(default=1e-12)

    def emphasis(self, p: mp.mpf, rest: mp.mpf) -> mp.mpf:
        return self.slope(p, rest) * p * rest


def _gce(q):
    return lambda p, u: (1 - p**q) / q, lambda p, u: p ** (q - 1)


def _mixture(a, b):
    return lambda p, u: -a * mp.log(p) + b * u, lambda p, u: a / p + b


def _aul(a, q):
    return lambda p, u: ((a - p) ** q - (a - 1) ** q) / q, lambda p, u: (a - p) ** (q - 1)


def _agce(a, q):
    return lambda p, u: ((a + 1) ** q - (a + p) ** q) / q, lambda p, u: (a + p) ** (q - 1)


def _focal(g):
    return (
        lambda p, u: -(u**g) * mp.log(p),
        lambda p, u: u**g / p - g * u ** (g - 1) * mp.log(p),
    )


def _truncated(q, k):
    value, slope = _gce(q)
    return (lambda p, u: value(max(p, k), u)), (lambda p, u: slope(p, u) if p > k else mp.mpf(0))


def gr_slope(beta, lam, g=mp.exp):
    return lambda p, u: g(beta * p**lam * u) / (2 * p * u)


def _gr_value(beta, lam, saturation, g=mp.exp):
    def value(p, u):
        start = mp.log(p / u)
        inside = [x for x in range(-60, 61, 2) if start < x < saturation]
        with mp.workdps(15):  # the values are compared to seven digits
            return mp.quad(
                lambda d: g(beta * _sigmoid(d) ** lam * _sigmoid(-d)) / 2, [start, *inside, saturation]
            )

    return value


def _sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def _m(number: str) -> mp.mpf:
    """A decimal number, rounded to the float that the library uses."""
    return mp.mpf(float(number))


FORMULAS = [
    Formula("ce", lambda p, u: -mp.log(p), lambda p, u: 1 / p),
    Formula("focal(gamma=2.0)", *_focal(2)),
    Formula("focal(gamma=0.5)", *_focal(_m("0.5"))),
    Formula("mae", lambda p, u: 2 * u, lambda p, u: mp.mpf(2)),
    Formula("rce(A=-4.0)", lambda p, u: 4 * u, lambda p, u: mp.mpf(4)),
    Formula("sl(alpha=0.1, beta=1.0, A=-4.0)", *_mixture(_m("0.1"), 4)),
    Formula("sl(alpha=6.0, beta=0.1, A=-6.0)", *_mixture(6, _m("0.1") * 6)),
    Formula("sce(q=0.7)", *_mixture(1 - _m("0.7"), _m("0.7"))),
    Formula("gce(q=0.7)", *_gce(_m("0.7"))),
    Formula("gce(q=0.01)", *_gce(_m("0.01"))),
    Formula("truncated_gce(q=0.7, k=0.5)", *_truncated(_m("0.7"), _m("0.5"))),
    Formula(
        "tce(order=2)",
        lambda p, u: sum(u**i / mp.mpf(i) for i in (1, 2)),
        lambda p, u: sum(u**i for i in range(2)),
    ),
    Formula(
        "tce(order=9)",
        lambda p, u: sum(u**i / mp.mpf(i) for i in range(1, 10)),
        lambda p, u: sum(u**i for i in range(9)),
    ),
    Formula("aul(a=1.1, q=5.0)", *_aul(_m("1.1"), 5)),
    Formula("aul(a=3.0, q=0.7)", *_aul(3, _m("0.7"))),
    Formula("agce(a=0.1, q=0.1)", *_agce(_m("0.1"), _m("0.1"))),
    Formula("agce(a=3.0, q=4.0)", *_agce(3, 4)),
    Formula(
        "ael(q=2.5)", lambda p, u: mp.exp(-p / _m("2.5")), lambda p, u: mp.exp(-p / _m("2.5")) / _m("2.5")
    ),
    Formula("nal_fixed(tau=0.5)", lambda p, u: -mp.log(p / 2 + mp.mpf(1) / 2), lambda p, u: 1 / (1 + p)),
    Formula(
        "nal_fixed(tau=0.99)",
        lambda p, u: -mp.log(_m("0.99") * p + 1 - _m("0.99")),
        lambda p, u: _m("0.99") / (_m("0.99") * p + 1 - _m("0.99")),
    ),
    Formula(
        'gr(beta=8.0, lam=0.5, normalize="none")',
        _gr_value(8, _m("0.5"), _m("17.33")),
        gr_slope(8, _m("0.5")),
        1e-7,
    ),
    Formula('gr(beta=12.0, lam=2.0, normalize="none")', _gr_value(12, 2, _m("17.33")), gr_slope(12, 2), 1e-7),
    Formula('gr(beta=2.0, lam=0.0, normalize="none")', _gr_value(2, 0, _m("17.33")), gr_slope(2, 0), 1e-7),
    Formula('imae(T=8.0, normalize="none")', _gr_value(8, 1, _m("17.33")), gr_slope(8, 1), 1e-7),
    Formula(
        'imae(T=16.0, saturation=6.24, normalize="none")', _gr_value(16, 1, _m("6.24")), gr_slope(16, 1), 1e-7
    ),
]


def softmax(logits: list[float]) -> list[mp.mpf]:
    raised = [mp.exp(mp.mpf(z)) for z in logits]
    total = mp.fsum(raised)
    return [r / total for r in raised]


@cache
def split(logits: tuple[float, ...], label: int) -> tuple[mp.mpf, mp.mpf, list[float]]:
    """p of the label, 1 - p without cancellation, and the direction of the gradient as doubles.

    The direction is the softmax over the other classes, and -1 at the label.
    """
    raised = [mp.exp(mp.mpf(z)) for z in logits]
    others = mp.fsum(r for k, r in enumerate(raised) if k != label)
    total = others + raised[label]
    direction = [-1.0 if k == label else float(r / others) for k, r in enumerate(raised)]
    return raised[label] / total, others / total, direction
