import pytest
import torch

from noiseproof import losses
from noiseproof.losses import CR, get


def batch(rows=12, classes=4):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(rows, classes, dtype=torch.float64, generator=generator)
    return logits, torch.randint(classes, (rows,), generator=generator)


@pytest.mark.parametrize("base", ["ce", "gce", "nce"])
def test_cr_matches_its_definition(base):
    logits, target = batch()
    rows = get(base, reduction="none")
    every = torch.stack([rows(logits, torch.full_like(target, k)) for k in range(4)], 1)
    prior = torch.bincount(target, minlength=4).double() / len(target)
    wanted = rows(logits, target) - 0.7 * every @ prior
    torch.testing.assert_close(get(f"cr({base}, beta=0.7)", reduction="none")(logits, target), wanted)


def test_given_prior():
    logits, target = batch()
    prior = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    found = CR(get("ce"), prior=prior)(logits, target)
    wanted = get("ce")(logits, target) + (logits.log_softmax(1) @ prior).mean()
    torch.testing.assert_close(found, wanted)


def test_batch_prior_excludes_ignored_rows():
    logits, target = batch()
    more = torch.cat([logits, logits])
    labels = torch.cat([target, torch.full_like(target, -100)])
    torch.testing.assert_close(get("cr(ce)")(more, labels), get("cr(ce)")(logits, target))


def test_prior_prints_as_its_size():
    assert str(CR("ce", prior=torch.ones(3) / 3)) == "cr(ce, beta=1.0, prior=<tensor of 3>)"


@pytest.mark.parametrize("inner", ["peer(ce)", "cr(peer(ce))", "binary(ce)", "peer(ce) + ce"])
def test_losses_not_defined_per_class_raise_type_error(inner):
    with pytest.raises(TypeError):
        get(f"cr({inner})")


@pytest.mark.parametrize("prior", [0.5, True, "x"])
def test_prior_that_is_not_a_vector_raises_type_error(prior):
    with pytest.raises(TypeError, match="vector of label frequencies"):
        CR("ce", prior=prior)


def test_invalid_priors_raise_value_error():
    for bad in (torch.tensor([-0.1, 1.1]), torch.zeros(3), torch.tensor([torch.nan, 1.0]), torch.ones(2, 2)):
        with pytest.raises(ValueError, match="prior must be"):
            CR("ce", prior=bad)
    with pytest.raises(ValueError, match="prior has 3 entries"):
        CR("ce", prior=torch.ones(3) / 3)(*batch())


@pytest.mark.parametrize("base", ["ce", "focal", "gr", "mae"])
def test_soft_targets_with_a_masked_class(base):
    logits = torch.tensor([[0.0, -torch.inf, 1.0], [0.0, 1.0, 2.0]], requires_grad=True)
    target, loss = torch.tensor([0, 1]), get(f"cr({base})")
    found = loss(logits, torch.eye(3)[target])
    torch.testing.assert_close(found, loss(logits, target))
    assert torch.autograd.grad(found, logits)[0].isfinite().all()


@pytest.mark.parametrize("prior", [[3, 2, 1], [0.5, 1 / 3, 1 / 6], [30.0, 20.0, 10.0]])
def test_prior_is_normalised(prior):
    logits, target = (
        torch.randn(6, 3, generator=torch.Generator().manual_seed(0)),
        torch.tensor([0, 0, 0, 1, 1, 2]),
    )
    found = losses.CR("ce", prior=torch.tensor(prior))(logits, target)
    assert float(found) == pytest.approx(float(losses.CR("ce")(logits, target)), rel=1e-5)
