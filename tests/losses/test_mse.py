"""The squared error as torch expressions: gradients without cancellation."""

import pytest
from row_accuracy import share_of_inaccurate_rows


@pytest.mark.parametrize("spec", ["mse", "mse(alpha=0.2)", "mse + mae"])
@pytest.mark.parametrize("classes", [3, 10, 100])
@pytest.mark.parametrize("std", [1, 3, 6])
def test_float32_gradients_are_accurate(spec, classes, std):
    assert share_of_inaccurate_rows(spec, classes, std) < 1e-3
