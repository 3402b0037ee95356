import copy
import pickle

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from noiseproof.losses import binary, get

Z = 3 * torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
T = (torch.rand(6, 4, generator=torch.Generator().manual_seed(1)) > 0.5).double()
SOFT = torch.rand(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("target", [T, SOFT])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_ce_is_bce(target, reduction):
    torch.testing.assert_close(
        get("binary(ce)", reduction=reduction)(Z, target), bce(Z, target, reduction=reduction)
    )


def test_hard_targets_use_the_signed_logit_as_margin():
    loss = get("binary(gce(q=0.7))", reduction="none")
    torch.testing.assert_close(loss(Z, T), get("gce(q=0.7)").value((2 * T - 1) * Z))
    assert torch.equal(loss(Z, T.long()), loss(Z, T))
    assert torch.equal(loss(Z, T.bool()), loss(Z, T))


def test_gradient_is_the_emphasis():
    leaf = Z.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(get("binary(imae(normalize='none'))", reduction="sum")(leaf, T), leaf)
    sign = 2 * T - 1
    torch.testing.assert_close(gradient, -sign * get("imae").emphasis(sign * Z))


def test_gradcheck():
    leaf = Z[:2].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: get("binary(gce)")(z, SOFT[:2]), leaf)
    assert torch.autograd.gradgradcheck(lambda z: get("binary(gce)")(z, SOFT[:2]), leaf)


def test_agrees_with_two_classes():
    pair = torch.stack([torch.zeros(6, dtype=torch.float64), Z[:, 0]], 1)
    torch.testing.assert_close(get("binary(sl)")(Z[:, 0], T[:, 0]), get("sl")(pair, T[:, 0].long()))


def test_ignored_elements_do_not_contribute():
    target, logits = T.clone(), Z.clone()
    target[2, 1] = -100
    logits[2, 1] = torch.nan
    kept = torch.ones_like(T, dtype=torch.bool)
    kept[2, 1] = False
    torch.testing.assert_close(get("binary(gce)")(logits, target), get("binary(gce)")(Z[kept], T[kept]))
    assert get("binary(gce)")(logits, torch.full_like(T, -100)) == 0


def test_weights():
    weight = torch.tensor([1.0, 2.0, 0.0, 1.0], dtype=torch.float64)
    rows = get("binary(gce)", reduction="none")(Z, T)
    found = get("binary(gce)", weight=weight)(Z, T)
    torch.testing.assert_close(found, (rows * weight).sum() / (6 * weight.sum()))
    share = torch.arange(6, dtype=torch.float64)
    found = get("binary(gce)")(Z, T, sample_weight=share)
    torch.testing.assert_close(found, (rows * share[:, None]).sum() / (4 * share.sum()))


def test_copies_and_spec():
    loss = get("binary(gce(q=0.3))")
    assert str(loss) == "binary(gce(q=0.3))"
    for again in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), get(str(loss))):
        assert torch.equal(again(Z, T), loss(Z, T))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_extreme_logits_are_finite(dtype):
    leaf = torch.tensor([-1e4, -100.0, 100.0, 1e4], dtype=dtype, requires_grad=True)
    value = get("binary(gce)")(leaf, torch.tensor([0, 1, 0, 1]))
    value.backward()
    assert value.isfinite()
    assert leaf.grad.isfinite().all()


def test_scale_in_binary_needs_an_initial_margin():
    assert torch.equal(get("binary(scale(mae))")(Z, T), get("binary(mae)")(Z, T))
    assert not torch.equal(get("binary(scale(mae, initial_margin=4.0))")(Z, T), get("binary(mae)")(Z, T))


@pytest.mark.parametrize(
    ("logits", "target", "message"),
    [
        (Z, T[:, :2], "shape of the logits"),
        (Z, T + 1, r"outside \[0, 1\]"),
        (torch.full_like(Z, torch.nan), T, r"logits\[0, 0\] = nan"),
    ],
)
def test_invalid_arguments_raise_value_error(logits, target, message):
    with pytest.raises(ValueError, match=message):
        binary("ce")(logits, target)
