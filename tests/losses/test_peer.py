import pytest
import torch
from torch._inductor.utils import fresh_cache, get_code
from torch.utils.checkpoint import checkpoint

from noiseproof import losses
from noiseproof.counter import SAMPLE
from noiseproof.losses import get


def batch(rows=40, classes=4):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(rows, classes, dtype=torch.float64, generator=generator)
    return logits, torch.randint(classes, (rows,), generator=generator)


def test_peer_subtracts_permuted_rows_and_labels():
    logits, target = batch()
    loss = get("peer(ce, alpha=0.5)", reduction="none").eval()
    a, b = loss._permutations(target, None)
    assert sorted(a.tolist()) == sorted(b.tolist()) == list(range(40))
    assert a.tolist() != b.tolist()
    ce = get("ce", reduction="none")
    torch.testing.assert_close(loss(logits, target), ce(logits, target) - 0.5 * ce(logits[a], target[b]))


def test_each_training_step_draws_new_permutations_and_state_restores_them():
    logits, target = batch()
    loss = get("peer(ce)").train()
    values = [float(loss(logits, target)) for _ in range(3)]
    assert len(set(values)) == 3
    resumed = get("peer(ce)").train()
    state = get("peer(ce)").state_dict()
    state["step"] = torch.tensor(2)
    resumed.load_state_dict(state)
    assert float(resumed(logits, target)) == values[2]


def test_seeds_differ_and_global_rng_state_is_unchanged():
    logits, target = batch()
    before = torch.get_rng_state()
    values = {float(get(f"peer(ce, seed={seed})")(logits, target)) for seed in range(5)}
    assert len(values) == 5
    assert torch.equal(torch.get_rng_state(), before)


def test_eval_mode_does_not_advance_the_step():
    logits, target = batch()
    loss = get("peer(ce)").eval()
    assert loss(logits, target) == loss(logits, target)
    assert int(loss.step) == 0


@pytest.mark.slow
def test_permutations_are_uniform():
    """All pairs of rows occur about equally often."""
    loss = get("peer(ce)").train()
    hits = torch.zeros(8, 8)
    for _ in range(4000):
        a, _ = loss._permutations(torch.zeros(8), None)
        hits[torch.arange(8), a] += 1
    assert (hits - 500).abs().max() < 5 * (500 * 7 / 8) ** 0.5


def test_mean_over_steps_equals_cr():
    logits, target = batch()
    loss = get("peer(ce, alpha=1.0)").train()
    mean = torch.stack([loss(logits, target) for _ in range(1500)]).mean()
    torch.testing.assert_close(mean, get("cr(ce, beta=1.0)")(logits, target), atol=8e-3, rtol=0)


def test_ignored_rows_are_not_drawn():
    _, target = batch()
    target[::3] = -100
    loss = get("peer(ce)", reduction="none").eval()
    keep = target != -100
    a, _ = loss._permutations(target, keep)
    assert keep[a[keep]].all()


LOSS = get("peer(ce)").eval()


def permutations_of_some_rows(logits, target):
    return torch.stack(LOSS._permutations(logits, target != 2))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [40, 67])
def test_compiled_code_multiplies_row_numbers_in_64_bits(rows):
    """A product of row numbers in 32 bits overflows."""
    torch.compiler.reset()
    with fresh_cache():  # cached results have no generated code
        code = get_code(torch.compile(permutations_of_some_rows, fullgraph=True), *batch(rows))[0]
    assert str(SAMPLE) in code
    assert f"{SAMPLE}L)*" not in code
    assert f", {SAMPLE})" not in code


def test_compiled_permutations_match_eager():
    torch.compiler.reset()
    compiled = torch.compile(permutations_of_some_rows, fullgraph=True, backend="aot_eager", dynamic=True)
    for rows in (40, 67):
        assert torch.equal(compiled(*batch(rows)), permutations_of_some_rows(*batch(rows)))


def test_checkpointed_peer_is_correct_or_raises():
    """A recomputed forward pass would draw other permutations."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(16, 8, generator=generator), torch.randint(4, (16,), generator=generator)
    w = torch.randn(4, 8, generator=generator).requires_grad_()
    one, other = losses.Peer("ce"), losses.Peer("ce")
    (wanted,) = torch.autograd.grad(one(x @ w.t(), y), w)
    error, found = "", None
    try:
        (found,) = torch.autograd.grad(checkpoint(lambda z: other(z @ w.t(), y), x, use_reentrant=False), w)
    except RuntimeError as problem:
        error = str(problem)
    assert "call the loss outside the checkpointed function" in error or torch.equal(found, wanted)
    assert int(other.step) == 1


def test_torch_func_in_training_mode_raises_runtime_error():
    logits, target = torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])
    with pytest.raises(RuntimeError, match=r"call \.eval\(\) first"):
        torch.func.grad(losses.Peer("ce"))(logits, target)
    assert torch.isfinite(torch.func.grad(losses.Peer("ce").eval())(logits, target)).all()
    peer = losses.Peer("ce")

    def loss_at(step, logits):
        return torch.func.functional_call(peer, {"step": step}, (logits, target))

    assert torch.isfinite(
        torch.func.grad(loss_at, argnums=1)(torch.zeros((), dtype=torch.long), logits)
    ).all()
