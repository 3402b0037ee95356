"""Classes shared out over processes: each holds consecutive rows of the weight, in the order of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


class Shards(NamedTuple):
    """A group and how many classes each of its processes holds.

    >>> shards = Shards(None, (4, 4, 3), rank=1)
    >>> shards.classes, shards.start
    (11, 4)
    """

    group: dist.ProcessGroup
    sizes: tuple[int, ...]
    rank: int

    @property
    def classes(self) -> int:
        return sum(self.sizes)

    @property
    def start(self) -> int:
        """The first class held here."""
        return sum(self.sizes[: self.rank])

    def gathered(self, tensor: Tensor) -> Tensor:
        """What every process has, (processes, *shape); one collective."""
        return gathered(tensor, self.group)

    def add_up(self, tensor: Tensor | None, dtype: torch.dtype) -> Tensor | None:
        """The sum over the processes, of this dtype; one collective, which may overwrite."""
        if tensor is None or tensor.numel() == 0:
            return tensor
        total = tensor.to(dtype)
        dist.all_reduce(total, group=self.group)
        return total


class Part(NamedTuple):
    """What a process brings, as whole numbers; all but ``size`` must be alike."""

    is_broken: int = 1
    size: int = 0
    rows: int = 0
    width: int = 0
    dtype: int = 0
    learns: int = 0
    chunk: int = 0
    sums: int = 0
    reduction: int = 0
    loss: int = 0


ALIKE = {
    "rows": "the number of rows of hidden",
    "width": "the width of hidden",
    "dtype": f"the dtype of hidden (an index of {', '.join(str(dtype)[6:] for dtype in DTYPES)})",
    "learns": "whether hidden requires a gradient",
    "chunk": "chunk (0 for None)",
    "sums": "the number of sums the loss takes of a row",
    "reduction": "the reduction of the loss",
    "loss": "the loss or its ignore_index (a checksum of both)",
}
MARKED = ("target", "the class weights", "sample_weight")
"""Tensors that must be alike, too."""


def meet(
    group: dist.ProcessGroup,
    part: Part,
    marked: Sequence[Tensor | None],
    device: torch.device,
    problem: Exception | None = None,
) -> Shards:
    """Processes tell each other what they bring, so that whatever does not fit is refused by all of them.

    ``marked`` are the tensors of ``MARKED``; ``problem`` is what is wrong here. One collective, and the only
    time a device is waited for.
    """
    told = torch.tensor(part, device=device)
    everyone = gathered(torch.cat([told, *(_mark(tensor, told) for tensor in marked)]), group)
    found = dict(zip((*Part._fields, *MARKED), everyone.t().tolist(), strict=True))
    if problem is not None:
        raise problem
    if any(found["is_broken"]):
        rank = found["is_broken"].index(1)
        raise ValueError(f"process {rank} of the group was given what does not fit: see the error it raised")
    for name, words in ALIKE.items():
        if len(set(found[name])) > 1:
            raise ValueError(f"{words} differs between the processes of the group: {found[name]}")
    for name in MARKED:
        if len(set(found[name])) > 1:
            raise ValueError(f"{name} differs between the processes of the group: all need the same rows")
    return Shards(group, tuple(found["size"]), dist.get_rank(group))


def gathered(tensor: Tensor, group: dist.ProcessGroup) -> Tensor:
    """(processes, *shape)"""
    everyone = tensor.new_empty((dist.get_world_size(group), *tensor.shape))
    if tensor.numel():
        dist.all_gather(list(everyone), tensor.contiguous(), group=group)
    return everyone


def _mark(tensor: Tensor | None, told: Tensor) -> Tensor:
    """One number that all but surely differs where tensors do, on their device; 0 for none."""
    if tensor is None:
        return torch.zeros_like(told[:1])
    flat = tensor.detach().reshape(-1).to(told.device)
    whole = flat.double().view(torch.int64) if flat.is_floating_point() else flat.to(told)
    return 1 + (whole * torch.arange(1, len(flat) + 1, device=told.device)).sum(0, keepdim=True)
