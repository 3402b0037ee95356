"""Files that cannot be read: named, never silently dropped."""

from __future__ import annotations

from typing import NamedTuple


class BrokenFile(NamedTuple):
    """A sample whose file cannot be used.

    Example:
        >>> print(BrokenFile(3, "cats/7.png", "image file is truncated"))
        sample 3, cats/7.png: image file is truncated
    """

    index: int  # type: ignore[assignment]
    path: str
    problem: str

    def __str__(self) -> str:
        return f"sample {self.index}, {self.path}: {self.problem}"


class BrokenFileError(ValueError):
    """Raised when a file cannot be used and nobody asked to skip it; ``broken`` says which."""

    def __init__(self, broken: BrokenFile) -> None:
        super().__init__(f'cannot read {broken} (repair or remove it, or load with on_error="skip")')
        self.broken = broken

    def __reduce__(self) -> tuple[type[BrokenFileError], tuple[BrokenFile]]:
        return BrokenFileError, (self.broken,)
