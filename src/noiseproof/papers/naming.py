"""Names of rows and columns: what sets the numbers of a table apart, and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .metrics import METRICS
from .record import Record
from .table import JOINT

SILENT = {"g", "emphasis_focus", "constraints", "same as", "beta_lambda", "A"}
"""Hyper-parameters that tell no two rows apart."""
OF_COLUMNS = ("optimizer", "lr", "delta")
"""Those that tell columns apart, in the one table that is about optimisers."""
LETTERS = {"lambda": "λ", "beta": "β", "tau": "τ", "delta": "δ"}

Part = Callable[[Record], str]


def name_places(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Row and column of every record.

    A row is the method, with dataset and network where they vary; where one method has several numbers in a
    column also whose they are and, if that is not enough, its hyper-parameters. A column is the noise and,
    where they vary, the metric.

    Example:
        >>> clean = Record(metric="snr", value=1.0, method="MAE", noise="clean")
        >>> noisy = Record(metric="snr", value=2.0, method="MAE", noise="symmetric", rate=0.4)
        >>> name_places([clean, noisy])
        [('MAE', 'clean'), ('MAE', 'symmetric 0.4')]
    """
    varying = [part for part in (_dataset, _network) if len({part(record) for record in records}) > 1]
    metrics = {record.metric for record in records}
    columns = [_column(record, len(metrics) > 1) for record in records]
    fixed = _fixed(records)
    more: tuple[list[Part], ...] = ([], [_source], [lambda record: _options(record, fixed), _source])
    for parts in more:
        rows = [_joined(record, [*varying, _method, *parts]) for record in records]
        places = list(zip(rows, columns, strict=True))
        if len(set(places)) == len(records):
            break
    return places


def _dataset(record: Record) -> str:
    return record.dataset


def _network(record: Record) -> str:
    return record.network


def _method(record: Record) -> str:
    return record.method


def _source(record: Record) -> str:
    return f"from {record.quoted_from}" if record.quoted_from else ""


def _joined(record: Record, parts: Sequence[Part]) -> str:
    return JOINT.join(word for part in parts if (word := part(record))) or "all"


def _column(record: Record, with_metric: bool) -> str:
    noise = "" if record.noise == "real-world" else record.noise
    words = [f"{noise} {record.rate:g}" if noise not in ("", "clean") else noise]
    words += [
        _option(name, record.hyperparameters[name]) for name in OF_COLUMNS if name in record.hyperparameters
    ]
    if with_metric or not noise:
        words.append(METRICS[record.metric].words)
    return JOINT.join(word for word in words if word)


def _fixed(records: Sequence[Record]) -> Mapping[str, object]:
    """Hyper-parameters that are the same wherever they are given."""
    values: dict[str, set[object]] = {}
    for record in records:
        for name, value in record.hyperparameters.items():
            values.setdefault(name, set()).add(value)
    return {name: found for name, found in values.items() if len(found) == 1 and found != {True}}


def _options(record: Record, fixed: Mapping[str, object]) -> str:
    told = [
        _option(name, value)
        for name, value in record.hyperparameters.items()
        if name not in SILENT and name not in fixed
    ]
    return ", ".join(told)


def _option(name: str, value: object) -> str:
    if value is True:
        return name
    if name == "optimizer":
        return str(value)
    return f"{LETTERS.get(name, name)}={value:g}" if isinstance(value, (int, float)) else f"{name}={value}"
