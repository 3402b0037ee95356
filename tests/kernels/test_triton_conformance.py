"""The public conformance suite in single precision, which is what the kernels take."""

import pytest
import torch

from noiseproof import losses
from noiseproof.testing import contract, derivatives, numbers, problem

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
CHECKS = [
    contract.check_reductions,
    contract.check_class_weights,
    contract.check_sample_weights,
    contract.check_ignore_index,
    contract.check_nothing_to_learn,
    contract.check_masked,
    derivatives.check_backward_again,
    derivatives.check_transforms,
    derivatives.check_compile,
    numbers.check_finite,
    numbers.check_half_precision,
    numbers.check_float32,
]
SPECS = [
    *(
        "ce",
        "focal",
        "mae",
        "rce",
        "sl",
        "sce",
        "gce",
        "truncated_gce",
        "tce",
        "aul",
        "agce",
        "ael",
        "gr(normalize='none')",
    ),
    *(
        "imae(normalize='none')",
        "nal_fixed",
        "nce",
        "mse",
        "gls",
        "scale(mae)",
        "shift(gce)",
        "unit_max(gce)",
        "ce + 2*mae",
    ),
    *("10*nce + 0.1*agce(a=1.8, q=3)", 'gr(normalize="batch")', "nfl", "cr(ce)", "cr(gce)", "peer(ce)"),
    *("10*nce + nfl",),
]
KINDS = [
    "gce",
    "gr(normalize='none')",
    "10*nce + 0.1*agce(a=1.8, q=3)",
    'gr(normalize="batch")',
    "cr(ce)",
    "peer(ce)",
]
"""Losses of every kind of function and of program go through all checks, the others through the numbers."""
CASES = [(spec, check) for spec in SPECS for check in (CHECKS if spec in KINDS else CHECKS[-3:])]


@pytest.fixture
def single(monkeypatch, device):
    """Problems in float32, close to 2e-5; what is compared with float64 stays."""

    def small_problem(*args, **kwargs):
        logits, target = problem.problem(*args, **kwargs)
        return logits.float(), target

    def close(found, wanted, tolerance=1e-12):
        problem.assert_close(found, wanted, max(tolerance, 2e-5))

    for module in (contract, derivatives):
        monkeypatch.setattr(module, "problem", small_problem)
        monkeypatch.setattr(module, "assert_close", close)
    return torch.device(device)


@pytest.mark.parametrize(("spec", "check"), CASES, ids=lambda c: getattr(c, "__name__", c))
def test_keeps_its_promises_on_the_kernels(spec, check, single):
    with single:
        check(losses.get(spec).to(single))
