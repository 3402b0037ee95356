"""Losses whose value is looked up in a table: on the kernels against float64, and what a step launches."""

import copy
import gc
import pickle
import weakref

import pytest
import torch
from row_batches import batch, row_error, step
from torch.utils._python_dispatch import TorchDispatchMode

from noiseproof import losses
from noiseproof.kernels import apply, program
from noiseproof.kernels.program import recording_of, tables_on_device, with_addresses
from noiseproof.kernels.recorder import Operation, Recorded, Tape
from noiseproof.losses import MarginLoss

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
GR = [
    f"gr(beta={beta}, lam={lam}, saturation={saturation}, normalize='none')"
    for beta, lam in ((8.0, 0.5), (16.0, 1.0), (12.0, 2.0), (8.0, 0.0), (2.0, 0.01))
    for saturation in (None, 17.33, 6.24)
]
IMAE = [
    f"imae(T={t}, saturation={saturation}, normalize='none')"
    for t in (0.5, 8.0, 16.0)
    for saturation in (None, 17.33, 6.24)
]
IDENTITY = [
    f'gr(g="identity", saturation={saturation}, normalize="none")' for saturation in (None, 17.33, 6.24)
]
MADE_OF_TABLES = [
    *(
        "scale(gr(normalize='none'))",
        "shift(imae(normalize='none'))",
        "unit_max(gr(normalize='none'))",
        "gr(normalize='none') + 2*imae(T=2.0, normalize='none')",
        "nce + 0.5*gr(normalize='none')",
        "3*gr(normalize='none') + mae",
    ),
    *("unit_max(scale(gr(beta=4.0, normalize='none') + imae(normalize='none')))",),
]
BY_WEIGHT = [f'{name}, normalize="batch")' for name in ("gr(beta=8.0", "imae(T=8.0", 'gr(g="identity"')]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Of one shape only so many programs become kernels, which other tests may have used up."""
    monkeypatch.setattr(program, "_constants_seen", {})


def margins(low=-90.0, high=45.0):
    """Rows of two classes, whose margin is their first logit to the last digit; more where tables end."""
    places = [(low, high, 76), (17.2, 17.34, 22), (6.2, 6.25, 15), (-0.1, 0.1, 15)]
    margin = torch.cat([torch.linspace(*place) for place in places])
    return torch.stack([margin, torch.zeros_like(margin)], 1), torch.zeros(len(margin), dtype=torch.long)


@pytest.mark.parametrize("spec", GR + IMAE + IDENTITY + BY_WEIGHT)
def test_every_margin(spec, device):
    """Values to 1e-5 of themselves, or of the emphasis where a signed one passes 0."""
    loss = losses.get(spec, reduction="none")
    logits, target = margins()
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits.to(device), target.to(device))
    size = torch.maximum(wanted.abs(), slope.abs().amax(1)).clamp_min(1e-30)
    assert float(((found - wanted).abs() / size).max()) < 1e-5
    assert row_error(gradient, slope) < 1e-5


@pytest.mark.parametrize(
    "spec",
    [
        "gr(normalize='none')",
        "gr(beta=16.0, lam=1.0, saturation=6.24, normalize='none')",
        "imae(normalize='none')",
    ],
)
def test_values_keep_their_digits_up_to_the_saturation(spec, device):
    """Where single precision rounds the position itself, the value would be off by 1e-4 of what is left."""
    loss = losses.get(spec, reduction="none")
    logits, target = margins(loss.saturation - 0.5, loss.saturation - 1e-4)
    logits, target = logits[:76], target[:76]
    wanted, _ = step(loss, logits.double(), target)
    found, _ = step(loss, logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=0.0)


@pytest.mark.parametrize(("reduction", "classes"), [("mean", 5), ("sum", 100), ("none", 3000)])
@pytest.mark.parametrize("spec", [*MADE_OF_TABLES, *BY_WEIGHT])
def test_batches_with_ignored_rows(spec, reduction, classes, device):
    loss = losses.get(spec, reduction=reduction)
    logits, target = batch(4, classes)
    wanted, slope = step(loss, logits.double(), target)
    found, gradient = step(loss, logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    assert row_error(gradient, slope) < 1e-5
    assert not gradient[target == -100].any()


@pytest.mark.parametrize("order", [1, -1])
def test_weights_of_the_batch_alone_and_inside_another_loss(order, device):
    """The same loss as a program of two kinds: divided by a kernel here, by torch there."""
    logits, target = batch(6, 5)
    for spec in [BY_WEIGHT[0], f"peer({BY_WEIGHT[0]})", f"scale({BY_WEIGHT[0]})"][::order]:
        wanted, slope = step(losses.get(spec).eval(), logits.double(), target)
        found, gradient = step(losses.get(spec).eval().to(device), logits.to(device), target.to(device))
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
        assert row_error(gradient, slope) < 1e-5


@pytest.mark.parametrize("setting", ["distributed", "many rows"])
@pytest.mark.parametrize("spec", ["gr(normalize='none')", *BY_WEIGHT])
def test_batches_beyond_one_program(spec, setting, device, monkeypatch):
    """Rows on other processes, or too many of them: torch divides by their weights, as it adds up a mean."""
    from noiseproof.kernels.triton import fused

    logits, target = batch(6, 5)
    wanted, slope = step(losses.get(spec), logits.double(), target)
    if setting == "distributed":
        monkeypatch.setattr(apply, "is_distributed", lambda: True)
    else:
        monkeypatch.setattr(fused, "MAX_ROWS_OF_MEAN", 2)
    if spec in BY_WEIGHT:
        monkeypatch.setattr(fused, "loss", None)
    found, gradient = step(losses.get(spec), logits.to(device), target.to(device))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    assert row_error(gradient, slope) < 1e-5


@pytest.mark.parametrize("spec", BY_WEIGHT)
def test_launches_of_one_process_are_not_used_when_there_are_several(spec, device, monkeypatch):
    loss, (logits, target) = losses.get(spec), batch(6, 5)
    first, _ = step(loss, logits.to(device), target.to(device))
    assert loss.row_function(5).plans
    monkeypatch.setattr(apply, "is_distributed", lambda: True)
    monkeypatch.setattr(apply, "_run", None)
    again, _ = step(loss, logits.to(device), target.to(device))
    torch.testing.assert_close(again, first, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", ["gr(normalize='none')", *BY_WEIGHT])
def test_a_batch_that_is_ignored(spec, device):
    logits, target = torch.randn(3, 4, device=device), torch.full((3,), -100, device=device)
    value, gradient = step(losses.get(spec), logits, target)
    assert float(value) == 0
    assert not gradient.any()


def test_margins_without_end(device):
    """One class left is nothing to learn; a label that is none stays nan."""
    logits = torch.full((2, 4), -torch.inf, device=device)
    logits[:, 2] = 1.0
    found = losses.get("gr(normalize='none')", reduction="none")(
        logits, torch.tensor([2, 9], device=device)
    ).cpu()
    assert float(found[0]) == 0
    assert found[1].isnan()


@pytest.mark.parametrize("spec", [*GR, *IMAE, *MADE_OF_TABLES])
def test_tables_are_part_of_the_program(spec):
    recording = recording_of(losses.get(spec).row_function(10))
    assert recording is not None
    assert recording.tables


def test_one_table_is_kept_once_and_two_lie_together():
    short, long = torch.zeros(3, 4), torch.ones(7, 4)
    tape = Tape(1)
    margin = Recorded(tape, 0)
    total = tape.table(margin, short) + tape.table(margin * 2, long) + tape.table(margin * 3, short)
    made = with_addresses(tape.program(total), tuple(tape.tables))
    assert tape.tables == [short, long]
    starts = [i for i in range(0, len(made.code), 4) if made.code[i] == Operation.TABLE]
    assert [made.code[i + 2 : i + 4] for i in starts] == [(0, 2), (3, 9), (0, 2)]
    together = tables_on_device(tuple(tape.tables), torch.device("cpu"))
    assert together.shape == (10, 4)
    assert together is tables_on_device((short, long), torch.device("cpu")), "copied again"
    assert together is not tables_on_device((short, torch.ones(7, 4)), torch.device("cpu"))


def test_copies_leave_with_their_table():
    table = torch.zeros(3, 4, dtype=torch.float64)
    copied = weakref.ref(tables_on_device((table,), torch.device("cpu")))
    assert copied() is not None
    del table
    gc.collect()
    assert copied() is None


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.to("cpu")]
)
@pytest.mark.parametrize(
    "spec",
    [
        "gr(beta=6.0, normalize='none')",
        "scale(imae(T=7.0, normalize='none')) + gr(beta=5.0, normalize='none')",
    ],
)
def test_copies_of_a_used_loss_give_the_same_numbers(spec, again, device):
    logits, target = (t.to(device) for t in batch(6, 5))
    loss = losses.get(spec)
    once = step(loss, logits, target)
    torch.testing.assert_close(step(again(loss), logits, target), once, rtol=0, atol=0)


def test_used_tables_stay_out_of_pickles():
    loss = losses.get("gr(normalize='none')")
    size = len(pickle.dumps(loss))
    loss.value(torch.zeros(3))
    assert len(pickle.dumps(loss)) == size


def test_tables_read_by_a_captured_graph_stay(device, monkeypatch):
    """A captured graph reads a table as long as it is replayed, also when nobody holds the loss any more."""
    from noiseproof.kernels.triton import fused

    monkeypatch.setattr(fused, "_read_by_graphs", {})
    monkeypatch.setattr(fused, "is_capturing", lambda tensor: True)
    logits, target = (t.to(device) for t in batch(4, 3))
    losses.get("gr(normalize='none')", reduction="none")(logits, target)
    gc.collect()
    assert len(fused._read_by_graphs) == 1


def test_emphases_users_write_share_nothing(device):
    """Two tables of equal programs, one after the other and at once."""
    logits, target = batch(6, 5)
    mine = [MarginLoss.from_emphasis(lambda p, rest, k=k: k * p * rest) for k in (1.0, 3.0)]
    for loss in (*mine, mine[0] + mine[1]):
        wanted, slope = step(loss, logits.double(), target)
        found, gradient = step(loss, logits.to(device), target.to(device))
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
        assert row_error(gradient, slope) < 1e-5


class Operations(TorchDispatchMode):
    """What torch does itself, except allocating results and views of them."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if not name.startswith(("empty", "new_empty", "detach", "ones_like", "slice")):
            self.names.append(name)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "spec", ["ce", "gr(normalize='none')", "imae(normalize='none')", *MADE_OF_TABLES, *BY_WEIGHT]
)
def test_a_step_is_two_kernels_and_nothing_of_torch(spec, device, monkeypatch):
    from noiseproof.kernels.triton import fused

    logits, target = (t.to(device) for t in batch(7, 11))  # no other test has bound kernels of this shape
    leaf, loss = logits.requires_grad_(), losses.get(spec)
    monkeypatch.setattr(fused, "bound", lambda *of: None)
    loss(leaf, target)  # tables go to the device once
    launched = []
    monkeypatch.setattr(fused, "start", lambda kernel, *rest: launched.append(kernel.fn.__name__))
    with Operations() as seen:
        torch.autograd.grad(loss(leaf, target), leaf)
    assert launched == ["statistics_kernel", "gradient_kernel"]
    assert seen.names == []
