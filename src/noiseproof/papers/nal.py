"""NAL: Lu et al., Noise Attention Learning: Enhancing Noise Robustness by Gradient Scaling, NeurIPS 2022.

The tables are those of its appendix. Pretrained rows are the numbers of the methods' own papers.
"""

from __future__ import annotations

from .cells import Filling
from .table_builder import Record, make_tables


def fill(record: Record) -> Filling:
    raise ValueError(f"no rule for {record}")


TABLES = make_tables("nal", fill)
