"""The data of many runs, looked at once before the first of them starts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .endings import ELSEWHERE, one_line

if TYPE_CHECKING:
    from ..train import Config


def check_data(configs: Iterable[Config]) -> None:
    """Read the data of every run that is not finished, and release it; all that is missing is named.

    Otherwise each run would fail alone, with the same words, after it was started.
    """
    from ..data import DataMissingError
    from ..train.task import make_task

    missing: dict[str, None] = {}
    for config in _one_per_source(configs):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the runs give them
                make_task(config)
        except DataMissingError as problem:
            missing[problem.brief or one_line(problem)] = None
    if missing:
        raise FileNotFoundError("; ".join(missing) + ELSEWHERE)


def _one_per_source(configs: Iterable[Config]) -> list[Config]:
    from ..dynamics.run_folder import RESULT
    from ..train.config import run_folder

    left = [config for config in configs if not (run_folder(config) / RESULT).is_file()]
    return list({(config.data, config.test): config for config in reversed(left)}.values())[::-1]
