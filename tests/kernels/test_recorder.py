"""A recorded program gives the numbers of the torch calls it was recorded from."""

import math

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels.program import FUNCTIONS, look_up, record, recording_of, replay
from noiseproof.kernels.recorder import WIDTH, Operation, Recorded, Tape, UnrecordableError


def play(program, *inputs):
    """Run a program with torch, one instruction after the other."""
    registers = replay(program.code, inputs)
    return [registers[number].expand_as(inputs[0]) for number in program.outputs]


MARGINS = torch.linspace(-30, 30, 101, dtype=torch.float64)
CALLS = {
    "operators": lambda m: 2 - m / 3 + (1 / (m * m + 1)) ** 1.5 - (-m) * 4,
    "whole powers of negative numbers": lambda m: m**3 + m**0 + (m - 0.5) ** -2 + torch.pow(m, 5),
    "a number to the power of the margin": lambda m: 1.5**m,
    "alpha": lambda m: torch.add(m, m * m, alpha=3) + torch.sub(m, 1, alpha=2) + torch.rsub(m, 1.0),
    "comparisons": lambda m: torch.where((m > 1) | (m <= -2), m, 0.0) + (m != 0).to(m.dtype) * 7,
    "both": lambda m: torch.where((m >= -1) & (m < 2) & ~(m == 0), 1.0, m.square()),
    "clamps": lambda m: m.clamp(-2, 3) + m.clamp_min(0.5) + m.clamp(max=1) + torch.relu(m),
    "likes": lambda m: torch.full_like(m, 0.3) + torch.zeros_like(m) + torch.ones_like(m),
    "functions": lambda m: m.sigmoid().log1p().exp().expm1().sqrt() + torch.nn.functional.softplus(m),
    "addcmul": lambda m: torch.addcmul(m, m, m, value=0.5) + m.abs().reciprocal().clamp_max(5),
    "where as a method": lambda m: m.where(m > 0.5, torch.zeros_like(m)) + (2 * m).where(m < -1, 0.3),
    "masks": lambda m: m * (m > -3) + (m > 2) * 0.5 - m * ((m > 0) * (m < 5)) + (1 - (m > 1).float()) / 4,
    "nothing happens": lambda m: m.detach().clone(),
}


@pytest.mark.parametrize("name", CALLS)
def test_plays_what_was_called(name):
    tape = Tape(1)
    program = tape.program(CALLS[name](Recorded(tape, 0)))
    (found,) = play(program, MARGINS)
    torch.testing.assert_close(found, CALLS[name](MARGINS), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "spec", ["focal", "aul", "agce", "truncated_gce", "nal_fixed", "unit_max(scale(gce))"]
)
def test_losses_are_recorded_faithfully(spec):
    loss = losses.get(spec)
    tape = Tape(1)
    program = tape.program(*loss.evaluate(Recorded(tape, 0), num_classes=10))
    found = play(program, MARGINS)
    wanted = loss.evaluate(MARGINS, num_classes=10)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-300)


def test_equal_calls_are_written_once():
    tape = Tape(1)
    margin = Recorded(tape, 0)
    program = tape.program(torch.sigmoid(margin) + torch.sigmoid(margin))
    assert len(program.code) == 2 * WIDTH


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.sum(),
        lambda m: m if m > 0 else -m,
        lambda m: m * torch.ones(3),
        lambda m: m.double(),
        lambda m: m.to(torch.float16),
        lambda m: m * math.inf,
        lambda m: m[0],
        lambda m: m**1000,
        lambda m: (m > 0) + (m > 1),
        lambda m: torch.sigmoid(m) * (1 - (m > 0)),
        lambda m: m * ((m > 0) + True),
        lambda m: m * (torch.maximum(m > 0, m > 1) + (m < 0)),
        lambda m: torch.zeros_like(m > 0) + 0.5,
        lambda m: torch.where(m > 0),
        lambda m: torch.where(m, 1.0, 0.0),
        lambda m: torch.logical_not(m) * m,
        lambda m: torch.nn.functional.softplus(m, beta=2),
        lambda m: torch.func.grad(lambda x: x.sum())(m),
        float,
    ],
)
def test_what_a_program_cannot_do_is_refused(call):
    with pytest.raises((UnrecordableError, TypeError, ValueError)):
        Tape(1).program(call(Recorded(Tape(1), 0)))


SPECS = [
    "ce",
    "focal",
    "gce",
    "truncated_gce",
    "tce",
    "aul",
    "agce",
    "sl",
    "imae(normalize='none')",
    "scale(mae)",
    "ce + mae",
]


@pytest.mark.parametrize("spec", SPECS)
def test_row_functions_are_recorded_with_value_and_slope(spec):
    loss = losses.get(spec)
    recording = record(loss.row_function(10))
    margin = torch.linspace(-30, 30, 101, dtype=torch.float64)
    value, emphasis = loss.evaluate(margin, num_classes=10, mass=1.0)
    registers = replay(recording.program.code, [margin], recording.tables)
    found = [registers[number] for number in recording.program.outputs]
    torch.testing.assert_close(found[0], value, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found[1], -emphasis, rtol=1e-9, atol=1e-12)


def test_every_operation_can_be_replayed():
    assert {*FUNCTIONS, Operation.CONSTANT, Operation.TABLE} == set(Operation)


SCHEDULE = {"factor": 1.0}


class Annealed(losses.MarginLoss):
    """Reads a number that is not an attribute of the loss, as a schedule would."""

    name = "annealed"

    def value(self, margin):
        return torch.sigmoid(-margin) * SCHEDULE["factor"]

    def emphasis(self, margin):
        return torch.sigmoid(margin) * torch.sigmoid(-margin) * SCHEDULE["factor"]


def test_losses_of_the_library_are_recorded_once():
    function = losses.get("gce").row_function(10)
    assert recording_of(function) is recording_of(function)


@pytest.mark.parametrize(
    "wrap", [lambda loss: loss, lambda loss: losses.Scale(loss), lambda loss: loss + losses.CE()]
)
def test_losses_users_write_are_recorded_again_and_kept_while_they_stay_the_same(wrap, monkeypatch):
    function = wrap(Annealed()).row_function(10)
    first = recording_of(function)
    assert recording_of(function) is first
    monkeypatch.setitem(SCHEDULE, "factor", 2.0)
    second = recording_of(function)
    assert second.program != first.program
    assert recording_of(function) is second


def test_what_looks_at_the_batch_cannot_be_recorded():
    loss = losses.get('ce + gr(normalize="batch")')
    assert recording_of(loss.row_function(10)) is None
    assert recording_of(losses.get('gr(normalize="batch")').row_function(10)) is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_table_is_read_on_the_device_of_the_positions(dtype):
    found = look_up(torch.zeros(9, 4), torch.zeros(3, dtype=dtype, device="meta"))
    assert (found.device.type, found.dtype, found.shape) == ("meta", dtype, (3,))
