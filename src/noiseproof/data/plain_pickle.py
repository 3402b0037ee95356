"""Reads the pickles that CIFAR comes in without unpickling them.

A pickle is a program. Here only the few instructions run that write a dict of numbers, text, flat lists and
integer arrays: nothing is imported, called or allocated because a file asks for it.
"""

from __future__ import annotations

import pickletools
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from .pickle_machine import MOST_INSTRUCTIONS, PickleMachine
from .pickled_array import PickleRefusedError

Plain: TypeAlias = int | str | bytes | list[int | str | bytes] | NDArray[Any]
MOST_BYTES = 1 << 29


def read_plain_pickle(path: str | Path) -> dict[str, Plain]:
    """The dict in a pickle file of numbers, text, flat lists and integer arrays; anything else is refused."""
    length = Path(path).stat().st_size
    if length > MOST_BYTES:
        raise PickleRefusedError(f"{path} has {length} bytes, more than {MOST_BYTES}")
    try:
        return parse_plain_pickle(Path(path).read_bytes())
    except PickleRefusedError as problem:
        raise PickleRefusedError(f"{path} is refused: {problem}") from None


def parse_plain_pickle(content: bytes) -> dict[str, Plain]:
    r"""As ``read_plain_pickle``, from bytes. Keys are text, whichever Python wrote them.

    Example:
        >>> parse_plain_pickle(b"(dS'labels'\n(lI3\naI5\nas.")
        {'labels': [3, 5]}
        >>> parse_plain_pickle(b"cos\nsystem\n(S'echo'\ntR.")
        Traceback (most recent call last):
        noiseproof.data.pickled_array.PickleRefusedError: GLOBAL 'os system' at byte 0 is not allowed
    """
    machine = PickleMachine(len(content))
    position = None
    try:
        for count, (opcode, argument, position) in enumerate(pickletools.genops(content)):
            if count >= MOST_INSTRUCTIONS:
                raise PickleRefusedError(f"more than {MOST_INSTRUCTIONS} instructions")
            machine.step(opcode.name, argument, position)
    except PickleRefusedError:
        raise
    except Exception as problem:  # whatever damaged bytes provoke in the decoder
        raise PickleRefusedError(f"damaged: {type(problem).__name__}: {problem!s:.200}") from None
    if position != len(content) - 1 or len(machine.stack) != 1 or type(machine.stack[0]) is not dict:
        raise PickleRefusedError("expected one dict and nothing after it")
    found: dict[str, Plain] = machine.stack[0]
    return found
