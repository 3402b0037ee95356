"""Processes that torchrun started: each would train the same run into the same folder."""

from __future__ import annotations

import os

from torch import distributed

from ..methods import OneProcessError


def refuse_ranks() -> None:
    """OneProcessError in every rank of several."""
    rank, size = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
    if distributed.is_available() and distributed.is_initialized():
        rank, size = str(distributed.get_rank()), str(distributed.get_world_size())
    if size.isdecimal() and int(size) > 1:
        raise OneProcessError(
            f"training under torchrun is not supported yet, and this is rank {rank} of {size}: start the"
            " command once, without torchrun; to train several runs side by side use noiseproof compare"
        )
