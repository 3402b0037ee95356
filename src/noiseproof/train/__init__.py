"""The training loop: ``fit`` trains as a ``Config`` says and writes a run folder."""

from ..lock import RunLockedError
from ..processes import Interrupted
from .callbacks import Watcher
from .comparison.runs import ComparisonStopped, ComparisonWatcher, compare
from .comparison.table import Comparison, grid
from .config import Config
from .loop import fit
from .nan_guard import NonFiniteError
from .optimizer import OPTIMIZERS, SCHEDULES
from .resume import RunExistsError
from .run import Run

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Comparison",
    "ComparisonStopped",
    "ComparisonWatcher",
    "Config",
    "Interrupted",
    "NonFiniteError",
    "Run",
    "RunExistsError",
    "RunLockedError",
    "Watcher",
    "compare",
    "fit",
    "grid",
]
