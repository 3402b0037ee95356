"""Sums over all classes of losses that are powers of p, for the CPU operator."""

import pytest
import torch
from operator_checks import compare, went_through
from row_batches import row_error, step
from torch.nn.functional import logsigmoid

from noiseproof import losses
from noiseproof.kernels.cpu.powers import powers_of
from noiseproof.kernels.programs.class_program import recorded_classes
from noiseproof.kernels.programs.replay import replay

OF_POWERS = ["ce", "mae", "rce", "sl", "sce", "gce", "gce(q=0.3)", "gce(q=1)", "unit_max(gce)", "ce + 2*mae"]
OF_POWERS += ["ce + gce", "2*gce + mae"]
OTHERS = ["focal", "agce", "tce", "truncated_gce", "scale(mae)", "gce + gce(q=0.5)"]


def recorded(spec):
    loss = losses.get(spec)
    return recorded_classes(lambda margin: loss.evaluate(margin, num_classes=5, mass=1.0))


@pytest.mark.parametrize("spec", OF_POWERS)
def test_the_same_numbers(spec):
    program = recorded(spec)
    margin = torch.linspace(-30, 0, 99, dtype=torch.float64)
    p, log_p = margin.sigmoid(), logsigmoid(margin)
    registers = replay(program.code, [margin, p, (-margin).sigmoid(), log_p, logsigmoid(-margin)])
    powers = powers_of(program)
    terms = torch.stack([torch.ones_like(p), log_p, p, p**powers.exponent])
    for factors, output in zip((powers.value, powers.ratio), program.outputs, strict=False):
        wanted = registers[output].expand(p.shape)
        found = torch.tensor(factors, dtype=torch.float64) @ terms
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("spec", OTHERS)
def test_other_losses_are_none(spec):
    assert powers_of(recorded(spec)) is None


@pytest.mark.parametrize("spec", ["gce(q=0.2)", "gce(q=0.01)"])
def test_terms_that_cancel_are_not_added_apart(spec):
    """Of 1 - p^q little remains for small q, and every part of it is known to float precision."""
    assert powers_of(recorded(spec)) is None


@pytest.mark.parametrize("classes", [2, 3, 16, 33, 1000, 1025, 5000])
@pytest.mark.parametrize("spread", [0.1, 3.0, 10.0])
@pytest.mark.parametrize("base", ["mae", "sl", "gce", "ce + gce"])
def test_any_number_of_classes_and_any_certainty(base, spread, classes, operator):
    """With large logits one class has all of the row, the label or another; labels of the batch are few. The
    value is what two losses of the size of the logits differ by."""
    generator = torch.Generator().manual_seed(classes)
    logits = spread * torch.randn(40, classes, generator=generator)
    target = torch.randint(min(classes, 7), (40,), generator=generator)
    target[5], target[6:9] = -100, logits[6:9].argmax(1)
    loss = losses.get(f"cr({base})", reduction="none")
    assert went_through(loss, logits, target)
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits, target)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6 * (1 + spread))
    assert row_error(gradient, slope, 1e-2) < 1e-5


@pytest.mark.parametrize("base", ["ce", "mae", "sl", "gce"])
@pytest.mark.parametrize("spread", [1.0, 20.0])
def test_masked_classes_take_no_part(base, spread, operator):
    """Also those that labels of the prior fall on."""
    generator = torch.Generator().manual_seed(3)
    logits = spread * torch.randn(30, 40, generator=generator)
    target = torch.randint(20, (30,), generator=generator)
    logits[::2, 20:] = -torch.inf
    logits[1, 0] = -torch.inf
    target[1] = 1
    prior = torch.linspace(1, 2, 40)
    for loss in (losses.get(f"cr({base})"), losses.CR(losses.get(base), beta=0.7, prior=prior)):
        assert went_through(loss, logits, target)
        compare(loss, logits, target, 1e-5, floor=1e-2)


@pytest.mark.parametrize("base", ["mae", "gce", "ce"])
def test_what_a_row_takes_from_the_prior_is_there_for_the_next(base, operator):
    """All rows have one label, which every one of them leaves out of its sums: nothing remains."""
    logits = torch.randn(70, 11, generator=torch.Generator().manual_seed(1)).requires_grad_()
    losses.get(f"cr({base})")(logits, torch.full((70,), 4)).backward()
    assert float(logits.grad.abs().max()) < 1e-15
