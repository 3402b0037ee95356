"""The squared error as expressions: gradients without cancellation."""

import pytest
from row_accuracy import share_of_bad_rows


@pytest.mark.parametrize("spec", ["mse", "mse(alpha=0.2)", "mse + mae"])
@pytest.mark.parametrize("classes", [3, 10, 100])
@pytest.mark.parametrize("std", [1, 3, 6])
def test_gradients_keep_their_digits(spec, classes, std):
    assert share_of_bad_rows(spec, classes, std) < 1e-3
