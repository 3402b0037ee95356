"""Find wrong labels: in data, in the record of a run, in out-of-sample probabilities."""

from .export import write
from .find import find
from .read import read_probabilities
from .witnesses import WITNESSES

__all__ = ["WITNESSES", "find", "read_probabilities", "write"]
