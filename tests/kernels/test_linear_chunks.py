import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.kernels.linear.projection import FREE_LOGITS, rows_per_chunk, slices, sum_dtype

SIZES = st.integers(1, 1 << 20), st.integers(1, 1 << 14), st.integers(2, 1 << 18)


@given(*SIZES)
def test_a_chunk_is_small_beside_logits_or_weight_or_at_all(rows, width, classes):
    chunk = rows_per_chunk(rows, width, classes)
    assert 1 <= chunk <= rows
    bound = max(-(-rows // 4) * classes, width * classes // 8, FREE_LOGITS)
    assert chunk * classes <= bound
    if rows > 12 * width:
        assert chunk * classes <= max(width * classes, FREE_LOGITS)


@given(*SIZES)
def test_chunks_are_few_or_as_large_as_the_weight(rows, width, classes):
    """Every chunk reads and writes the weight's gradient."""
    chunk = rows_per_chunk(rows, width, classes)
    assert -(-rows // chunk) <= 4 or chunk >= width


@given(st.integers(0, 200), st.integers(1, 50))
def test_slices_cover_every_row_once(count, step):
    covered = [row for part in slices(count, step) for row in range(part.start, part.stop)]
    assert covered == list(range(count))


@pytest.mark.parametrize(
    ("dtype", "chunks", "wanted"),
    [
        (torch.bfloat16, 4, torch.bfloat16),
        (torch.bfloat16, 5, torch.float32),
        (torch.float16, 1, torch.float32),
        (torch.float32, 9, torch.float32),
        (torch.float64, 9, torch.float64),
    ],
)
def test_precision_of_the_sum(dtype, chunks, wanted):
    assert sum_dtype(dtype, chunks) == wanted
