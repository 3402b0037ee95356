"""Losses launched from C++, against the way they were learned from and against torch."""

import threading

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from noiseproof import losses
from noiseproof.kernels import tracing
from noiseproof.kernels.launcher import lesson, library
from noiseproof.kernels.launcher.signature import UnfitError
from noiseproof.kernels.triton import start
from noiseproof.kernels.triton.start import Heard
from noiseproof.losses import launched

LONGER = pytest.param(torch.bfloat16, marks=pytest.mark.slow)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
NODE = "LaunchedLoss"
SPECS = [
    "ce",
    "gce(q=0.4)",
    "imae",
    'gr(normalize="batch")',
    "nce",
    "mse",
    "10*nce + 0.1*agce(a=1.8, q=3)",
    "unit_max(gce)",
    "nfl",
    "cr(ce)",
    "cr(gce)",
    "10*nce + nfl",
]


def batch(rows=6, classes=5, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = (3 * torch.randn(rows, classes, generator=generator)).to(dtype).requires_grad_()
    return logits, torch.randint(0, classes, (rows,), generator=generator)


def step(loss, logits, target, factor=1.0):
    value = loss(logits, target)
    (gradient,) = torch.autograd.grad(factor * value, logits)
    return value, gradient


@pytest.mark.parametrize("dtype", [torch.float32, LONGER], ids=str)
@pytest.mark.parametrize("spec", SPECS)
def test_what_was_seen_once_is_launched_from_then_on(driver, spec, dtype):
    loss = losses.get(spec, ignore_index=2)
    shown, gradient = step(loss, *batch(dtype=dtype))
    assert NODE not in shown.grad_fn.name()
    value, again = step(loss, *batch(dtype=dtype))
    assert NODE in value.grad_fn.name()
    assert torch.equal(value, shown)
    assert torch.equal(again, gradient)
    other = batch(dtype=dtype, seed=1)
    value, again = step(losses.get(spec, ignore_index=2), *other, factor=-3.0)
    assert NODE in value.grad_fn.name(), "the same loss made anew is known"
    with tracing.plainly():
        expected = step(loss, *other, factor=-3.0)
    tolerance = {"rtol": 2e-2, "atol": 1e-3} if dtype == torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(value, expected[0].float(), **tolerance)
    torch.testing.assert_close(again, expected[1], **tolerance)
    assert driver.streams == [7] * driver.launched


def learned(spec="ce", **shape):
    loss = losses.get(spec)
    step(loss, *batch(**shape))
    return loss


def test_a_lesson_in_which_nothing_is_heard_is_not_followed(driver, monkeypatch):
    """Its plan would return memory that no kernel has written."""
    monkeypatch.setattr(start, "_hear", lambda *launch: None)
    loss = learned()
    assert NODE not in loss(*batch()).grad_fn.name()


def test_two_launches_and_no_others(driver):
    loss = learned()
    step(loss, *batch())
    assert driver.launched == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda logits, target: (logits[:5], target[:5]),
        lambda logits, target: (logits[:, :4], target.clamp(max=3)),
        lambda logits, target: (logits.half(), target),
        lambda logits, target: (logits.t().contiguous().t(), target),
        lambda logits, target: (logits, target.repeat_interleave(2)[::2]),
        lambda logits, target: (torch.cat([logits.flatten()[:1], logits.flatten()])[1:].view(6, 5), target),
    ],
    ids=["rows", "classes", "dtype", "strides", "target", "alignment"],
)
def test_other_logits_go_their_old_way(driver, change):
    loss = learned()
    logits, target = change(*batch())
    value = loss(logits, target)
    assert NODE not in value.grad_fn.name()
    torch.testing.assert_close(value, cross_entropy(logits.float(), target), rtol=1e-3, atol=1e-3)


def test_several_shapes_are_known_side_by_side(driver):
    loss = learned()
    step(loss, *batch(rows=9))
    for rows in (6, 9):
        logits, target = batch(rows=rows, seed=3)
        value, _ = step(loss, logits, target)
        assert NODE in value.grad_fn.name()
        torch.testing.assert_close(value, cross_entropy(logits, target))


def test_a_loss_that_is_changed_is_another_loss(driver):
    loss = learned("gce(q=0.4)")
    loss.q = 0.9
    logits, target = batch()
    torch.testing.assert_close(loss(logits, target), losses.get("gce(q=0.9)")(logits, target))


@pytest.mark.parametrize("spec", ["gce", "nfl", "cr(mae)"])
def test_gradients_of_gradients(driver, spec):
    logits, target = batch(rows=3, classes=4)
    loss = learned(spec, rows=3, classes=4)
    value = loss(logits, target)
    assert NODE in value.grad_fn.name()
    (first,) = torch.autograd.grad(value, logits, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), logits)
    with tracing.plainly():
        (plain,) = torch.autograd.grad(loss(logits, target), logits, create_graph=True)
    (expected,) = torch.autograd.grad(plain.square().sum(), logits)
    torch.testing.assert_close(second, expected)


def test_backward_twice_and_upstream_of_any_kind(driver):
    loss = learned()
    logits, target = batch()
    value = loss(logits, target)
    (first,) = torch.autograd.grad(value, logits, retain_graph=True)
    odd = torch.tensor([0.0, 2.0, 0.0])[1]
    (second,) = torch.autograd.grad(value, logits, odd, retain_graph=True)
    torch.testing.assert_close(second, 2 * first)
    value.backward()
    torch.testing.assert_close(logits.grad, first)
    with pytest.raises(RuntimeError, match="second time"):
        value.backward()


def test_logits_changed_before_the_backward_pass_are_noticed(driver):
    loss = learned()
    leaf, target = batch()
    logits = leaf * 1
    value = loss(logits, target)
    assert NODE in value.grad_fn.name()
    with torch.no_grad():
        logits.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_saved_tensors_may_be_kept_elsewhere(driver):
    loss = learned()
    leaf, target = batch()
    _, expected = step(loss, leaf, target)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.t().clone(), lambda x: x.t()):
        value = loss(leaf, target)
    assert NODE not in value.grad_fn.name()
    (found,) = torch.autograd.grad(value, leaf)
    torch.testing.assert_close(found, expected)


def test_logits_that_lie_differently_in_the_backward_pass(driver):
    loss = learned()
    leaf, target = batch()
    value = loss(leaf, target)
    leaf.data = leaf.data.t().contiguous().t()
    (found,) = torch.autograd.grad(value, leaf)
    (expected,) = torch.autograd.grad(cross_entropy(leaf, target), leaf)
    torch.testing.assert_close(found, expected)


def test_learned_between_a_checkpoint_and_its_recomputation(driver):
    loss, (logits, target) = losses.get("gce"), batch()
    value = checkpoint(loss, logits, target, use_reentrant=False)
    step(loss, *batch())
    step(loss, *batch())
    value.backward()
    torch.testing.assert_close(logits.grad, step(loss, *batch())[1])


def test_an_upstream_among_the_logits_teaches_nothing(driver):
    loss, (logits, target) = losses.get("ce"), batch()
    value = loss(logits, target)
    torch.autograd.grad(value, logits, logits.detach()[0, 0])
    assert NODE not in loss(logits, target).grad_fn.name()


@pytest.mark.parametrize("spec", ["ce", "nfl", "cr(ce)"])
def test_labels_that_had_to_be_copied_teach_nothing(driver, spec):
    """What the copy held is gone when the plan would read it."""
    loss, (logits, target) = losses.get(spec), batch()
    step(loss, logits, torch.stack([target, target], 1)[:, 0])
    assert NODE not in loss(logits, target).grad_fn.name()


def test_hooks_of_a_loss_are_not_taken_along(driver):
    class Holder:
        def __init__(self):
            self.lock, self.calls = threading.Lock(), 0

        def count(self, module, given, found):
            self.calls += 1

    holder, loss = Holder(), losses.get("scale(mae)")
    loss.register_forward_hook(holder.count)
    step(loss, *batch())
    value, _ = step(loss, *batch())
    assert NODE in value.grad_fn.name()
    assert holder.calls == 2


def test_a_graph_outlives_what_was_forgotten(driver, monkeypatch):
    monkeypatch.setattr(launched, "MOST_KNOWN", 1)
    logits, target = batch()
    value = learned("gce")(logits, target)
    learned("mae")
    (first,) = torch.autograd.grad(value, logits, create_graph=True)
    assert first.requires_grad


def test_other_versions_of_triton_stop_no_loss(driver, monkeypatch):
    def unlike(heard):
        raise ValueError("zip() argument 2 is longer than argument 1")

    monkeypatch.setattr(lesson, "passed", unlike)
    loss = losses.get("ce")
    for _ in range(2):
        value, _ = step(loss, *batch())
        assert NODE not in value.grad_fn.name()


def test_without_gradients(driver):
    loss = learned()
    logits, target = batch()
    with torch.no_grad():
        value = loss(logits, target)
    assert value.grad_fn is None
    assert driver.launched == 1
    torch.testing.assert_close(value, cross_entropy(logits, target).detach())


def test_a_launch_that_fails_leaves_the_old_way(driver):
    loss = learned()
    driver.error = 201
    logits, target = batch()
    value, _ = step(loss, logits, target)
    assert NODE not in value.grad_fn.name()
    torch.testing.assert_close(value, cross_entropy(logits, target))
    driver.error = 0
    value = loss(logits, target)
    assert NODE in value.grad_fn.name()
    driver.error = 201
    (found,) = torch.autograd.grad(value, logits)
    (expected,) = torch.autograd.grad(cross_entropy(logits, target), logits)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("option", [{"reduction": "sum"}, {"reduction": "none"}, {"weight": torch.ones(5)}])
def test_other_reductions_and_weights_are_not_launched(driver, option):
    loss = losses.get("ce", **option)
    for _ in range(2):
        value = loss(*batch())
        value.sum().backward()
        assert NODE not in value.grad_fn.name()


def test_who_cannot_be_followed_is_not_watched_for_ever(driver, monkeypatch):
    def refuse(heard):
        calls.append(heard)
        raise UnfitError

    calls, loss = [], losses.get("ce")
    monkeypatch.setattr(lesson, "passed", refuse)
    for _ in range(2 * launched.MOST_LESSONS):
        value, _ = step(loss, *batch())
        assert NODE not in value.grad_fn.name()
    assert len(calls) == launched.MOST_LESSONS


def test_many_losses_are_forgotten_in_the_end(driver, monkeypatch):
    monkeypatch.setattr(launched, "MOST_KNOWN", 2)
    first = learned("gce(q=0.4)")
    for spec in ("ce", "mae"):
        learned(spec)
    assert set(launched._numbers.values()) <= library.expressions.keys()
    value, _ = step(first, *batch())
    assert NODE not in value.grad_fn.name(), "it was forgotten"
    value, _ = step(first, *batch())
    assert NODE in value.grad_fn.name(), "and learned again"


def test_parts_of_the_same_memory_stay_parts_of_it(driver):
    logits, target = batch()
    lesson_ = lesson.Lesson(0, logits, target)
    state, value = torch.empty(5, 6), torch.empty(())
    whole, first, second = (Heard(None, (1, 1, 1), (part,)) for part in (state, state[:3], state[3:]))
    lesson_.forward([first, whole, second], value, None)
    begins = [lesson_._place(heard.arguments[0]) for heard in (whole, first, second)]
    memory = lesson.Source.SCRATCH
    assert begins == [(memory, 0), (memory, 0), (memory, state[:3].nbytes)]
    assert lesson_._scratch >= state.nbytes


@pytest.mark.parametrize("spec", ["mse", "nfl", "cr(ce)", "cr(mae)", "cr(gce)", "10*nce + nfl"])
def test_many_classes(driver, spec):
    loss = learned(spec, rows=3, classes=2100)
    logits, target = batch(rows=3, classes=2100, seed=1)
    with torch.no_grad():
        logits[1, 7] = -torch.inf
        logits[2, 5] = 40.0
    value, gradient = step(loss, logits, target)
    assert NODE in value.grad_fn.name()
    with tracing.plainly():
        expected = step(loss, logits.detach().double().requires_grad_(), target)
    torch.testing.assert_close(value.double(), expected[0], rtol=1e-5, atol=1e-6)
    assert (gradient - expected[1]).abs().max() <= 1e-5 * expected[1].abs().max()


def test_labels_counted_in_memory_seen_as_several_types(driver, monkeypatch):
    from noiseproof.kernels.triton import launch_prior

    monkeypatch.setattr(launch_prior, "MOST_COMPARED", 0)
    loss = learned("cr(ce)", rows=2, classes=2100, dtype=torch.bfloat16)
    found = step(loss, *batch(rows=2, classes=2100, dtype=torch.bfloat16, seed=1))
    assert NODE in found[0].grad_fn.name()
    monkeypatch.setattr(library, "takes", lambda logits: False)
    expected = step(loss, *batch(rows=2, classes=2100, dtype=torch.bfloat16, seed=1))
    assert NODE not in expected[0].grad_fn.name()
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))
