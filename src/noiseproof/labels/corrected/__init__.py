"""Write corrected data in the format of the original (table, arrays, image folder), with a log of changes."""

from .log import ChangeLog, log_of, read_log
from .revert import revert
from .write import Corrected, write_corrected

__all__ = ["ChangeLog", "Corrected", "log_of", "read_log", "revert", "write_corrected"]
