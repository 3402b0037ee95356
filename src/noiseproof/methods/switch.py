"""Options that are on or off."""


def switch(method: str, option: str, value: object) -> bool:
    """``value`` if it is True or False.

    >>> switch("joint", "hard", 1)
    Traceback (most recent call last):
    TypeError: joint: hard must be True or False, got 1
    """
    if not isinstance(value, bool):
        raise TypeError(f"{method}: {option} must be True or False, got {value!r}")
    return value
