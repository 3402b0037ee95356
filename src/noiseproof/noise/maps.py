"""Class maps of asymmetric noise: pairs of source and destination class."""

from __future__ import annotations

from collections.abc import Mapping

MAPS: dict[str, tuple[tuple[int, int], ...]] = {
    "mnist": ((7, 1), (2, 7), (3, 8), (5, 6), (6, 5)),
    "cifar10": ((9, 1), (2, 0), (3, 5), (5, 3), (4, 7)),
}
"""Source and destination, in the order in which public code applies them. MNIST: 7 to 1, 2 to 7, 3 to 8,
5 and 6 into each other. CIFAR-10: truck to automobile, bird to airplane, deer to horse, cat and dog into each
other."""


def as_map_text(given: object) -> str:
    """A map in the form used in specs; the name of a known map is unchanged.

    >>> as_map_text({9: 1, 2: 0})
    '9>1,2>0'
    """
    if isinstance(given, Mapping):
        given = ",".join(f"{source}>{destination}" for source, destination in given.items())
    if not isinstance(given, str):
        raise TypeError(f'a class map must be a name, text like "9>1,2>0" or a dict, got {given!r}')
    parse_map(given)
    return given


def parse_map(text: str) -> tuple[tuple[int, int], ...]:
    """Pairs (source, destination).

    >>> parse_map("9>1, 2>0")
    ((9, 1), (2, 0))
    """
    if text in MAPS:
        return MAPS[text]
    pairs: dict[int, int] = {}
    for part in text.split(","):
        source, arrow, destination = (piece.strip() for piece in part.partition(">"))
        if not (arrow and source.isdecimal() and destination.isdecimal()):
            known = ", ".join(repr(name) for name in MAPS)
            raise ValueError(
                f'cannot read {part.strip()!r} in the class map {text!r}: write pairs like "9>1,2>0"'
                f" or one of {known}"
            )
        if int(source) == int(destination) or int(source) in pairs:
            reason = "a second time" if int(source) in pairs else "to itself"
            raise ValueError(f"the class map {text!r} maps class {source} {reason}: {part.strip()!r}")
        pairs[int(source)] = int(destination)
    return tuple(pairs.items())


def check_map(text: str, num_classes: int) -> None:
    """Raise ValueError if a class of the map does not exist; the named maps are for 10 classes."""
    if text in MAPS and num_classes != 10:
        raise ValueError(
            f'the class map {text!r} is for 10 classes, not for {num_classes}: write a map such as "9>1,2>0"'
        )
    for source, destination in parse_map(text):
        if max(source, destination) >= num_classes:
            raise ValueError(
                f"'{source}>{destination}' of the class map {text!r} is not valid: with {num_classes}"
                f" classes labels run from 0 to {num_classes - 1}"
            )
