"""How many programs are compiled into kernels."""

from __future__ import annotations

from .recorder import WIDTH, Program

PROGRAMS_PER_SHAPE = 16
"""A loss whose constants change at every call would compile a kernel each time: later ones run as torch."""
_constants_seen: dict[tuple[object, ...], set[Program]] = {}


def is_worth_a_kernel(program: Program) -> bool:
    """Whether it is among the first that do the same operations with these or other constants."""
    seen = _constants_seen.setdefault((program.code[::WIDTH], program.outputs), set())
    if program not in seen and len(seen) >= PROGRAMS_PER_SHAPE:
        return False
    seen.add(program)
    return True
