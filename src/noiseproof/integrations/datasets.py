"""``labels.find`` for Hugging Face datasets, with findings as columns. Needs the extra ``hf``.

To train on images or numbers of a dataset, use ``data.load('huggingface(path="...")')`` or
``data.from_huggingface``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import LabelledData
from ..grammar import nearest
from ..labels import find

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

FINDINGS = ("is_label_issue", "label_score", "wrong_probability", "predicted_label")


def find_in(dataset: Any, inputs: str | Sequence[str], *, label: str = "label", **options: Any) -> DataFrame:
    """``labels.find`` for a ``datasets.Dataset``: one column of texts, or columns of a table.

    Args:
        inputs: name of a column of texts, or names of several columns of any kind.
        options: of ``labels.find``.

    Example::

        found = find_in(load_from_disk("reviews"), "text")
        suspects = with_findings(dataset, found).filter(lambda row: row["is_label_issue"])
    """
    columns = [inputs] if isinstance(inputs, str) else list(inputs)
    for name in [*columns, label]:
        if name not in dataset.column_names:
            raise ValueError(f"the dataset has no column {name!r}{nearest(name, dataset.column_names)}")
    rows = dataset.select_columns(columns).to_pandas()
    given = list(rows[inputs]) if isinstance(inputs, str) and rows[inputs].dtype.kind not in "iufb" else rows
    names = getattr(dataset.features[label], "names", None)
    return find(LabelledData(given, np.asarray(dataset[label]), class_names=names), **options)


def with_findings(dataset: Any, found: DataFrame, *, label: str = "label") -> Any:
    """The dataset with the columns is_label_issue, label_score, wrong_probability and predicted_label.

    ``predicted_label`` contains class names, or class numbers if the dataset has numbers.
    """
    ordered = found.sort_values("index")
    if len(ordered) != len(dataset):
        raise ValueError(f"found has {len(ordered):,} labels, the dataset has {len(dataset):,} rows")
    names = found.attrs["class_names"]
    for name in FINDINGS:
        values = ordered[name].tolist()
        if name == "predicted_label" and not isinstance(dataset[0][label], int):
            values = [names[number] if number >= 0 else None for number in values]
        dataset = dataset.add_column(name, values)
    return dataset
