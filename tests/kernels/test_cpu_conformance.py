"""The public conformance suite in single precision, which is what the CPU operator takes."""

import pytest

from noiseproof import losses
from noiseproof.testing import contract, derivatives, numbers, problem

CHECKS = [
    contract.check_reductions,
    contract.check_class_weights,
    contract.check_sample_weights,
    contract.check_ignore_index,
    contract.check_nothing_to_learn,
    contract.check_layouts,
    contract.check_masked,
    contract.check_copies,
    derivatives.check_backward_again,
    derivatives.check_transforms,
    numbers.check_finite,
    numbers.check_half_precision,
    numbers.check_float32,
    numbers.check_non_finite_named,
]
SPECS = [
    *("ce", "focal", "mae", "rce", "sl", "sce", "gce", "truncated_gce", "tce", "aul", "agce", "ael"),
    *(
        "nal_fixed",
        "gr(normalize='none')",
        "imae(normalize='none')",
        "nce",
        "mse",
        "gls",
        "scale(mae)",
        "shift(gce)",
        "unit_max(gce)",
    ),
    *(
        "10*nce + 0.1*agce(a=1.8, q=3)",
        "ce + 2*mae",
        "cr(ce)",
        "cr(gce)",
        "peer(nce)",
        "nfl",
        "10*nce + nfl",
        'gr(normalize="batch")',
    ),
]


@pytest.fixture
def single(monkeypatch, operator):
    """Problems in float32, close to 2e-5; what is compared with float64 stays."""

    def small_problem(*args, **kwargs):
        logits, target = problem.problem(*args, **kwargs)
        return logits.float(), target

    def close(found, wanted, tolerance=1e-12):
        problem.assert_close(found, wanted, max(tolerance, 2e-5))

    for module in (contract, derivatives, numbers):
        monkeypatch.setattr(module, "problem", small_problem)
    for module in (contract, derivatives):
        monkeypatch.setattr(module, "assert_close", close)


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("spec", SPECS)
def test_keeps_its_promises_on_the_operator(spec, check, single):
    check(losses.get(spec))
