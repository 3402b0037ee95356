"""All noises by name, in a plain dict."""

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
from .manifest import Manifest
from .matrix import Clothing1M, Matrix
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
    "clothing1m": Clothing1M,
    "instance": Instance,
    "human": Human,
    "open_set": OpenSet,
}
"""To add a noise, subclass ``Noise`` or ``ClassNoise`` as a frozen dataclass and insert it here."""

NoiseLike: TypeAlias = "str | Noise | Manifest | NDArray[np.generic] | Tensor | list[list[float]]"


def get(spec: NoiseLike) -> Noise:
    """The noise of a spec string or of a (K, K) matrix; a Noise is returned unchanged.

    A manifest gives the noise that it describes, also if that was a matrix in memory.

    Example:
        >>> print(get("asymmetric(0.4, map='cifar10')"))
        asymmetric(0.4, map="cifar10")
        >>> get("symetric(0.4)")
        Traceback (most recent call last):
        ValueError: unknown noise 'symetric', did you mean 'symmetric'? (known: ...
    """
    if isinstance(spec, Noise):
        return spec
    if isinstance(spec, Manifest):
        return parse(spec.spec, NOISES) if spec.matrix is None else Matrix(spec.matrix)
    if spec is None or (np.isscalar(spec) and not isinstance(spec, str)):
        raise TypeError(f'a noise must be a spec such as "symmetric(0.4)" or a (K, K) matrix, got {spec!r}')
    return parse(spec, NOISES) if isinstance(spec, str) else Matrix(spec)
