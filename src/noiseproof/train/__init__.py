"""The one loop: a config in, a run folder out."""

from ..lock import RunLockedError
from .callbacks import Watcher
from .comparison.grid import grid
from .comparison.runs import ComparisonStopped, ComparisonWatcher, compare
from .comparison.table import Comparison
from .config import Config
from .interrupt import Interrupted
from .loop import fit
from .nan_guard import NonFiniteError
from .optimizer import OPTIMIZERS
from .resume import RunExistsError
from .run import Run
from .schedule import SCHEDULES

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
