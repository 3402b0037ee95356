"""Gradient rescaling: saturation and the batch normalisation of the authors' code."""

import os

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from noiseproof import losses
from noiseproof.losses import get, margin


def batch(rows=16, classes=5):
    generator = torch.Generator().manual_seed(0)
    return (
        2 * torch.randn(rows, classes, dtype=torch.float64, generator=generator),
        torch.randint(classes, (rows,), generator=generator),
    )


def gradient(loss, logits, target):
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(loss(leaf, target), leaf)[0]


def test_emphasis_is_zero_beyond_saturation():
    loss = get("gr(beta=8, lam=0.5, saturation=3.0)")
    emphasis = loss.emphasis(torch.tensor([2.999, 3.0, 3.001]))
    assert (emphasis[:2] > 0).all()
    assert emphasis[2] == 0


@pytest.mark.parametrize("spec", ["gr", "imae(normalize='none')", "unit_max(gr)", "gr(saturation=None)"])
def test_value_of_a_margin_that_was_not_recorded_is_nan(spec):
    """Epochs that were not finished have such margins; other rows keep their values."""
    margin = torch.tensor([float("nan"), 0.5])
    value, emphasis = get(spec).value(margin), get(spec).emphasis(margin)
    assert torch.stack([value, emphasis]).isnan().tolist() == [[True, False]] * 2


@pytest.mark.parametrize(("spec", "other"), [("lam=0, beta=2", "ce"), ("lam=1, beta=4", "mae")])
def test_identity_is_the_other_loss_by_default(spec, other):
    logits, target = batch()
    torch.testing.assert_close(get(f"gr({spec}, g='identity')")(logits, target), get(other)(logits, target))


@pytest.mark.parametrize("g", ["exp", "identity"])
def test_value_is_zero_beyond_saturation(g):
    loss = get(f'gr(g="{g}", saturation=6.24)')
    value = loss.value(torch.linspace(6.2, 90.0, 1001))
    assert (value[:1] > 0).all()
    assert not value[1:].any()


def test_default_saturations():
    assert get("gr").saturation == get("imae").saturation == 17.33
    assert get('gr(g="identity")').saturation is None
    assert get("gr(saturation=None)").saturation is None


def test_batch_normalised_gradient_norms_sum_to_one():
    """As in the authors' code, weights are divided by their sum over the batch."""
    logits, target = batch()
    found = gradient(get('gr(beta=8, lam=0.5, normalize="batch")'), logits, target)
    weights = 2 * get("gr(beta=8, lam=0.5)").emphasis(margin(logits, target))
    torch.testing.assert_close(found.abs().sum(1), weights / weights.sum())
    assert float(found.abs().sum()) == pytest.approx(1)


def test_normalisation_excludes_ignored_rows():
    logits, target = batch()
    loss = get('imae(normalize="batch")')
    more = torch.cat([logits, torch.zeros(4, 5, dtype=torch.float64)])
    labels = torch.cat([target, torch.full((4,), -100)])
    torch.testing.assert_close(gradient(loss, more, labels)[:16], gradient(loss, logits, target))


def test_batch_of_saturated_samples_has_zero_gradient():
    logits = torch.tensor([[100.0, 0.0], [0.0, 100.0]])
    found = gradient(get('imae(normalize="batch")'), logits, torch.tensor([0, 1]))
    assert not found.any()


def _worker(rank, port, rows, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    logits, target = batch()
    part = slice(0, rows) if rank == 0 else slice(rows, None)
    found = gradient(get('imae(normalize="batch", T=4)', reduction="sum"), logits[part], target[part])
    torch.save(found, f"{out}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_processes_normalise_over_the_global_batch(tmp_path):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(_worker, (port, 6, str(tmp_path)), nprocs=2)
    parts = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    logits, target = batch()
    whole = gradient(get('imae(normalize="batch", T=4)', reduction="sum"), logits, target)
    torch.testing.assert_close(torch.cat(parts), whole)


@pytest.mark.parametrize("name", ["T", "beta", "lam", "saturation"])
def test_hyper_parameters_cannot_be_set(name):
    loss = losses.IMAE(T=8.0)
    with pytest.raises(AttributeError, match=rf"imae: {name} cannot be set"):
        setattr(loss, name, 1.0)
    assert (loss.T, loss.beta) == (8.0, 8.0)
