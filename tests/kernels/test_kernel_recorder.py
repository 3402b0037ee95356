"""A recorded program gives the numbers of the torch calls it was recorded from."""

import math

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import record_classes
from noiseproof.kernels.programs.class_program import needs_series
from noiseproof.kernels.programs.powers import powers_of
from noiseproof.kernels.programs.recorder import WIDTH, Operation, Recorded, Tape, UnrecordableError
from noiseproof.kernels.programs.replay import replay
from noiseproof.kernels.programs.series import series_of, sums_of


def play(program, *inputs):
    """Run a program with torch, one instruction after the other."""
    registers = replay(program.code, inputs)
    return [registers[number] for number in program.outputs]


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


@pytest.mark.parametrize("spec", ["ce", "mae", "gce", "focal", "sl", "rce", "tce", "aul", "truncated_gce"])
def test_class_programs_give_value_ratio_and_emphasis(spec):
    loss = losses.get(spec)
    program = record_classes(lambda m: loss.evaluate(m, num_classes=10))
    margin = torch.linspace(-30, 1, 101, dtype=torch.float64)
    p, rest = margin.sigmoid(), (-margin).sigmoid()
    value, ratio, emphasis = play(program, margin, p, rest, p.log(), rest.log())
    wanted = loss.evaluate(margin, num_classes=10)
    torch.testing.assert_close((value, emphasis), wanted, rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(ratio, wanted[1] / rest, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("spec", ["ce", "mae", "gce", "sl", "rce"])
def test_class_programs_neither_divide_nor_take_sigmoids(spec):
    program = record_classes(losses.get(spec).evaluate)
    done = {Operation(int(number)) for number in program.code[::WIDTH]}
    assert not done & {Operation.SIGMOID, Operation.LOGSIGMOID}
    assert Operation.DIVIDE not in done or spec == "gce", "gce divides its value by a constant"


def test_class_programs_refuse_tables_and_batches():
    for spec in ("gr", 'gr(g="identity", normalize="batch")'):
        loss = losses.get(spec)
        assert record_classes(lambda m, loss=loss: loss.evaluate(m, mass=1.0)) is None


@pytest.mark.parametrize(("spec", "needed"), [("ce", False), ("mae", False), ("gce", False), ("focal", True)])
def test_only_ratios_that_need_1_minus_p_ask_for_series(spec, needed):
    assert needs_series(record_classes(losses.get(spec).evaluate)) is needed


SERIES = ["ce", "mae", "focal", "focal(gamma=0.5)", "sl", "tce", "aul", "agce(a=1.8, q=3)", "ael"]


@pytest.mark.parametrize("spec", SERIES)
def test_series_are_what_class_programs_give_for_small_p(spec):
    program = record_classes(lambda m: losses.get(spec).evaluate(m, num_classes=10))
    p = torch.logspace(-5, -2, 31, dtype=torch.float64)
    log_p, log_rest = p.log(), (-p).log1p()
    found = play(program, log_p - log_rest, p, 1 - p, log_p, log_rest)
    for ours, series in zip(found, series_of(program), strict=False):
        by_power = [series[k] + series[3 + k] * log_p for k in range(3)]
        wanted = by_power[0] + p * (by_power[1] + p * by_power[2])
        assert ((ours - wanted).abs() < 20 * (1 - log_p) * p**3 + 1e-12).all()


@pytest.mark.parametrize("spec", ["gce", "rce", "mae", "tce"])
def test_sums_that_do_not_grow_with_the_classes_are_refused(spec):
    assert sums_of(record_classes(losses.get(spec).evaluate)) is None


def test_the_reach_of_focal_sums():
    """Of gamma 2: the ratio is (1 - p)(1 - p - 2 p log p)."""
    assert sums_of(record_classes(losses.get("focal(gamma=2)").evaluate)).reach == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("spec", "exponents"),
    [
        ("mae", (1.0,)),
        ("gce(q=0.3)", (0.3,)),
        ("rce", (1.0,)),
        ("mae + 2*gce", (0.7, 1.0)),
        ("unit_max(gce)", (0.7,)),
    ],
)
def test_programs_of_powers_are_recognised(spec, exponents):
    program = record_classes(lambda m: losses.get(spec).evaluate(m, num_classes=10))
    powers = powers_of(program)
    assert powers.exponents == pytest.approx(exponents)
    p = torch.linspace(0.01, 0.99, 50, dtype=torch.float64)
    value, ratio, _ = play(program, p.logit(), p, 1 - p, p.log(), (-p).log1p())
    found = [sum(f * p**q for f, q in zip(part, exponents, strict=True)) for part in powers[1:3]]
    torch.testing.assert_close((powers.constant + found[0], found[1]), (value, ratio), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("spec", ["ce", "focal", "sl", "tce", "aul", "agce", "ael", "scale(mae)"])
def test_other_programs_are_no_powers(spec):
    assert powers_of(record_classes(lambda m: losses.get(spec).evaluate(m, num_classes=10))) is None
