"""Losses that hold a tensor, launched from C++: the peer loss and its step, cr and its prior."""

import copy
import gc
import pickle
import weakref

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from noiseproof import losses
from noiseproof.kernels import tracing
from noiseproof.kernels.launcher import library

LONGER = pytest.param(torch.bfloat16, marks=pytest.mark.slow)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
NODE = "LaunchedLoss"
PRIOR = torch.tensor([0.4, 0.3, 0.0, 0.1, 0.2])
PEERS = ["peer(ce)", "peer(gce, alpha=0.5, seed=3)", "peer(mae)"]
BASES = ["ce", "gce", "focal"]
PRIORS = [*BASES[:2], pytest.param(BASES[2], marks=pytest.mark.slow)]
NAMES = [*PEERS, *PRIORS]


def made(name):
    return losses.get(name) if name in PEERS else losses.CR(name, beta=0.7, prior=PRIOR)


def batch(rows=7, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    logits = (3 * torch.randn(rows, 5, generator=generator)).to(dtype).requires_grad_()
    target = torch.randint(0, 5, (rows,), generator=generator)
    target[1] = -100
    return logits, target


def step(loss, logits, target, is_launched=True):
    value = loss(logits, target)
    assert (NODE in value.grad_fn.name()) == is_launched
    return value, torch.autograd.grad(value, logits)[0]


def step_from_python(loss, logits, target):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "takes", lambda logits: False)
        return step(loss, logits, target, is_launched=False)


def learned(name, **shape):
    loss = made(name)
    step(loss, *batch(**shape), is_launched=False)
    return loss


def assert_same(found, wanted):
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, LONGER], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_are_those_of_python_to_the_bit(driver, name, dtype):
    ours, theirs, seen = made(name), made(name), set()
    for seed in (0, 1, 1, 2):
        found = step(ours, *batch(seed=seed, dtype=dtype), is_launched=bool(seen))
        assert_same(found, step_from_python(theirs, *batch(seed=seed, dtype=dtype)))
        seen.add(float(found[0].detach()))
    assert_same(ours.buffers(), theirs.buffers())
    assert len(seen) == (4 if name in PEERS else 3), "labels are drawn anew"
    step(made(name), *batch(dtype=dtype))


def test_the_step_is_counted_by_a_kernel(driver):
    loss = learned("peer(ce)")
    step(loss, *batch())
    assert driver.launched == len(driver.heard), "those the lesson had, and no others"
    assert int(loss.step) == 2


def test_training_steps_with_all_that_happens_between_them(driver):
    """Every call counts once while training, and whoever comes next draws from there."""
    ours, theirs, twin = made("peer(ce)"), made("peer(ce)"), made("peer(ce)")
    for rows in (7, 7, 9, 9, 7):
        assert_same(
            step(ours, *batch(rows), int(ours.step) in (1, 3, 4)), step_from_python(theirs, *batch(rows))
        )
    ours.eval(), theirs.eval()
    for is_known in (False, True, True):
        assert_same(step(ours, *batch(), is_known), step_from_python(theirs, *batch()))
    assert int(ours.step) == 5
    with torch.no_grad():
        assert torch.equal(ours(*batch()), theirs(*batch()))
    ours.train(), theirs.train()
    with torch.no_grad():
        assert torch.equal(ours(*batch()), theirs(*batch()))
    assert_same(step(ours, *batch()), step_from_python(theirs, *batch()))
    assert int(ours.step) == int(theirs.step) == 7
    step(twin, *batch())
    assert int(twin.step) == 1, "each counts its own"


def test_peers_of_other_seeds_are_other_losses(driver):
    learned("peer(ce)")
    other = losses.get("peer(ce, seed=5)")
    for is_known in (False, True):
        wanted = copy.deepcopy(other)
        found = step(other, *batch(), is_launched=is_known)
        assert_same(found, step_from_python(wanted, *batch()))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_of_gradients(driver, name):
    """Of the labels that were drawn, whatever the step is by then."""
    loss = learned(name)
    logits, target = batch(seed=1)
    twin, double = copy.deepcopy(loss), logits.detach().double().requires_grad_()
    value, wanted = loss(logits, target), twin(double, target)
    assert NODE in value.grad_fn.name()
    loss(logits, target)
    found = []
    for result, leaf in ((value, logits), (wanted, double)):
        (slope,) = torch.autograd.grad(result, leaf, create_graph=True)
        found.append(torch.autograd.grad(slope.square().sum(), leaf)[0].double())
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["peer(gce, alpha=0.5, seed=3)", "gce"])
def test_a_backward_pass_that_cannot_be_launched(driver, name):
    loss, (logits, target) = learned(name), batch(seed=1)
    value = loss(logits, target)
    (expected,) = torch.autograd.grad(value, logits, retain_graph=True)
    driver.error = 201
    (found,) = torch.autograd.grad(value, logits)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["peer(ce)", "ce"])
def test_a_forward_pass_that_cannot_be_launched(driver, name):
    loss = learned(name)
    wanted = step_from_python(copy.deepcopy(loss), *batch(seed=1))
    driver.error = 201
    assert_same(step(loss, *batch(seed=1), is_launched=False), wanted)
    if name == "peer(ce)":
        assert int(loss.step) == 2, "counted once"


def test_labels_are_not_drawn_twice_for_one_batch(driver):
    peer, other = learned("peer(ce)"), learned("focal")
    driver.left = 1
    with pytest.raises(RuntimeError, match="refused to launch"):
        peer(*batch())
    driver.left = 1
    step(other, *batch(), is_launched=False)


def test_a_checkpoint_goes_its_old_way(driver):
    loss, twin, (logits, target) = learned("peer(ce)"), losses.get("peer(ce)"), batch()
    step_from_python(twin, *batch())
    value = checkpoint(loss, logits, target, use_reentrant=False)
    assert NODE not in value.grad_fn.name()
    assert torch.equal(value, step_from_python(twin, *batch())[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))])
def test_copies_have_their_own_tensor(driver, name, copied):
    loss = learned(name)
    step(loss, *batch())
    twin, before = copied(loss), [tensor.clone() for tensor in loss.buffers()]
    found = step(twin, *batch(seed=1))
    assert_same(loss.buffers(), before)
    assert_same(found, step(loss, *batch(seed=1)))
    assert_same(twin.buffers(), loss.buffers())


@pytest.mark.parametrize("name", PRIORS)
def test_another_prior_is_read_at_once(driver, name):
    loss = learned(name)
    for prior in (PRIOR.flip(0), PRIOR.roll(1)):
        loss.prior = prior
        found = step(loss, *batch())
        assert_same(found, step_from_python(losses.CR(name, beta=0.7, prior=prior), *batch()))
    loss.prior.copy_(PRIOR)
    assert_same(step(loss, *batch()), step_from_python(made(name), *batch()))
    loss._apply(torch.clone)
    assert_same(step(loss, *batch()), step_from_python(made(name), *batch()))


@pytest.mark.parametrize(
    "prior",
    [
        PRIOR.double(),
        PRIOR.half(),
        PRIOR.repeat_interleave(2)[::2],
        torch.cat([PRIOR[:1], PRIOR])[1:],
        torch.nn.Parameter(PRIOR.clone()),
    ],
    ids=["double", "half", "strides", "alignment", "parameter"],
)
def test_priors_of_another_kind_go_their_old_way(driver, prior):
    loss, theirs = learned("ce"), made("ce")
    theirs.prior = loss.prior = prior
    for _ in range(2):
        found = step(loss, *batch(), is_launched=False)
        assert_same(found, step_from_python(theirs, *batch()))


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_changed_before_the_backward_pass_is_noticed(driver, name):
    loss, (logits, target) = learned(name), batch()
    _, expected = step(loss, logits, target)
    value = loss(logits, target)
    loss.prior = PRIOR.flip(0)
    assert torch.equal(torch.autograd.grad(value, logits)[0], expected), "it was another one"
    value = loss(logits, target)
    assert NODE in value.grad_fn.name()
    loss.prior.mul_(2)
    for again in (True, False):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            value.backward(create_graph=again)


@pytest.mark.parametrize("name", PRIORS)
def test_second_derivatives_are_those_of_the_prior_that_was_read(driver, name):
    for is_known in (False, True):
        loss, (logits, target) = made(name), batch()
        value = loss(logits, target)
        assert (NODE in value.grad_fn.name()) == is_known
        loss.prior = PRIOR.flip(0)
        (found,) = torch.autograd.grad(value, logits, create_graph=True)
        torch.testing.assert_close(found, step_from_python(made(name), *batch())[1])
        step(made(name), *batch(), is_launched=is_known)


def test_a_prior_of_another_length_is_named(driver):
    loss = learned("ce")
    loss.prior = torch.full((4,), 0.25)
    with pytest.raises(ValueError, match="prior has 4 entries"):
        loss(*batch())


def test_a_prior_that_comes_later_is_heard_of(driver):
    loss = losses.CR("ce", beta=0.7)
    for is_known in (False, True):
        without = step(loss, *batch(), is_launched=is_known)
    loss.register_buffer("prior", PRIOR)
    for is_known in (False, True):
        found = step(loss, *batch(), is_launched=is_known)
        assert_same(found, step_from_python(made("ce"), *batch()))
    loss.prior = None
    assert_same(step(loss, *batch()), without)


@pytest.mark.parametrize("spec", ["2*peer(ce)", "peer(ce) + mae", "peer(nfl)"])
def test_losses_made_of_peers_and_peers_without_a_plan_go_their_old_way(driver, spec):
    loss = losses.get(spec)
    for _ in range(2):
        step(loss, *batch(), is_launched=False)
    assert int(next(loss.buffers())) == 2


@pytest.mark.parametrize("name", ["peer(ce)", "ce"])
def test_labels_that_had_to_be_copied_teach_nothing(driver, name):
    loss, (logits, target) = made(name), batch()
    step(loss, logits, torch.stack([target, target], 1)[:, 0], is_launched=False)
    step(loss, logits, target, is_launched=False)


def test_what_was_learned_holds_no_tensor_of_the_loss(driver):
    loss = losses.CR("ce", prior=torch.rand(5))
    for is_known in (False, True):
        step(loss, *batch(), is_launched=is_known)
    prior = weakref.ref(loss.prior)
    del loss
    gc.collect()
    assert prior() is None


@pytest.mark.parametrize("name", NAMES)
def test_against_plain_expressions(driver, name):
    loss = learned(name).eval()
    step(loss, *batch(), is_launched=name in BASES)
    logits, target = batch(seed=2)
    value, gradient = step(loss, logits, target)
    with tracing.plainly():
        expected = step(loss, logits.detach().double().requires_grad_(), target, is_launched=False)
    torch.testing.assert_close(value.double(), expected[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradient.double(), expected[1], rtol=1e-4, atol=1e-6)
