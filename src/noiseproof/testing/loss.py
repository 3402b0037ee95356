"""``check_loss``: does a loss keep the promises of this library?"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..losses import Binary, Loss, get
from . import contract, curve, derivatives, numbers

LOSS_CHECKS: dict[str, Callable[[Loss], None]] = {
    "emphasis is minus the derivative of the value": curve.check_emphasis_is_derivative,
    "emphasis is not negative": curve.check_not_negative,
    "L1 norm of the gradient is twice the emphasis": curve.check_gradient_is_emphasis,
    "value decreases with the margin": curve.check_decreasing,
    "gradcheck": derivatives.check_gradient,
    "gradgradcheck": derivatives.check_second_gradient,
    "backward twice, any upstream factor": derivatives.check_backward_again,
    "torch.func grad and vmap": derivatives.check_transforms,
    "torch.compile keeps one graph": derivatives.check_compile,
    "finite at extreme margins": numbers.check_finite,
    "half precision in, float32 loss out": numbers.check_half_precision,
    "float32 gradient close to float64": numbers.check_float32,
    "non-finite logits are named": numbers.check_non_finite_named,
    "reductions": contract.check_reductions,
    "class weights as in torch": contract.check_class_weights,
    "soft targets as in torch": contract.check_soft_targets,
    "sample weights": contract.check_sample_weights,
    "ignored rows change nothing": contract.check_ignore_index,
    "empty and wholly ignored batches give 0": contract.check_nothing_to_learn,
    "layouts": contract.check_layouts,
    "a number added to all logits of a row changes nothing": contract.check_shift,
    "a masked class is an absent class": contract.check_masked,
    "pickle, deepcopy, state_dict, spec": contract.check_copies,
}


def check_loss(loss: Loss | str, *, device: torch.device | str = "cpu") -> None:
    """Run every check of :data:`LOSS_CHECKS`; the first that fails raises AssertionError naming it.

    The checks compare in float64, so on a GPU most of them see torch's expressions and those of float32
    and below the kernels. The loss moves to ``device``.

    Example:
        >>> check_loss("gce(q=0.3)")
        >>> from noiseproof import losses
        >>> check_loss(losses.MarginLoss.from_value(lambda p, rest: rest**3))
    """
    made = get(loss).to(device)
    if isinstance(made, Binary):
        raise TypeError("binary losses take targets of the logits' shape: check the inner loss instead")
    for name, check in LOSS_CHECKS.items():
        try:
            with torch.device(device):
                check(made)
        except Exception as problem:
            raise AssertionError(f"{made}: {name}: {problem}") from problem
