"""The few instructions of a pickle that write plain data; every other one is refused before it acts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .pickled_array import MENTIONS, ArrayShell, DtypeShell, Mention, PickleRefusedError, as_text, reduced

LITERALS = frozenset(
    {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "STRING", "BINSTRING", "SHORT_BINSTRING"}
    | {"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"}
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
SAVE = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
RECALL = ("GET", "BINGET", "LONG_BINGET")
WITHOUT_EFFECT = ("PROTO", "FRAME", "STOP")
MOST_INSTRUCTIONS = 2_000_000


class PickleMachine:
    """Runs instructions one by one; lists and dicts hold no other lists or dicts, so nothing can grow."""

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
        elif name in SAVE:
            self.save(len(self.memo) if argument is None else argument)
        elif name in RECALL:
            self.stack.append(self.memo[argument])
        elif name == "GLOBAL" and argument in MENTIONS:
            self.stack.append(Mention(MENTIONS[argument]))
        elif name in ACTIONS:
            ACTIONS[name](self)
        elif name not in WITHOUT_EFFECT:
            shown = name if argument is None else f"{name} {argument!r:.80}"
            raise PickleRefusedError(f"{shown} at byte {position} is not allowed")

    def save(self, number: int) -> None:
        if number > MOST_INSTRUCTIONS:
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
        mention = f"{as_text(module)} {as_text(name)}"
        if mention not in MENTIONS:
            raise PickleRefusedError(f"STACK_GLOBAL {mention!r:.80} is not allowed")
        self.stack.append(Mention(MENTIONS[mention]))

    def reduce(self) -> None:
        mention, arguments = self.pop(2)
        self.stack.append(reduced(mention, arguments, self.bytes_of))

    def build(self) -> None:
        (state,) = self.pop(1)
        target = self.stack[-1]
        if not isinstance(target, (ArrayShell, DtypeShell)):
            raise PickleRefusedError(f"BUILD on a {type(target).__name__} is not allowed")
        target.build(state, self.bytes_of)

    def extend(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise PickleRefusedError(f"APPEND to a {type(self.stack[-1]).__name__} is not allowed")
        self.stack[-1].extend([flat(item) for item in items])

    def update(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not dict or len(items) % 2:
            raise PickleRefusedError(f"SETITEM on a {type(self.stack[-1]).__name__} is not allowed")
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack[-1][as_text(key)] = finished(value)

    def begin(self, empty: list[Any] | dict[str, Any], fill: Callable[[list[Any]], None]) -> None:
        items = self.pop_to_mark()
        self.stack.append(empty)
        fill(items)

    def bytes_of(self, content: object) -> bytes:
        """Python 2 text as bytes, no more of it in total than the file has."""
        if isinstance(content, str):
            self.bytes_left -= len(content)
            if self.bytes_left < 0:
                raise PickleRefusedError("text is used again and again to fill memory")
            return content.encode("latin-1")
        if not isinstance(content, bytes):
            raise PickleRefusedError(f"a {type(content).__name__} stands where bytes belong")
        return content


def finished(value: Any) -> Any:
    """What a dict may hold: a flat list, a whole array or a flat value."""
    if isinstance(value, ArrayShell) and value.array is not None:
        return value.array
    return value if type(value) is list else flat(value)


def flat(value: Any) -> Any:
    """A whole number of 64 bits, text or bytes."""
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
