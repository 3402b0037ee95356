"""The contract with torch: reductions, weights, soft targets, ignoring, layouts, copies."""

from __future__ import annotations

import copy
import pickle

import torch
from torch.nn.functional import one_hot

from ..losses import CR, LOSSES, Loss, Peer, Scale, Shift, get
from ..losses.algebra import MarginSum, Sum
from .problem import CLASSES, assert_close, divides_by_the_batch, problem, value_and_gradient, variant


def check_reductions(loss: Loss) -> None:
    logits, target = problem()
    rows = variant(loss, reduction="none")(logits, target)
    assert rows.shape == target.shape
    assert_close(variant(loss, reduction="sum")(logits, target), rows.sum())
    assert_close(variant(loss)(logits, target), rows.mean())


def check_class_weights(loss: Loss) -> None:
    logits, target = problem()
    weight = torch.linspace(0.2, 2, CLASSES, dtype=torch.float64)
    plain = variant(loss, reduction="none")(logits, target)
    rows = variant(loss, reduction="none", weight=weight)(logits, target)
    assert_close(rows, plain * weight[target])
    mean = variant(loss, weight=weight)(logits, target)
    assert_close(mean, rows.sum() / weight[target].sum())


def check_soft_targets(loss: Loss) -> None:
    logits, target = problem()
    made = variant(loss)
    hard = value_and_gradient(made, logits, target)
    soft = value_and_gradient(made, logits, one_hot(target, CLASSES).double())
    assert_close(soft[0], hard[0])
    assert_close(soft[1], hard[1])
    if not _linear_in_target(loss):
        return
    mixed = torch.softmax(problem(seed=3)[0], 1)
    rows = variant(loss, reduction="none")
    parts = [rows(logits, torch.full_like(target, k)) for k in range(CLASSES)]
    assert_close(rows(logits, mixed), (mixed * torch.stack(parts, 1)).sum(1))
    assert_close(made(logits, mixed), (mixed * torch.stack(parts, 1)).sum(1).mean())


def check_sample_weights(loss: Loss) -> None:
    logits, target = problem()
    share = torch.linspace(0, 2, len(target), dtype=torch.float64)
    rows = variant(loss, reduction="none")(logits, target)
    found = variant(loss)(logits, target, sample_weight=share)
    assert_close(found, (rows * share).sum() / share.sum())


def check_ignore_index(loss: Loss) -> None:
    """Rows to skip may stand anywhere and hold anything, even nan."""
    logits, target = problem()
    kept = torch.arange(15).remainder(7) != 0
    more = logits.new_full((15, CLASSES), torch.nan)
    more[kept] = logits
    for ignore_index in (-100, 255):
        labels = torch.full((15,), ignore_index)
        labels[kept] = target
        for reduction in ("mean", "sum"):
            made = variant(loss, reduction=reduction, ignore_index=ignore_index)
            value, gradient = value_and_gradient(made, logits, target)
            found, slope = value_and_gradient(made, more, labels)
            assert_close(found, value)
            assert_close(slope[kept], gradient)
            assert not slope[~kept].any(), "ignored rows have a gradient"
    rows = variant(loss, reduction="none", ignore_index=ignore_index)(more, labels)
    assert not rows[~kept].any(), "ignored rows have a loss"


def check_nothing_to_learn(loss: Loss) -> None:
    logits, target = problem()
    for batch, labels in ((logits, torch.full_like(target, -100)), (logits[:0], target[:0])):
        for reduction in ("mean", "sum"):
            value, gradient = value_and_gradient(variant(loss, reduction=reduction), batch, labels)
            assert float(value) == 0, f"loss {float(value)} of nothing"
            assert not gradient.any(), "gradient of nothing"


def check_layouts(loss: Loss) -> None:
    logits, target = problem()
    made = variant(loss, reduction="none")
    value, gradient = value_and_gradient(made, logits, target)
    wide = logits.reshape(2, 3, 2, CLASSES).permute(0, 3, 1, 2)
    for image in (wide, wide.contiguous(), wide.contiguous(memory_format=torch.channels_last)):
        found, slope = value_and_gradient(made, image, target.reshape(2, 3, 2))
        assert torch.equal(found.reshape(-1), value), "(N, C, d1, d2) gives another loss"
        assert torch.equal(slope.permute(0, 2, 3, 1).reshape(-1, CLASSES), gradient)
    strided = torch.stack([logits, logits], -1)[..., 0]
    assert_close(made(strided, target.int()), value)
    assert_close(made(logits[0], target[0]), variant(loss, reduction="none")(logits[:1], target[:1])[0])


def check_masked(loss: Loss) -> None:
    logits, target = problem()
    target = target.clamp(max=CLASSES - 2)
    masked = logits.clone()
    masked[:, -1] = -torch.inf
    made = variant(loss)
    value, gradient = value_and_gradient(made, masked, target)
    assert value.isfinite()
    assert gradient.isfinite().all()
    assert not gradient[:, -1].any(), "a masked class has a gradient"
    if not _depends_on_class_count(loss):
        wanted, slope = value_and_gradient(made, logits[:, :-1], target)
        assert_close(value, wanted)
        assert_close(gradient[:, :-1], slope)


def check_shift(loss: Loss) -> None:
    """A softmax does not change, and kernels take the label's logit off the statistics."""
    logits, target = problem()
    shifts = torch.linspace(-4, 7, len(logits), dtype=logits.dtype).unsqueeze(1)
    shifted, plain = (value_and_gradient(variant(loss), z, target) for z in (logits + shifts, logits))
    assert_close(shifted[0], plain[0], 1e-10)
    assert_close(shifted[1], plain[1], 1e-10)


def check_copies(loss: Loss) -> None:
    logits, target = problem()
    made = variant(loss)
    wanted = made(logits, target)
    copies = [copy.deepcopy(made)]
    if "<" not in str(loss):
        copies.append(pickle.loads(pickle.dumps(made)))  # noqa: S301
    if _is_registered(loss):
        copies.append(get(str(loss)).eval())
        assert str(get(str(loss))) == str(loss)
    for copied in copies:
        copied.load_state_dict(made.state_dict())
        assert torch.equal(copied(logits, target), wanted), "a copy gives another loss"


def _is_registered(loss: Loss) -> bool:
    """Whether a spec can name it: one of yours it can after ``losses.register``."""
    known = isinstance(loss, (Sum, MarginSum)) or getattr(loss, "given_name", loss.name) in LOSSES
    return known and all(_is_registered(part) for part in loss.inner)


def _linear_in_target(loss: Loss) -> bool:
    """A loss that looks at the labels of the batch, or at other rows, is not."""
    if isinstance(loss, (Peer, CR)) or divides_by_the_batch(loss):
        return False
    return all(_linear_in_target(part) for part in loss.inner)


def _depends_on_class_count(loss: Loss) -> bool:
    if isinstance(loss, (Scale, Shift)):
        by_hand = getattr(loss, "by", None) is not None or loss.initial_margin is not None
        return not by_hand and loss.num_classes is None
    return any(_depends_on_class_count(part) for part in loss.inner)
