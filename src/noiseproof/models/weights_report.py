"""The result of loading a file of weights into a model."""

from collections.abc import Sequence
from typing import NamedTuple


class WrongShape(NamedTuple):
    """A tensor that has another shape in the file than in the model."""

    name: str
    in_file: tuple[int, ...]
    in_model: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.in_file} in the file, {self.in_model} in the model"


class Report(NamedTuple):
    """Which tensors were loaded, and which were not; ``str`` gives a summary."""

    path: str
    loaded: tuple[str, ...]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    wrong_shape: tuple[WrongShape, ...]

    @property
    def complete(self) -> bool:
        return not (self.missing or self.unexpected or self.wrong_shape)

    def __str__(self) -> str:
        total = len(self.loaded) + len(self.missing) + len(self.wrong_shape)
        lines = [f"{self.path}: {len(self.loaded)} of {total} tensors loaded"]
        lines += _listed("keep their values, not in the file", self.missing)
        lines += _listed("in the file but not in the model", self.unexpected)
        lines += _listed("keep their values, of another shape", [str(wrong) for wrong in self.wrong_shape])
        return "\n".join(lines)


def _listed(what: str, names: Sequence[str]) -> list[str]:
    return [f"  {len(names)} {what}: {few(names)}"] if names else []


def few(names: Sequence[str], most: int = 4) -> str:
    """The first names and how many there are."""
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")
