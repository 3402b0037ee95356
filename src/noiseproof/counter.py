"""Counter-based random numbers: a hash of (seed, epoch, sample, stream), without a generator.

The number of a sample does not depend on batch order, batch size, workers, device or world size. The numbers
of one (seed, stream) are outputs of splitmix64 with a hashed initial state, advanced by one odd increment per
sample and another per epoch. All operations are int64 arithmetic modulo 2**64, so they are exact on every
device and run inside ``torch.compile`` and CUDA graphs.
"""

from __future__ import annotations

import operator

import torch
from torch import Tensor

SAMPLE = -7046029254386353131
"""2**64 divided by the golden ratio, the increment of splitmix64, as a signed int64."""
EPOCH = -4417276706812531889
SEED = 6364136223846793005
INTEGER_DTYPES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
KEY_SHIFT = 34
"""Shift of a number that is only a sort key: 30 bits remain, which are faster to sort."""
ROUNDS = ((30, -4658895280553007687), (27, -7723592293110705685))


def draw(*, seed: int, epoch: int | Tensor, index: Tensor, stream: int) -> Tensor:
    """64 random bits for every sample.

    Shape:
        index (N,) int64 on any device, epoch an int or a 0-dimensional int64 tensor; result (N,) int64
    Example:
        >>> draw(seed=0, epoch=0, index=torch.tensor([5, 6]), stream=1)
        tensor([...])

    Reference:
        Steele, Lea & Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014
    """
    index = _stored(index) if torch.compiler.is_compiling() else index
    start = mix(_scalar("seed", seed, index) * SEED + stream)
    return mix(index * SAMPLE + (_scalar("epoch", epoch, index) * EPOCH + start))


@torch.library.custom_op("noiseproof::stored", mutates_args=())
def _stored(index: Tensor) -> Tensor:
    """A copy in memory: for an ``arange`` the compiler would compute the product in 32 bits."""
    return index.clone()


@_stored.register_fake
def _(index: Tensor) -> Tensor:
    return torch.empty_like(index)


def mix(number: Tensor) -> Tensor:
    """The finaliser of splitmix64, a bijective hash of 64-bit integers."""
    for bits, multiplier in ROUNDS:
        number = (number ^ shifted_right(number, bits)) * multiplier
    return number ^ shifted_right(number, 31)


def shifted_right(number: Tensor, bits: int) -> Tensor:
    """Logical right shift, which fills with zeros as for unsigned integers."""
    return (number >> bits) & ((1 << (64 - bits)) - 1)


def upper_below(bits: Tensor, count: int) -> Tensor:
    """A number in 0 ... count-1 from the upper half of 64 bits, uniform up to count / 2**32.

    Example:
        >>> upper_below(torch.tensor([-1, 0, 1 << 62]), 10)
        tensor([9, 0, 2])
    """
    return (shifted_right(bits, 32) * count) >> 32


def lower_below(bits: Tensor, count: int) -> Tensor:
    """A number in 0 ... count-1 from the lower half of 64 bits, independent of ``upper_below``."""
    return ((bits & 0xFFFFFFFF) * count) >> 32


def _scalar(name: str, value: int | Tensor, index: Tensor) -> Tensor:
    """A 0-dimensional int64 tensor; on the CPU unless compiled, so that eager kernels get a scalar."""
    if isinstance(value, Tensor):
        if value.dim() or value.dtype not in INTEGER_DTYPES:
            raise ValueError(f"{name} must be one whole number, got {tuple(value.shape)} of {value.dtype}")
        return value.long()
    value = _as_int(name, value)
    if not 0 <= value < 1 << 62:
        raise ValueError(f"{name}={value!r} is out of range: it must satisfy 0 <= {name} < 2**62")
    device = index.device if torch.compiler.is_compiling() else "cpu"
    return torch.full((), value, dtype=torch.int64, device=device)


def _as_int(name: str, value: object) -> int:
    """An int, or an object with ``__index__``, but not a bool."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r} must be a whole number")
    return operator.index(value)
