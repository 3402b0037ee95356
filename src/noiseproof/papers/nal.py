"""NAL: Lu et al., Noise Attention Learning: Enhancing Noise Robustness by Gradient Scaling, NeurIPS 2022.

The tables are those of its appendix.
"""

from __future__ import annotations

from .cells import Filling, Quoted
from .table_builder import Plan, Record, make_tables, unavailable

PRETRAINED = "ResNet-50 (ImageNet pretrained)"
SOURCES = {
    "SCE": "SL (Wang et al., 2019)",
    "SELC": "SELC (Lu & He, 2022)",
    "ELR": "ELR (Liu et al., 2020)",
    "ELR+": "ELR (Liu et al., 2020)",
    "DivideMix": "DivideMix (Li et al., 2020)",
}


def fill(record: Record) -> Filling:
    """Pretrained rows are the numbers of the methods' own papers; the authors trained from scratch."""
    if record.network == PRETRAINED:
        return Quoted(SOURCES[record.method])
    found = unavailable(record)
    if found is None:
        raise ValueError(f"no rule for {record}")
    return found


PLANS = {
    "table1": Plan("Datasets", fill),
    "table2": Plan(
        "Clothing1M, from scratch and from ImageNet",
        fill,
        (
            "The rows from scratch are said to follow works that use a pretrained network.",
            "The library would need Clothing1M, epochs of 2,000 class-balanced batches, and for two rows"
            " ELR+ and DivideMix.",
        ),
    ),
}
TABLES = make_tables("nal", PLANS)
