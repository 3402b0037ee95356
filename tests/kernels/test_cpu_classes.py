"""Class programs made quick for the CPU operator: fewer steps to the same numbers."""

import pytest
import torch
from torch.nn.functional import logsigmoid

from noiseproof import losses
from noiseproof.kernels.cpu.classes import instructions, quick
from noiseproof.kernels.programs.class_program import Known, recorded_classes
from noiseproof.kernels.programs.recorder import Operation
from noiseproof.kernels.programs.replay import replay

SPECS = ["ce", "mae", "sl", "gce", "agce", "ael", "nal_fixed", "scale(mae)", "ce + mae"]


def recorded(spec):
    loss = losses.get(spec)
    return recorded_classes(lambda margin: loss.evaluate(margin, num_classes=5, mass=1.0))


def steps(code):
    """Constants cost nothing."""
    return sum(step[0] != Operation.CONSTANT for step in instructions(code))


@pytest.mark.parametrize("spec", SPECS)
def test_the_same_numbers(spec):
    program = recorded(spec)
    margin = torch.linspace(-30, 5, 99, dtype=torch.float64)
    p, rest = margin.sigmoid(), (-margin).sigmoid()
    inputs = [margin, p, rest, logsigmoid(margin), logsigmoid(-margin)]
    short = quick(program)
    assert steps(short.code) <= steps(program.code)
    slow, fast = replay(program.code, inputs), replay(short.code, inputs)
    for here, there, factor in zip(short.outputs, program.outputs[:2], short.factors, strict=True):
        torch.testing.assert_close(factor * fast[here], slow[there], rtol=1e-12, atol=0)


def test_sums_of_mae_need_no_step_at_all():
    program = quick(recorded("mae"))
    assert steps(program.code) == 0
    assert program.outputs == (Known.REST, Known.P)
    assert program.factors == (2.0, 2.0)


def test_exp_and_expm1_of_a_number_are_taken_together():
    code = instructions(quick(recorded("gce")).code)
    (first,) = [step for step in code if step[0] == Operation.EXPM1]
    (second,) = [step for step in code if step[0] == Operation.EXP]
    assert first[3] == code.index(second) + len(Known)
    assert second[2] == 1


def test_who_needs_margins():
    assert not quick(recorded("gce")).reads(Known.MARGIN, Known.LOG_REST)
    assert quick(recorded("scale(mae)")).reads(Known.MARGIN)
    assert quick(recorded("tce")).reads(Known.LOG_REST)
