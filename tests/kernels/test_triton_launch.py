"""Launches of the Triton kernels: how rows are divided, tickets for the mean, and bound kernels."""

import ctypes
from types import SimpleNamespace

import pytest
import torch
from row_batches import batch, row_error, step

from noiseproof import losses

pytest.importorskip("triton", reason="launches are those of Triton's kernels")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
SPECS = ["ce", "gr(normalize='none')", "nce", "mse", "cr(ce)", "peer(nce)", "10*nce + nfl"]


@pytest.fixture
def rows_are_many(monkeypatch, device):
    """As if every batch were a large one."""
    from noiseproof.kernels.triton import launch

    monkeypatch.setattr(launch, "MANY_ROWS", 1)
    launch.tile_of.cache_clear()
    yield device
    launch.tile_of.cache_clear()


@pytest.mark.parametrize("classes", [600, 1024, 1500, 2048])
@pytest.mark.parametrize("spec", SPECS)
def test_large_batches_are_read_in_blocks(spec, classes, rows_are_many):
    from noiseproof.kernels.triton.launch import tile_of

    logits, target = batch(4, classes)
    assert tile_of(classes, len(logits)).block < classes
    loss = losses.get(spec).eval()
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss.to(rows_are_many), logits.to(rows_are_many), target.to(rows_are_many))
    assert float(found) == pytest.approx(float(wanted), rel=1e-4, abs=5e-6)
    assert row_error(gradient, slope, 1e-6) < 1e-5


@pytest.mark.parametrize("classes", [2, 100, 512, 513, 1000, 2048, 2049, 262144])
@pytest.mark.parametrize("rows", [1, 128, 1023, 1024, 8192])
def test_rows_are_taken_together_only_where_one_block_holds_them(rows, classes):
    from noiseproof.kernels.triton.launch import tile_of

    tile = tile_of(classes, rows)
    assert tile.rows == 1 or tile.block >= classes
    assert tile.rows * tile.block <= 2048
    assert (tile.block < classes) == (classes > 2048 or (classes > 512 and rows >= 1024))


# Tickets: the last program of a launch takes the mean --------------------------------------------

WITH_MEAN = ["ce", "nce", 'gr(normalize="batch")', "cr(ce)"]


@pytest.fixture
def taken(monkeypatch, device):
    """The tickets that losses were given."""
    from noiseproof.kernels.triton import fused, launch

    found = []

    def ticket(logits):
        found.append(launch.next_ticket(logits))
        return found[-1]

    monkeypatch.setattr(fused, "next_ticket", ticket)
    return found


def small(rows, device):
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(7, (rows,), generator=generator)
    return torch.randn(rows, 7, generator=generator).to(device).requires_grad_(), target.to(device)


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("spec", WITH_MEAN)
def test_a_ticket_is_zero_again(spec, rows, taken, device):
    for _ in range(2):
        losses.get(spec).to(device)(*small(rows, device))
    assert len(taken) == 2
    assert taken[0].address != taken[1].address
    assert not any(one.number.any() for one in taken)


@pytest.mark.parametrize("spec", WITH_MEAN)
def test_without_a_ticket_another_kernel_takes_the_mean(spec, device, monkeypatch):
    from noiseproof.kernels.triton import fused, launch

    (logits, target), found = small(20, device), []
    target[3] = -100
    for ticket in (launch.next_ticket, lambda logits: None):
        monkeypatch.setattr(fused, "next_ticket", ticket)
        loss = losses.get(spec).to(device)(logits, target)
        found.append((loss, *torch.autograd.grad(loss, logits)))
    for with_ticket, without in zip(*found, strict=True):
        torch.testing.assert_close(with_ticket, without, rtol=1e-6, atol=1e-7)


@pytest.fixture
def tickets(monkeypatch):
    from noiseproof.kernels.triton import launch

    monkeypatch.setattr(launch, "_tickets", {})
    return launch


def test_tickets_come_in_turn_and_are_aligned(monkeypatch, tickets):
    monkeypatch.setattr(tickets, "IN_TURN", 3)
    logits = torch.zeros(1, 2)
    addresses = [tickets.next_ticket(logits).address for _ in range(6)]
    assert addresses[:3] == addresses[3:]
    assert len(set(addresses)) == 3
    assert {one - addresses[0] for one in addresses} == {0, 16, 32}


class OnDevice:
    """Logits that say they are on a GPU."""

    device = torch.device("cpu")

    def get_device(self):
        return 0


def test_every_capture_keeps_its_ticket_and_the_last_one_gets_none(monkeypatch, tickets):
    monkeypatch.setattr(tickets, "ONCE", 2)
    capturing = False
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    eager = {tickets.next_ticket(OnDevice()).address for _ in range(tickets.IN_TURN)}
    capturing = True
    kept = [tickets.next_ticket(OnDevice()) for _ in range(3)]
    assert kept[2] is None
    assert kept[0].address != kept[1].address
    assert not eager & {kept[0].address, kept[1].address}


def test_a_capture_before_any_loss_has_no_ticket(monkeypatch, tickets):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert tickets.next_ticket(OnDevice()) is None


# Bound kernels: later calls launch with addresses ------------------------------------------------


class StandIn:
    """Compiled kernels that run their interpreted ones on the memory at the addresses they are given."""

    def __init__(self, start):
        self.start, self.bound, self.compiled = start, 0, 0

    def __call__(self, kernel, sizes, pointers):
        self.start(kernel, sizes, pointers)
        self.compiled += 1
        examples = [(p.dtype, p.shape, p.stride()) for p in pointers]

        def stand_in_run(x, y, z, stream, function, packed, metadata, enter, leave, *arguments):
            assert (stream, function, packed) == (7, "function", "packed")
            assert (metadata, enter, leave) == (None, None, None)
            assert arguments[len(pointers) :] == sizes.arguments
            tensors = [at(a, *one) for a, one in zip(arguments, examples, strict=False)]
            self.bound += 1
            self.start(kernel, sizes._replace(grid=(x, y, z)), tuple(tensors))

        signature = range(len(pointers) + len(sizes.arguments))
        return SimpleNamespace(
            src=SimpleNamespace(signature=signature),
            run=stand_in_run,
            function="function",
            packed_metadata="packed",
        )


def at(address, dtype, shape, stride):
    """The tensor at an address."""
    assert type(address) is int
    span = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    memory = (ctypes.c_char * (span * dtype.itemsize)).from_address(address)
    return torch.frombuffer(memory, dtype=dtype).as_strided(shape, stride)


@pytest.fixture
def stand_in(monkeypatch, device):
    if device != "cpu":
        pytest.skip("the stand-in is for machines without a GPU; test_cuda.py runs the real thing")
    from noiseproof.kernels.triton import fused

    found = StandIn(fused.start)
    monkeypatch.setattr(fused, "start", found)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: -1, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 7, raising=False)
    return found


BOUND = [
    "gce",
    "gr(normalize='none')",
    "nce",
    "mse",
    "cr(ce)",
    'imae(normalize="batch")',
    "10*nce + 0.1*agce(a=1.8, q=3)",
]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", BOUND)
def test_later_calls_use_the_addresses_of_their_own_inputs(spec, reduction, stand_in):
    loss = losses.get(spec, reduction=reduction)
    for number in range(3):
        logits, target = batch(6, 5, spread=1.0 + number)
        target[number] = -100
        wanted, slope = step(loss, logits.double(), target)
        found, gradient = step(loss, logits.clone(), target.clone())
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=2e-6)
        assert row_error(gradient, slope, 1e-2) < 1e-5
    kernels = 3 if spec == "cr(ce)" else 2  # it counts labels first
    assert (stand_in.compiled, stand_in.bound) == (kernels, 2 * kernels), "one compilation for each kernel"


def test_another_layout_is_compiled_again(stand_in):
    loss, (logits, target) = losses.get("gce"), batch(6, 8)
    memory = torch.empty(6 * 8 + 1)
    misaligned = memory[1:].view(6, 8).copy_(logits)
    assert misaligned.data_ptr() % 16
    given = [logits, misaligned, logits.t().contiguous().t(), logits.bfloat16(), logits[:5]]
    for count, one in enumerate(given, 1):
        for _ in range(2):
            labels = target[: len(one)].clone()
            wanted, _ = step(loss, one.double(), labels)
            leaf = one.detach().requires_grad_()
            value = loss(leaf, labels)
            value.backward()
            torch.testing.assert_close(value.detach().double(), wanted, rtol=1e-4, atol=1e-5)
        assert stand_in.compiled == 2 * count


def test_another_upstream_and_gradients_in_place_are_compiled_again(stand_in):
    logits, target = batch(6, 5)
    loss = losses.get("gce", reduction="none")
    _, slope = step(loss, logits.double(), target)
    leaf = logits.clone().requires_grad_()
    upstreams = torch.ones(6), torch.ones(12)[::2], torch.ones(1).expand(6), torch.ones(6)
    values = loss(leaf, target)
    for upstream in upstreams:
        (gradient,) = torch.autograd.grad(values, leaf, upstream, retain_graph=True)
        assert row_error(gradient, slope, 1e-2) < 1e-5
    assert (stand_in.compiled, stand_in.bound) == (1 + 3, 1)


def test_kernels_of_another_interface_are_not_bound(monkeypatch, stand_in):
    """Before Triton 3.3 constants were no arguments of a compiled kernel."""
    from noiseproof.kernels.triton import launch

    monkeypatch.setattr(launch, "takes_all_arguments", lambda compiled, count: False)
    loss, (logits, target) = losses.get("gce"), batch(6, 5)
    wanted = step(loss, logits.double(), target)
    for _ in range(3):
        torch.testing.assert_close(step(loss, logits, target)[0], wanted[0], rtol=1e-4, atol=1e-6)
    assert (stand_in.compiled, stand_in.bound) == (6, 0)


def calls_before_a_launch(loss, logits, target):
    """Python functions entered by ``loss(logits, target)`` before its first launch."""
    import sys

    names = []

    def profile(frame, event, argument):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        loss(logits, target)
    finally:
        sys.setprofile(None)
    names = [name for name in names if name != "<lambda>"]  # of the fixture; C functions on a GPU
    return names[: names.index("stand_in_run")]


@pytest.mark.parametrize("spec", ["ce", "nce", "scale(mae)", "10*nce + 0.1*agce(a=1.8, q=3)", "cr(ce)"])
def test_few_host_calls_before_the_first_launch(spec, stand_in):
    """An eager loss of a small batch waits for these; they were 42, and 16 when this was written."""
    loss, (logits, target) = losses.get(spec), batch(6, 5)
    leaf = logits.requires_grad_()
    loss(leaf, target)
    assert len(calls_before_a_launch(loss, leaf, target)) <= 18
