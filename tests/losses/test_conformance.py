"""The public conformance suite on all registered losses and on compositions of them."""

import pytest
from torch.nn.functional import logsigmoid

from noiseproof import losses
from noiseproof.losses import MarginLoss
from noiseproof.testing import LOSS_CHECKS, derivatives

INNER = {"scale": "mae", "shift": "mae", "unit_max": "gce", "cr": "ce", "peer": "ce"}
REGISTRY = [
    f"{name}({INNER[name]})" if name in INNER else name
    for name in losses.LOSSES
    if name not in ("binary", "ls")
]
COMPOSED = [
    "10*nce + 0.1*agce(a=1.8, q=3)",
    "ce + 2*mae",
    "unit_max(scale(mae, tau=2.6))",
    "unit_max(ce + scale(mae))",
    "shift(gce(q=0.7), by=1.5)",
    "scale(agce, tau=4.0, initial_margin=5.097)",
    'gr(beta=12, lam=2, normalize="batch")',
    "gr(saturation=None, normalize='none')",
    "gr(beta=0, normalize='none')",
    'gr(beta=2, lam=0, g="identity", normalize="none")',
    'gr(beta=2, lam=0.7, g="identity", saturation=5, normalize="none")',
    "imae(T=16, saturation=6.24, normalize='none')",
    "cr(gce, beta=0.3)",
    "peer(nce, alpha=0.3)",
    "focal(gamma=0)",
    "sce(q=0)",
    "sce(q=1)",
    "gce(q=1)",
    "gls(alpha=-0.5)",
    "mse(alpha=0)",
    "tce(order=30)",
]
KINDS = ["gce", "peer(ce)", "10*nce + 0.1*agce(a=1.8, q=3)"]
"""These losses, one of each kind, are compiled in all test runs, the others in ``make test-all``."""


def marks_of(spec, check):
    slow = check is derivatives.check_compile and spec not in KINDS
    slow |= check is derivatives.check_second_gradient and spec in COMPOSED and spec not in KINDS
    return [pytest.mark.slow] if slow else []


CASES = [
    pytest.param(spec, check, marks=marks_of(spec, check), id=f"{spec}-{check.__name__}")
    for spec in REGISTRY + COMPOSED
    for check in LOSS_CHECKS.values()
]


@pytest.mark.parametrize(("spec", "check"), CASES)
def test_loss_passes_conformance_check(spec, check):
    check(losses.get(spec))


OWN = {
    "emphasis of p": MarginLoss.from_emphasis(lambda p, rest: p * rest),
    "emphasis of the margin": MarginLoss.from_emphasis(lambda m: 1 / (1 + m**2), of="margin"),
    "value of p": MarginLoss.from_value(lambda p, rest: rest**3),
    "value of the margin": MarginLoss.from_value(lambda m: -logsigmoid(m), of="margin"),
}
COMPILED = {"emphasis of p", "value of the margin"}
"""These losses are compiled in all test runs, the others in ``make test-all``."""


@pytest.mark.parametrize(
    ("loss", "check"),
    [
        pytest.param(
            loss,
            check,
            marks=[pytest.mark.slow] if check is derivatives.check_compile and name not in COMPILED else [],
            id=f"{name}-{check.__name__}",
        )
        for name, loss in OWN.items()
        for check in LOSS_CHECKS.values()
    ],
)
def test_user_defined_loss_passes_conformance_check(loss, check):
    check(loss)
