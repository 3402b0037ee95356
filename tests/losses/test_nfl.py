"""The normalised focal loss as torch expressions: gradients without cancellation, masked labels."""

import pytest
import torch
from row_accuracy import share_of_inaccurate_rows

from noiseproof import losses


@pytest.mark.parametrize("gamma", [0.5, 2])
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("std", [1, 3, 6])
def test_float32_gradients_are_accurate(gamma, classes, std):
    assert share_of_inaccurate_rows(f"nfl(gamma={gamma})", classes, std) < 1e-3


@pytest.mark.parametrize("spec", ["nfl", "cr(nfl)", "nfl + mae"])
def test_masked_label_raises_value_error(spec):
    logits = torch.tensor([[0.0, 1.0, 2.0], [0.0, -torch.inf, 1.0]])
    with pytest.raises(ValueError, match=r"logits\[1, 1\] = -inf is the label.*cannot be the target"):
        losses.get(spec)(logits, torch.tensor([2, 1]))


@pytest.mark.parametrize("spec", ["nfl", "cr(ce)", "cr(gce)", "nce"])
def test_row_with_only_the_label_raises_value_error(spec):
    logits = torch.tensor([[0.0, 1.0, 2.0], [-torch.inf, 1.0, -torch.inf]])
    with pytest.raises(ValueError, match=r"logits\[1\] masks every class but the label"):
        losses.get(spec)(logits, torch.tensor([2, 1]))
