import pytest
import torch
from torch.nn.functional import one_hot

from noiseproof import losses
from noiseproof.kernels import check_logits_finite


@pytest.mark.parametrize("spec", ["ce", "cr(gr)", "nfl", "10*nce + nfl"])
def test_finite_logits_with_overflowing_sum_are_accepted(spec):
    """A sum of row maxima in float16 overflows."""
    generator = torch.Generator().manual_seed(0)
    logits = (6 * torch.randn(8000, 10, generator=generator)).half()
    target = torch.randint(10, (8000,), generator=generator)
    loss = losses.get(spec)
    for given in (target, one_hot(target, 10).half()):
        assert float(loss(logits, given)) == pytest.approx(
            float(loss(logits.double(), given.to(given.dtype))), rel=1e-3
        )


def test_first_row_that_is_not_finite_is_named():
    logits = torch.full((4, 3), 3e38)
    check_logits_finite(logits)
    logits[2, 1] = torch.nan
    with pytest.raises(ValueError, match="logits of row 2 are not finite"):
        check_logits_finite(logits)


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("spec", ["ce", "gce", "nce", "mse", "gls", "nfl", "cr(ce)", "cr(gce)", "ce + nfl"])
def test_infinite_logit_of_any_class_raises_value_error(spec, column):
    logits = torch.zeros(4, 3)
    logits[1, column] = torch.inf
    with pytest.raises(ValueError, match=r"logits\[1, |logits of row 1"):
        losses.get(spec)(logits.requires_grad_(), torch.zeros(4, dtype=torch.int64))
