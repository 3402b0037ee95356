"""``check_method``: does a method keep the promises of this library?"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Hashable

import numpy as np
import torch
from torch import Tensor

from ..methods import Method, Mixed, Outputs, get
from .method_trial import BATCH, EPOCHS, SAMPLES, Step, Trial, same, take
from .method_waiting import no_value_is_read

EXTREMES = (-1e4, -120.0, -20.0, 0.0, 20.0, 120.0, 1e4)


def check_resume(trial: Trial) -> None:
    """A fresh method with the state after a step, inside or at the end of an epoch, goes on bit for bit."""
    method, states, wanted = trial.make(), [], []
    for step in trial.run(method):
        wanted.append(step)
        states.append(copy.deepcopy(method.state_dict()))
    for done in range(1, len(states), 3):
        resumed = trial.make()
        resumed.load_state_dict(states[done - 1])
        for number, step in enumerate(trial.run(resumed, done=done), done):
            assert same(step, wanted[number]), f"resumed after step {done}, step {number + 1} differs"


def check_order_of_data(trial: Trial) -> None:
    """The order in which the training data are listed changes no bit."""
    listed = torch.arange(SAMPLES).flip(0).roll(3)
    runs = zip(trial.run(trial.make(listed), listed=listed), trial.run(trial.make()), strict=True)
    for number, (found, wanted) in enumerate(runs):
        assert same(found, wanted), f"data in another order, step {number + 1} differs"


def check_order_in_batch(trial: Trial) -> None:
    """Samples shuffled inside a batch, with their labels and indices, get the same gradients."""
    order = torch.arange(BATCH).flip(0)
    method = trial.make()
    outputs = 2 * method.networks if method.needs_features else method.networks
    shuffled = trial.run(method, order)
    for number, (found, wanted) in enumerate(zip(shuffled, trial.run(trial.make()), strict=True)):
        back = [g[order] if i < outputs else g for i, g in enumerate(found.gradients)]
        close = same(Step(found.loss, tuple(back)), wanted, _close)
        assert close, f"batches in another order, step {number + 1} differs"


def check_finite(trial: Trial) -> None:
    """Logits and features up to 1e4, and those that half precision can hold."""
    rows = torch.arange(BATCH)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        method = trial.make()
        for turn, epoch in enumerate(EPOCHS):
            batch = trial.batch(epoch, turn % 2)
            outputs = []
            for plain in trial.outputs(method, batch, epoch):
                plain.logits[rows, (rows + turn) % 4] = torch.tensor(EXTREMES)[(rows + turn) % 7]
                plain.logits[rows, (rows + turn + 1) % 4] = torch.tensor(EXTREMES)[(2 * rows) % 7]
                features = None if plain.features is None else (plain.features * 10.0 ** (turn % 5)).float()
                logits, mix = plain.logits.to(dtype).float(), plain.extra
                if isinstance(mix, Mixed):
                    mix = mix._replace(unmixed=logits.flip(0))
                outputs.append(Outputs(logits, features, mix))
            step = take(method, tuple(outputs), batch, epoch)
            assert step.loss.isfinite(), f"loss {float(step.loss)} in epoch {epoch}, {dtype}"
            for gradient in step.gradients:
                assert gradient.isfinite().all(), f"gradient not finite in epoch {epoch}, {dtype}"
        _check_state_finite(method)


def check_evaluation(trial: Trial) -> None:
    """In evaluation mode nothing is learned, and the same batch gives the same loss again."""
    method = trial.make()
    for _ in trial.run(method):
        pass
    before = copy.deepcopy(method.eval().state_dict())
    batch = trial.batch(EPOCHS[-1], 0)
    first, second = (take(method, trial.outputs(method, batch, 1), batch, EPOCHS[-1]) for _ in range(2))
    assert same(first, second), "the same batch gives another loss in evaluation mode"
    for name, value in method.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} changes in evaluation mode"


def check_columns(trial: Trial) -> None:
    method = trial.make()
    for _ in trial.run(method):
        seen = method.observed()
        assert tuple(seen) == method.columns, f"observed {tuple(seen)}, declared {method.columns}"
        for name, values in seen.items():
            assert values.shape == (BATCH,), f"{name} has the shape {tuple(values.shape)}"
            assert not values.requires_grad, f"{name} carries a gradient"


def check_no_waiting(trial: Trial) -> None:
    method = trial.make()
    for turn, epoch in enumerate(EPOCHS):
        batch = trial.batch(epoch, turn % 2)
        outputs = trial.outputs(method, batch, epoch)
        with no_value_is_read():
            take(method, outputs, batch, epoch)


def check_phases(trial: Trial) -> None:
    """In two epochs of one phase the same batch gives the same loss and leaves the same memory."""
    method, seen = trial.make(), dict[Hashable, tuple[int, Step, dict[str, Tensor]]]()
    for _ in trial.run(method):
        pass
    batch = trial.batch(EPOCHS[0], 0)
    for epoch in EPOCHS:
        again, phase = copy.deepcopy(method), method.phase(epoch)
        step = take(again, trial.outputs(method, batch, 1), batch, epoch)
        if phase is None or phase not in seen:
            seen[phase] = epoch, step, again.state_dict()
            continue
        first, wanted, state = seen[phase]
        kept = all(torch.equal(value, state[name]) for name, value in again.state_dict().items())
        alike = kept and same(step, wanted)
        assert alike, f"epochs {first} and {epoch} are phase {phase!r}, and differ"


def check_random_state(trial: Trial) -> None:
    """Neither ``prepare`` nor a step touches or needs a global random state."""
    losses = []
    for _ in range(2):
        torch.rand(1)
        before = random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()
        losses.append([step.loss for step in trial.run(trial.make())])
        after = random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()
        assert before == after, "a global random state changed"
    assert torch.equal(*map(torch.stack, losses)), "a second training differs"


def check_spec(trial: Trial) -> None:
    """``str`` makes the method again, unless it was given what no spec can hold."""
    spec = str(trial.fresh())
    if "<" in spec:
        return
    again = Trial(spec)
    assert str(again.fresh()) == spec, f"{spec} prints as {again.fresh()}"
    assert type(again.fresh()) is type(trial.fresh()), f"{spec} makes another kind of method"
    pairs = zip(again.run(again.make()), trial.run(trial.make()), strict=True)
    assert all(same(*pair) for pair in pairs), f"{spec} makes a method with other losses"


METHOD_CHECKS: dict[str, Callable[[Trial], None]] = {
    "resume": check_resume,
    "order of the training data": check_order_of_data,
    "order in a batch": check_order_in_batch,
    "finite": check_finite,
    "evaluation mode": check_evaluation,
    "columns": check_columns,
    "no waiting for the device": check_no_waiting,
    "phases": check_phases,
    "global random state": check_random_state,
    "spec": check_spec,
}


def check_method(method: str | Method) -> None:
    """Run every check of :data:`METHOD_CHECKS`; the first that fails raises AssertionError naming it.

    A Method is copied, not changed. Epochs 1 to 200 are visited in leaps, so ``start`` should be 70 at most.
    Clean labels need no check here: neither :class:`TrainingInfo` nor :class:`Batch` has any.

    Example:
        >>> check_method("elr(beta=0.5)")
    """
    made = get(method)
    for name, check in METHOD_CHECKS.items():
        try:
            check(Trial(method))
        except Exception as problem:
            raise AssertionError(f"{made}: {name}: {problem}") from problem


def _close(found: Tensor, wanted: Tensor) -> bool:
    return torch.allclose(found, wanted, rtol=1e-5, atol=1e-6)


def _check_state_finite(method: Method) -> None:
    for name, value in method.state_dict().items():
        known = value.isfinite() | (value == -torch.inf)
        assert known.all(), f"{name} is not finite any more"
