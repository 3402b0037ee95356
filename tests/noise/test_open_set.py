"""Open-set noise replaces inputs and keeps labels."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.noise import corrupt, replace_inputs


def corrupted(count=400, rate=0.3, **options):
    return corrupt(np.arange(count) % 4, f"open_set({rate})", num_classes=4, seed=5, **options)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 100), st.integers(1, 9), st.booleans())
def test_only_selected_inputs_are_replaced(count, foreign, as_torch):
    noisy = corrupted(count)
    inputs, outside = np.zeros((count, 2, 2), dtype="uint8"), np.ones((foreign, 2, 2), dtype="uint8")
    if as_torch:
        inputs, outside = torch.from_numpy(inputs), torch.from_numpy(outside)
    replaced = replace_inputs(inputs, noisy, outside)
    assert type(replaced) is type(inputs)
    changed = np.asarray(replaced).reshape(count, -1).all(1) if count else np.zeros(0, bool)
    assert np.array_equal(changed, noisy.open_set.numpy())
    assert not np.asarray(inputs).any(), "the inputs given were changed"


def test_open_set_noise_keeps_labels():
    noisy = corrupted(exact=True)
    assert not noisy.flipped.any()
    assert int(noisy.open_set.sum()) == noisy.manifest.open_set_count == 120
    assert noisy.manifest.realised_rate == 0
    assert corrupt([0, 1], "symmetric(0.2)", num_classes=3, seed=0).open_set is None


def test_replacement_depends_on_the_permanent_index():
    noisy = corrupted()
    foreign = np.arange(50).reshape(50, 1)
    whole = replace_inputs(np.full((400, 1), -1), noisy, foreign)
    order = np.arange(400)[::-3]
    part = corrupted(400)
    subset = corrupt(order % 4, "open_set(0.3)", num_classes=4, seed=5, index=order)
    assert np.array_equal(
        replace_inputs(np.full((len(order), 1), -1), subset, foreign, index=order), whole[order]
    )
    used = whole[part.open_set.numpy()]
    assert len(np.unique(used)) > 35


def test_invalid_arguments_are_refused():
    noisy = corrupted(4)
    with pytest.raises(ValueError, match=r"\(2, 5\).*does not fit inputs of shape \(4, 3\)"):
        replace_inputs(np.zeros((4, 3)), noisy, np.zeros((2, 5)))
    with pytest.raises(ValueError, match="float32 does not fit"):
        replace_inputs(np.zeros((4, 3)), noisy, np.zeros((2, 3), dtype="float32"))
    with pytest.raises(ValueError, match="3 inputs do not fit 4 labels"):
        replace_inputs(np.zeros((3, 3)), noisy, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="not an open-set noise"):
        replace_inputs(
            np.zeros((2, 3)), corrupt([0, 1], "symmetric(0.2)", num_classes=2, seed=0), np.zeros((2, 3))
        )
