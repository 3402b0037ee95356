r"""The margin before training: where a loss begins, hence whether it can begin at all."""

import math

import numpy as np

EXACT_BELOW = 10
LARGEST_CORRECTION = 0.1
_KNOWN: dict[tuple[int, float], float] = {}


def expected_margin(num_classes: int, std: float = 1.0) -> float:
    r"""Mean margin of a network at initialisation, whose logits are iid :math:`N(\mu, s^2)`.

    .. math:: E[\Delta] \approx -\log(K-1) - \frac{s^2}{2} + \frac{e^{s^2}-1}{2(K-1)}

    For fewer than 10 classes, or a std so large that the last term exceeds 0.1, the approximation is
    off and the exact value is found by quadrature.

    Example:
        >>> round(expected_margin(100), 4), expected_margin(2)
        (-5.0864, 0.0)

    Reference: A Curriculum View of Robust Loss Functions, Eq. 4, which prints the constants of K in
    place of K-1.
    """
    if not isinstance(num_classes, int) and not float(num_classes).is_integer():
        raise ValueError(f"num_classes={num_classes} must be a whole number")
    if num_classes < 2:
        raise ValueError(f"num_classes={num_classes}: a margin needs at least 2 classes")
    if not 0 <= std <= 10:
        raise ValueError(f"std={std} must be between 0 and 10")
    others = num_classes - 1
    correction = math.expm1(std**2) / (2 * others)
    if num_classes < EXACT_BELOW or correction > LARGEST_CORRECTION:
        key = (num_classes, float(std))
        if key not in _KNOWN:
            _KNOWN[key] = _exact(others, float(std))
        return _KNOWN[key]
    return -math.log(others) - std**2 / 2 + correction


def _exact(others: int, std: float) -> float:
    r""":math:`-E\log\sum e^{z}` through :math:`\log S = \int (e^{-t} - e^{-tS})\,dt/t`, t = e^u."""
    if others == 1 or std == 0.0:
        return -math.log(others) + 0.0
    normal = np.linspace(-10.0, 10.0, 241)
    density = np.exp(-(normal**2) / 2)
    density /= density.sum()
    reach = 40.0 + 12.0 * std
    log_t = np.linspace(-reach, reach, int(reach * 20))
    laplace = np.exp(-np.exp(np.minimum(log_t[:, None] + std * normal, 50.0))) @ density
    integrand = np.exp(-np.exp(np.minimum(log_t, 50.0))) - laplace**others
    return -float(integrand.sum() * (log_t[1] - log_t[0]))
