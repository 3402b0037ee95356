"""Damaged files, the same every time: a seed, a number, and a handful of ways to break bytes."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

NUMBERS = (
    b"0",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 25,
    b"2147483648",
    b"18446744073709551616",
    b"0.5",
    b"1" * 5000,
)
SIGNS = (
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b",",
    b";",
    b":",
    b"\n",
    b"\r",
    b"\0",
    b"\\",
    b"\t",
    b"|",
)
WORDS = (
    b"null",
    b"true",
    b"[" * 2000,
    b'{"a":' * 1500,
    b"label",
    b"shape",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[31m",
)
TOKENS = NUMBERS + SIGNS + WORDS
EXTREMES = (b"\0" * 4, b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 8, b"\x01\0\0\0\0\0\0\x40")
"""Whole numbers as formats of bytes write them: none, the largest, the smallest."""


def flip(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.choice((1, 1, 2, 8))):
        if data:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def overwrite(data: bytearray, draw: random.Random) -> None:
    place, token = draw.randint(0, len(data)), draw.choice(EXTREMES)
    data[place : place + len(token)] = token


def insert(data: bytearray, draw: random.Random) -> None:
    place = draw.randint(0, len(data))
    data[place:place] = draw.choice(TOKENS)


def cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.randint(0, len(data)) :]


def remove(data: bytearray, draw: random.Random) -> None:
    place = draw.randint(0, len(data))
    del data[place : place + draw.choice((1, 2, 4, 16, 64))]


def repeat(data: bytearray, draw: random.Random) -> None:
    place = draw.randint(0, len(data))
    part = bytes(data[place : place + draw.choice((1, 4, 16, 64))])
    data[place:place] = part * draw.choice((1, 2, 30))


def exchange(data: bytearray, draw: random.Random) -> None:
    """Two parts trade places."""
    if len(data) > 8:
        a, b = sorted(draw.sample(range(len(data)), 2))
        size = min(draw.choice((1, 4, 8)), b - a)
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def replace_number(data: bytearray, draw: random.Random) -> None:
    """A run of digits becomes another number."""
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if places:
        begin = end = draw.choice(places)
        while end < len(data) and 48 <= data[end] <= 57:
            end += 1
        data[begin:end] = draw.choice(NUMBERS)


WAYS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(flip, flip, overwrite, insert, cut, remove, repeat, exchange, replace_number),
)


def mutated(seed: bytes, name: str, number: int) -> bytes:
    """The seed after one to four of these ways; a function of the name and the number alone.

    >>> mutated(b"abc", "x", 1) == mutated(b"abc", "x", 1)
    True
    """
    draw = random.Random(zlib.crc32(f"{name} {number}".encode()))  # noqa: S311
    data = bytearray(seed)
    for _ in range(draw.choice((1, 1, 2, 4))):
        draw.choice(WAYS)(data, draw)
    return bytes(data)
