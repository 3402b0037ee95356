"""Read the pickle files of CIFAR without unpickling them.

A pickle is a program. Only the few instructions that build a dict of numbers, text, flat lists and integer
arrays are interpreted: no imports, no calls and no allocations requested by the file.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Plain: TypeAlias = int | str | bytes | list[int | str | bytes] | NDArray[Any]
MAX_BYTES = 1 << 29
LITERALS = frozenset(
    {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "STRING", "BINSTRING", "SHORT_BINSTRING"}
    | {"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"}
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MEMO_WRITES = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
MEMO_READS = ("GET", "BINGET", "LONG_BINGET")
WITHOUT_EFFECT = ("PROTO", "FRAME", "STOP")
MAX_INSTRUCTIONS = 2_000_000
RECONSTRUCT, NDARRAY, DTYPE, ENCODE = "array rebuild", "ndarray", "dtype", "text to bytes"
ALLOWED_NAMES = {
    "numpy.core.multiarray _reconstruct": RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": RECONSTRUCT,
    "numpy ndarray": NDARRAY,
    "numpy dtype": DTYPE,
    "_codecs encode": ENCODE,
}
INTEGERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
MAX_DIMENSIONS = 4
BytesOf: TypeAlias = Callable[[object], bytes]
"""Text or bytes to bytes, within the limits of the file."""


def read_plain_pickle(path: str | Path) -> dict[str, Plain]:
    """Read a pickled dict of numbers, text, flat lists and integer arrays; anything else raises an error."""
    length = Path(path).stat().st_size
    if length > MAX_BYTES:
        raise PickleRefusedError(f"{path} has {length} bytes, more than {MAX_BYTES}")
    try:
        return parse_plain_pickle(Path(path).read_bytes())
    except PickleRefusedError as problem:
        raise PickleRefusedError(f"{path} is refused: {problem}") from None


def parse_plain_pickle(content: bytes) -> dict[str, Plain]:
    r"""``read_plain_pickle`` for bytes. Keys are converted to text, for Python 2 and 3.

    Example:
        >>> parse_plain_pickle(b"(dS'labels'\n(lI3\naI5\nas.")
        {'labels': [3, 5]}
        >>> parse_plain_pickle(b"cos\nsystem\n(S'echo'\ntR.")
        Traceback (most recent call last):
        noiseproof.data.safe_pickle.PickleRefusedError: GLOBAL 'os system' at byte 0 is not allowed
    """
    machine = PickleMachine(len(content))
    position = None
    try:
        for count, (opcode, argument, position) in enumerate(pickletools.genops(content)):
            if count >= MAX_INSTRUCTIONS:
                raise PickleRefusedError(f"more than {MAX_INSTRUCTIONS} instructions")
            machine.step(opcode.name, argument, position)
    except PickleRefusedError:
        raise
    except Exception as problem:  # the decoder may raise any exception for damaged bytes
        raise PickleRefusedError(f"damaged: {type(problem).__name__}: {problem!s:.200}") from None
    if position != len(content) - 1 or len(machine.stack) != 1 or type(machine.stack[0]) is not dict:
        raise PickleRefusedError("expected one dict and nothing after it")
    found: dict[str, Plain] = machine.stack[0]
    return found


class PickleMachine:
    """Interprets instructions; lists and dicts cannot contain lists or dicts, which bounds memory."""

    def __init__(self, length: int) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.bytes_left = length

    def step(self, name: str, argument: Any, position: int | None) -> None:
        if name in LITERALS:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in SHORT_TUPLES:
            self.stack.append(tuple(self.pop(SHORT_TUPLES[name])))
        elif name in MEMO_WRITES:
            self.save(len(self.memo) if argument is None else argument)
        elif name in MEMO_READS:
            self.stack.append(self.memo[argument])
        elif name == "GLOBAL" and argument in ALLOWED_NAMES:
            self.stack.append(GlobalName(ALLOWED_NAMES[argument]))
        elif name in ACTIONS:
            ACTIONS[name](self)
        elif name not in WITHOUT_EFFECT:
            shown = name if argument is None else f"{name} {argument!r:.80}"
            raise PickleRefusedError(f"{shown} at byte {position} is not allowed")

    def save(self, number: int) -> None:
        if number > MAX_INSTRUCTIONS:
            raise PickleRefusedError(f"memo number {number} is not allowed")
        self.memo[number] = self.stack[-1]

    def pop(self, count: int) -> list[Any]:
        start = len(self.stack) - count
        if start < (self.marks[-1] if self.marks else 0):
            raise PickleRefusedError("damaged: the stack is too short")
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def pop_to_mark(self) -> list[Any]:
        start = self.marks.pop()
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def stack_global(self) -> None:
        module, name = self.pop(2)
        reference = f"{as_text(module)} {as_text(name)}"
        if reference not in ALLOWED_NAMES:
            raise PickleRefusedError(f"STACK_GLOBAL {reference!r:.80} is not allowed")
        self.stack.append(GlobalName(ALLOWED_NAMES[reference]))

    def reduce(self) -> None:
        reference, arguments = self.pop(2)
        self.stack.append(reduced(reference, arguments, self.bytes_of))

    def build(self) -> None:
        (state,) = self.pop(1)
        target = self.stack[-1]
        if not isinstance(target, (UnfinishedArray, UnfinishedDtype)):
            raise PickleRefusedError(f"BUILD on a {type(target).__name__} is not allowed")
        target.build(state, self.bytes_of)

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise PickleRefusedError(f"APPEND to a {type(self.stack[-1]).__name__} is not allowed")
        self.stack[-1].extend([checked_entry(item) for item in items])

    def update(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not dict or len(items) % 2:
            raise PickleRefusedError(f"SETITEM on a {type(self.stack[-1]).__name__} is not allowed")
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][as_text(key)] = checked_value(value)

    def begin(self, empty: list[Any] | dict[str, Any], fill: Callable[[list[Any]], None]) -> None:
        items = self.pop_to_mark()
        self.stack.append(empty)
        fill(items)

    def bytes_of(self, content: object) -> bytes:
        """Python 2 text as bytes, limited in total to the size of the file."""
        if isinstance(content, str):
            self.bytes_left -= len(content)
            if self.bytes_left < 0:
                raise PickleRefusedError("repeated text exceeds the size of the file")
            return content.encode("latin-1")
        if not isinstance(content, bytes):
            raise PickleRefusedError(f"a {type(content).__name__} is not allowed in place of bytes")
        return content


def checked_value(value: Any) -> Any:
    """A valid value of the dict: a flat list, a complete array or a flat value."""
    if isinstance(value, UnfinishedArray) and value.array is not None:
        return value.array
    return value if type(value) is list else checked_entry(value)


def checked_entry(value: Any) -> Any:
    """A valid entry of a list: a 64-bit integer, text or bytes."""
    if isinstance(value, (str, bytes)) or (isinstance(value, int) and value.bit_length() < 64):
        return value
    raise PickleRefusedError(f"a {type(value).__name__} is not allowed as a value")


ACTIONS: dict[str, Callable[[PickleMachine], None]] = {
    "MARK": lambda machine: machine.marks.append(len(machine.stack)),
    "TUPLE": lambda machine: machine.stack.append(tuple(machine.pop_to_mark())),
    "EMPTY_LIST": lambda machine: machine.stack.append([]),
    "EMPTY_DICT": lambda machine: machine.stack.append({}),
    "LIST": lambda machine: machine.begin([], machine.extend),
    "DICT": lambda machine: machine.begin({}, machine.update),
    "APPEND": lambda machine: machine.extend(machine.pop(1)),
    "APPENDS": lambda machine: machine.extend(machine.pop_to_mark()),
    "SETITEM": lambda machine: machine.update(machine.pop(2)),
    "SETITEMS": lambda machine: machine.update(machine.pop_to_mark()),
    "STACK_GLOBAL": PickleMachine.stack_global,
    "REDUCE": PickleMachine.reduce,
    "BUILD": PickleMachine.build,
}


class PickleRefusedError(ValueError):
    """The file contains anything except numbers, text, lists and integer arrays, or is damaged."""


@dataclass(frozen=True)
class GlobalName:
    """A global name in a pickle, which is never imported."""

    meaning: str


@dataclass
class UnfinishedDtype:
    """A dtype before its byte order is set."""

    code: str
    order: str = "|"

    def build(self, state: Any, bytes_of: BytesOf) -> None:
        if not (isinstance(state, tuple) and len(state) == 8 and state[2:5] == (None, None, None)):
            raise PickleRefusedError("a dtype of unknown form is not allowed")
        order = as_text(state[1])
        if order not in ("<", ">", "|", "=") or (order == "|" and self.code[1] != "1"):
            raise PickleRefusedError(f"a dtype of byte order {order!r} is not allowed")
        self.order = order

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.order + self.code)


@dataclass
class UnfinishedArray:
    """An array before its content is set."""

    array: NDArray[Any] | None = None

    def build(self, state: Any, bytes_of: BytesOf) -> None:
        if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[2], UnfinishedDtype)):
            raise PickleRefusedError("an array of unknown form is not allowed")
        _, shape, kind, fortran, content = state
        whole = isinstance(shape, tuple) and all(type(side) is int and side >= 0 for side in shape)
        if not whole or len(shape) > MAX_DIMENSIONS:
            raise PickleRefusedError(f"an array needs a shape of at most {MAX_DIMENSIONS} whole numbers")
        dtype = kind.dtype()
        content = bytes_of(content)
        if math.prod(shape) * dtype.itemsize != len(content):
            raise PickleRefusedError(f"an array of shape {shape} of {dtype} in {len(content)} bytes")
        self.array = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


Unfinished: TypeAlias = UnfinishedDtype | UnfinishedArray


def reduced(reference: object, arguments: object, bytes_of: BytesOf) -> Unfinished | bytes:
    """The result of one of the three calls that arrays and Python 3 bytes need."""
    match reference, arguments:
        case GlobalName(meaning="array rebuild"), (GlobalName(meaning="ndarray"), (0,), "b" | b"b"):
            return UnfinishedArray()
        case GlobalName(meaning="dtype"), (str() | bytes() as code, 0, 1) if as_text(code) in INTEGERS:
            return UnfinishedDtype(as_text(code))
        case GlobalName(meaning="text to bytes"), (str() as text, "latin1" | "latin-1"):
            return bytes_of(text)
    meaning = reference.meaning if isinstance(reference, GlobalName) else type(reference).__name__
    raise PickleRefusedError(f"a call of {meaning} with these arguments is not allowed")


def as_text(value: object) -> str:
    """Text of Python 2 or 3; anything else raises an error."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if not isinstance(value, str):
        raise PickleRefusedError(f"a {type(value).__name__} is not allowed in place of text")
    return value
