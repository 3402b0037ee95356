"""A replayed program is the loss it was recorded from."""

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import recorded
from noiseproof.kernels.programs.recorder import Operation
from noiseproof.kernels.programs.replay import FUNCTIONS, replay

SPECS = ["ce", "focal", "gce", "truncated_gce", "tce", "aul", "agce", "sl", "imae", "scale(mae)", "ce + mae"]


@pytest.mark.parametrize("spec", SPECS)
def test_values_and_emphases(spec):
    loss = losses.get(spec)
    recording = recorded(loss.row_function(10, 1.0))
    margin = torch.linspace(-30, 30, 101, dtype=torch.float64)
    value, emphasis = loss.evaluate(margin, num_classes=10, mass=1.0)
    registers = replay(recording.program.code, [margin], recording.tables)
    found = [registers[number] for number in recording.program.outputs]
    torch.testing.assert_close(found[0], value, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found[1], -emphasis, rtol=1e-9, atol=1e-12)


def test_every_operation_can_be_replayed():
    assert {*FUNCTIONS, Operation.CONSTANT, Operation.TABLE} == set(Operation)
