"""The last program of a launch takes the mean, and leaves its ticket as it found it."""

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import tickets

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
SPECS = ["ce", 'gr(normalize="batch")', "nfl", "cr(ce)", "cr(gce)", "cr(focal)", "peer(ce)"]


@pytest.fixture
def taken(monkeypatch):
    """The tickets that losses were given."""
    found = []

    def ticket(logits):
        found.append(tickets.next_ticket(logits))
        return found[-1]

    monkeypatch.setattr("noiseproof.kernels.triton.launch_mean.next_ticket", ticket)
    return found


def batch(rows, device):
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(7, (rows,), generator=generator)
    return torch.randn(rows, 7, generator=generator).to(device).requires_grad_(), target.to(device)


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("spec", SPECS)
def test_a_ticket_is_zero_again(spec, rows, taken, device):
    for _ in range(2):
        losses.get(spec).to(device)(*batch(rows, device))
    assert len(taken) == 2
    assert taken[0].address != taken[1].address
    assert not any(one.number.any() for one in taken)


@pytest.mark.parametrize("spec", SPECS)
def test_without_a_ticket_a_kernel_of_its_own_takes_the_mean(spec, device, monkeypatch):
    (logits, target), found = batch(20, device), []
    target[3] = -100
    for ticket in (tickets.next_ticket, lambda logits: None):
        monkeypatch.setattr("noiseproof.kernels.triton.launch_mean.next_ticket", ticket)
        loss = losses.get(spec).to(device)(logits, target)
        found.append((loss, *torch.autograd.grad(loss, logits)))
    for with_ticket, without in zip(*found, strict=True):
        torch.testing.assert_close(with_ticket, without, rtol=1e-6, atol=1e-7)


def test_tickets_come_in_turn_and_are_aligned(monkeypatch):
    monkeypatch.setattr(tickets, "_known", {})
    monkeypatch.setattr(tickets, "IN_TURN", 3)
    logits = torch.zeros(1, 2)
    addresses = [tickets.next_ticket(logits).address for _ in range(6)]
    assert addresses[:3] == addresses[3:]
    assert len(set(addresses)) == 3
    assert {one - addresses[0] for one in addresses} == {0, 16, 32}


class OnDevice:
    """Logits that say they lie on a GPU."""

    device = torch.device("cpu")

    def get_device(self):
        return 0


def test_every_capture_keeps_its_ticket_and_the_last_one_gets_none(monkeypatch):
    monkeypatch.setattr(tickets, "_known", {})
    monkeypatch.setattr(tickets, "ONCE", 2)
    capturing = False
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    eager = {tickets.next_ticket(OnDevice()).address for _ in range(tickets.IN_TURN)}
    capturing = True
    kept = [tickets.next_ticket(OnDevice()) for _ in range(3)]
    assert kept[2] is None
    assert kept[0].address != kept[1].address
    assert not eager & {kept[0].address, kept[1].address}


def test_a_capture_before_any_loss_has_no_ticket(monkeypatch):
    monkeypatch.setattr(tickets, "_known", {})
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert tickets.next_ticket(OnDevice()) is None
