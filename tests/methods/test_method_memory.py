"""``SampleTable``: lookup by permanent index; checks of methods that store values of samples."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from training_info import normal, training_info

from noiseproof import methods
from noiseproof.methods import ELR, SELC, Joint, SampleTable, TrainingInfo


@settings(deadline=None, max_examples=30)
@given(index=st.lists(st.integers(0, 10**12), min_size=1, max_size=20, unique=True), seed=st.integers(0, 99))
def test_written_values_are_read_by_index(index, seed):
    index = torch.tensor(index)
    table = SampleTable(index, torch.zeros(len(index), 2))
    shuffled = index[torch.randperm(len(index), generator=torch.Generator().manual_seed(seed))]
    table.write(shuffled, torch.stack([shuffled, -shuffled], 1).float())
    assert torch.equal(table.read(index), torch.stack([index, -index], 1).float())


def test_write_at_one_position_of_the_second_dimension():
    table = SampleTable(torch.tensor([9, 4]), torch.zeros(2, 3, 2))
    table.write(torch.tensor([4]), torch.ones(1, 2), at=1)
    assert table.values.nonzero().tolist() == [[1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize(("index", "unknown"), [([3, 8], 5), ([0, 1], 2), ([0, 1], -1)])
def test_unknown_sample_raises_value_error(index, unknown):
    table = SampleTable(torch.tensor(index), torch.zeros(2))
    with pytest.raises(ValueError, match=f"sample {unknown} is not in the training data of 2 samples"):
        table.read(torch.tensor([unknown]))


def test_repeated_sample_raises_value_error():
    with pytest.raises(ValueError, match="sample 4 occurs twice"):
        SampleTable(torch.tensor([4, 4]), torch.zeros(2))


@pytest.mark.parametrize("method", [ELR(), SELC(start=0), Joint()])
def test_step_before_prepare_raises_runtime_error(method):
    zero = torch.tensor([0])
    with pytest.raises(RuntimeError, match=rf"{method.name} is not prepared: call prepare"):
        method.step(torch.zeros(1, 2), zero, zero, epoch=1)


@pytest.mark.parametrize("method", [ELR(), SELC(alpha=0.5, start=0), Joint()])
def test_memory_has_no_gradient(method):
    method.prepare(training_info([0, 1]))
    logits = normal(2, 2, dtype=torch.float32).requires_grad_()
    method.step(logits, torch.tensor([0, 1]), torch.tensor([0, 1]), epoch=1)
    assert not method.memory.values.requires_grad


def test_nan_logits_raise_value_error_and_leave_memory_unchanged():
    method = ELR()
    method.prepare(training_info([0, 1]))
    with pytest.raises(ValueError, match="row 1 are not finite"):
        method.step(
            torch.tensor([[0.0, 1.0], [torch.nan, 0.0]]), torch.tensor([0, 1]), torch.arange(2), epoch=1
        )
    assert not method.memory.values.any()


@pytest.mark.parametrize(("spec", "epochs"), [("selc", 30), ("joint", 70), ("truncated_gce", 39)])
def test_method_that_is_never_active_warns(spec, epochs):
    label, index = torch.tensor([0, 1]), torch.arange(2)
    with pytest.warns(UserWarning, match=rf"{spec}\(.*\) is never active in {epochs} epochs: .*start"):
        methods.get(spec).prepare(TrainingInfo(label, index, 2, None, epochs=epochs, seed=0))
    methods.get(spec).prepare(TrainingInfo(label, index, 2, None, epochs=epochs + 1, seed=0))


def test_period_without_active_epoch_warns():
    with pytest.warns(UserWarning, match="smaller start or period"):
        methods.get("truncated_gce(start=5, period=10)").prepare(
            TrainingInfo(torch.tensor([0, 1]), torch.arange(2), 2, None, epochs=9, seed=0)
        )
