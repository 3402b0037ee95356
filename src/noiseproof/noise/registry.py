"""Every noise by name: a plain dict you can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .asymmetric import Asymmetric
from .base import Noise
from .grouped import Cycle, Pair, Sibling
from .human import Human
from .instance import Instance
from .matrix import Matrix
from .open_set import OpenSet
from .spec import parse
from .symmetric import Symmetric

NOISES: dict[str, Callable[..., Noise]] = {
    "symmetric": Symmetric,
    "asymmetric": Asymmetric,
    "sibling": Sibling,
    "pair": Pair,
    "cycle": Cycle,
    "matrix": Matrix,
    "instance": Instance,
    "human": Human,
    "open_set": OpenSet,
}
"""A noise of your own: subclass ``Noise`` or ``ClassNoise`` as a frozen dataclass and add it here."""

NoiseLike: TypeAlias = "str | Noise | NDArray[np.generic] | Tensor | list[list[float]]"


def get(spec: NoiseLike) -> Noise:
    """The noise of a spec string or of a (K, K) matrix; a Noise comes back as it is.

    Example:
        >>> print(get("asymmetric(0.4, map='cifar10')"))
        asymmetric(0.4, map="cifar10")
        >>> get("symetric(0.4)")
        Traceback (most recent call last):
        ValueError: unknown noise 'symetric', did you mean 'symmetric'? (known: ...
    """
    if isinstance(spec, Noise):
        return spec
    return parse(spec, NOISES) if isinstance(spec, str) else Matrix(spec)
