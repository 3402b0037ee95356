"""The one loop: a config in, a run folder out."""

from .begun import RunExistsError
from .compare_grid import grid
from .compare_runs import ComparisonStopped, ComparisonWatcher, compare
from .compare_table import Comparison
from .config import Config
from .health import NonFiniteError
from .interrupt import Interrupted
from .lock import RunLockedError
from .loop import fit
from .optimizer import OPTIMIZERS
from .run import Run
from .schedule import SCHEDULES
from .watcher import Watcher

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
