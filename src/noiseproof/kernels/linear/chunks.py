r"""How many rows of logits exist at a time, and in what precision the weight's gradient is summed.

Every chunk reads and writes the whole gradient of the weight (V x H numbers), so few large chunks are
fast; and sums kept in bfloat16 round once per chunk, so few chunks are exact. The rule for N rows:

* a quarter of the rows, that is a quarter of the logits, overwritten in place by their own gradient;
* for N > 12 H, where even a quarter is more than a float32 copy of the weight: H rows, as many logits
  as the weight has entries, and a gradient summed in float32;
* never fewer than H/8 rows or 2\ :sup:`23` logits, which is little beside the weight or at all.
"""

from collections.abc import Iterator

import torch

PARTS = 4
LONG = 12
FREE_LOGITS = 1 << 23
CPU_BLOCK_LOGITS = 1 << 19
"""Inside a chunk the loss looks at so many logits at a time: what a cache holds."""
DEVICE_BLOCK_LOGITS = 1 << 25


def rows_per_chunk(rows: int, width: int, classes: int) -> int:
    """The rule above.

    >>> rows_per_chunk(8192, 4096, 128256), rows_per_chunk(131072, 4096, 128256)
    (2048, 4096)
    >>> rows_per_chunk(128, 512, 10)
    128
    """
    quarter = -(-rows // PARTS)
    wanted = quarter if rows <= LONG * width else width
    return max(1, min(rows, max(wanted, width // 8, FREE_LOGITS // classes)))


def slices(count: int, step: int) -> Iterator[slice]:
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def block_rows(classes: int, device: torch.device) -> int:
    """Rows the loss looks at together."""
    return max(1, (CPU_BLOCK_LOGITS if device.type == "cpu" else DEVICE_BLOCK_LOGITS) // classes)


def sum_dtype(dtype: torch.dtype, chunks: int) -> torch.dtype:
    """Where products of several chunks are summed: float16 overflows, bfloat16 rounds at every chunk."""
    if dtype == torch.bfloat16 and chunks <= PARTS:
        return dtype
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
