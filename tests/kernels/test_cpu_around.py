"""Losses around another one on the compiled CPU operator, against the torch expressions in float64."""

import pytest
import torch
from operator_checks import compare, compare_curvature, names_mistakes, went_through
from row_batches import TOLERANCE, batch, row_error, step

from noiseproof import losses
from noiseproof.losses import MarginLoss

BASES = ["ce", "focal", "focal(gamma=0.3)", "mae", "rce", "sl", "gce", "gce(q=0.01)", "truncated_gce", "tce"]
BASES += ["aul", "agce", "ael", "nal_fixed", "scale(mae)", "shift(gce)", "unit_max(gce)", "ce + 2*mae"]
PEERED = ["ce", "scale(mae)", "gr", "nce", "nfl", "nfl(gamma=5)", "mse", "gls", "ce + mse + gls"]
AROUND = [f"cr({base})" for base in BASES] + [f"peer({base})" for base in PEERED]
AROUND += ["cr(ce, beta=0.3)", "cr(gce, beta=3.0)", "peer(gce, alpha=0.4, seed=7)", "peer(nce, alpha=0.4)"]


@pytest.mark.parametrize("spec", AROUND)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_around_another(spec, reduction, operator):
    """``eval`` keeps the step, so that both ways draw the same peers; where a row's two labels are one and
    the same, the terms cancel."""
    loss = losses.get(spec, reduction=reduction).eval()
    assert went_through(loss, *batch(70, 5))
    compare(loss, *batch(70, 5), 1e-5, floor=1e-2)


@pytest.mark.parametrize("spec", ["cr(ce)", "cr(gce)", "peer(gce)", "peer(mse)", "peer(gls)", "peer(nfl)"])
def test_losses_around_another_with_two_classes(spec, operator):
    """Then no class is left beside the labels."""
    logits, _ = batch(40, 2)
    target = torch.arange(40) % 2
    target[1] = -100
    compare(losses.get(spec).eval(), logits, target, 1e-5, floor=1e-2)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("spec", ["cr(ce)", "cr(gce)", "peer(ce)", "peer(nce)", "peer(nfl)"])
def test_losses_around_another_in_half_precision(spec, dtype, operator):
    compare(losses.get(spec).eval(), *batch(9, 37, dtype), TOLERANCE[dtype], floor=1e-2)


@pytest.mark.parametrize("base", ["ce", "gce", "focal"])
def test_a_prior_of_the_user(base, operator):
    loss = losses.CR(losses.get(base), beta=0.7, prior=torch.tensor([3.0, 0.0, 1.0, 2.0, 1.0]))
    assert went_through(loss, *batch(9, 5))
    compare(loss, *batch(9, 5), 1e-5)
    with pytest.raises(ValueError, match="prior has 5 entries, the logits 7 classes"):
        loss(*batch(9, 7))


@pytest.mark.parametrize("spec", ["cr(ce)", "cr(gce)", "peer(ce)", "peer(nce)", "peer(nfl)"])
def test_losses_around_another_name_mistakes(spec, operator):
    names_mistakes(losses.get(spec), *batch(6, 5))


@pytest.mark.parametrize("spec", ["peer(gce)", "peer(nce)", "peer(nfl)"])
def test_peers_change_with_every_step_of_training(spec, operator):
    """As they do without the operator: the step is counted once a call."""
    logits, target = batch(70, 5)
    here, there = losses.get(spec), losses.get(spec)
    found = [float(here(logits, target)) for _ in range(3)]
    assert found == pytest.approx([float(there(logits.double(), target)) for _ in range(3)], rel=1e-6)
    assert len(set(found)) == 3
    assert int(here.step) == 3
    many = batch(1500, 5)
    assert float(here(*many)) == pytest.approx(float(there(many[0].double(), many[1])), rel=1e-6)


@pytest.mark.parametrize("spec", ["cr(mae)", "cr(ce)", "peer(mae)", "peer(mse)"])
def test_a_masked_label_is_told_around_another(spec, operator):
    """Also where the loss of it would be a number."""
    with pytest.raises(ValueError, match="masked class cannot be the target"):
        losses.get(spec)(torch.tensor([[0.0, -torch.inf, 0.0]]), torch.tensor([1]))


@pytest.mark.parametrize("classes", [3, 15, 16, 17, 100, 1000, 33000])
@pytest.mark.parametrize("spec", ["cr(gce)", "cr(scale(mae))", "peer(nce)", "peer(mse)", "peer(nfl)"])
def test_any_number_of_classes_around_another(spec, classes, operator):
    logits, target = batch(5 if classes > 100 else 200, classes)
    compare(losses.get(spec).eval(), logits, target, 1e-5, floor=1e-2)


@pytest.mark.parametrize("spec", ["cr(gce)", "peer(mse)", "peer(nfl)"])
def test_classes_that_are_equally_likely_around_another(spec, operator):
    logits = torch.tensor([[2.0, 2.0, -1.0], [3.0, 3.0, 3.0], [4.0, 1.0, 4.0], [0.0, 0.0, 9.0]]).repeat(1, 9)
    compare(losses.get(spec).eval(), logits, torch.tensor([0, 1, 1, 2]), 1e-5, floor=1e-2)


@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(gce)", "cr(focal)", "peer(nfl)"])
def test_a_label_alone_in_its_row_is_refused(spec, operator):
    logits = torch.tensor([[0.0, 1.0, 2.0], [-torch.inf, 1.0, -torch.inf]])
    with pytest.raises(ValueError, match=r"logits\[1\] masks every class but the label"):
        losses.get(spec)(logits, torch.tensor([2, 1]))


@pytest.mark.parametrize("spec", ["cr(gce)", "cr(ce)", "peer(nce)", "peer(mse)", "peer(nfl)"])
def test_second_derivatives_around_another(spec, operator):
    compare_curvature(losses.get(spec).eval(), *batch(5, 6))


def test_a_base_users_write(operator):
    written = losses.CR(MarginLoss.from_emphasis(lambda p, rest: p * rest))
    compare(written, *batch(70, 5), 1e-5, floor=1e-2)


@pytest.mark.parametrize("spec", ["peer(mse)", "peer(mse, alpha=0.5)"])
@pytest.mark.parametrize(("rows", "classes", "spread"), [(512, 10, 4.0), (12, 1000, 8.0), (8, 4096, 10.0)])
def test_peers_of_mse_where_a_class_is_sure(spec, rows, classes, spread, operator):
    """The sum of p squared knows no label: what both labels have of it is taken together before rounding, and
    with ``alpha`` = 1 half of mae is left, whose float64 has all digits."""
    generator = torch.Generator().manual_seed(classes)
    logits = spread * torch.randn(rows, classes, generator=generator)
    target = torch.randint(classes, (rows,), generator=generator)
    like = losses.get("peer(mae)" if "alpha" not in spec else spec, reduction="sum").eval()
    _, wanted = step(like, logits.double(), target)
    _, found = step(losses.get(spec, reduction="sum").eval(), logits, target)
    assert row_error(found, wanted if "alpha" in spec else wanted / 2, 1e-6) < 1e-5
