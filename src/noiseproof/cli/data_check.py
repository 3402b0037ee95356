"""Check that the data of all runs exist before the first run starts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .errors import DATA_ROOT_HINT, one_line

if TYPE_CHECKING:
    from ..train import Config


def check_data(configs: Iterable[Config]) -> None:
    """Load the data and locate the weights of every unfinished run; one error lists everything missing.

    Without this check each run would start and fail with the same message.
    """
    from ..data import DataMissingError
    from ..data.locations import weights_file
    from ..train.task import make_task

    missing: dict[str, None] = {}
    for config in _one_per_source(configs):
        for check in (make_task, lambda one: one.weights and weights_file(one.weights)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the runs warn again
                    check(config)
            except DataMissingError as problem:
                missing[problem.brief or one_line(problem)] = None
    if missing:
        raise FileNotFoundError("; ".join(missing) + DATA_ROOT_HINT)


def _one_per_source(configs: Iterable[Config]) -> list[Config]:
    from ..dynamics.run_folder import RESULT
    from ..train.config import run_folder

    left = [config for config in configs if not (run_folder(config) / RESULT).is_file()]
    needs = {(one.data, one.test, one.validation_data, one.weights): one for one in reversed(left)}
    return list(needs.values())[::-1]
