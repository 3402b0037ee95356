"""EpochTable: the columns of the current epoch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.dynamics.epoch_table import EpochTable


@given(st.permutations(range(12)), st.integers(1, 12))
def test_epoch_table_does_not_depend_on_batch_order(order, size):
    index = torch.arange(12) * 3 + 5
    margins, classes = torch.linspace(-4, 4, 12), torch.arange(12) % 4
    table = EpochTable(index, ("tau",))
    for part in torch.tensor(order).split(size):
        table.write(index[part], margins[part], classes[part], {"tau": margins[part] / 8, "more": part})
    found = table.epoch()
    assert torch.equal(found["margin"], margins.half())
    assert torch.equal(found["tau"], (margins / 8).half())
    assert found["prediction"].tolist() == classes.tolist()


def test_samples_not_visited_are_marked():
    table = EpochTable(torch.arange(3))
    table.write(torch.tensor([1]), torch.tensor([2.0]), torch.tensor([5]))
    found = table.epoch()
    assert found["margin"].isnan().tolist() == [True, False, True]
    assert found["prediction"].tolist() == [-1, 5, -1]
    table.reset()
    assert table.epoch()["margin"].isnan().all()
    assert table.epoch()["prediction"].tolist() == [-1, -1, -1]


def test_margins_beyond_half_precision_stay_finite():
    table = EpochTable(torch.arange(2))
    table.write(torch.arange(2), torch.tensor([1e30, -1e30]), torch.zeros(2))
    assert table.epoch()["margin"].tolist() == [65504.0, -65504.0]


def test_state_within_an_epoch_can_be_restored():
    first, second = EpochTable(torch.arange(4)), EpochTable(torch.arange(4))
    first.write(torch.tensor([2]), torch.tensor([1.25]), torch.tensor([1]))
    second.restore({name: value.clone() for name, value in first.state().items()})
    for table in (first, second):
        table.write(torch.tensor([0]), torch.tensor([-0.5]), torch.tensor([2]))
    assert str(first.epoch()) == str(second.epoch())
    assert second.epoch()["prediction"].tolist() == [2, -1, 1, -1]


def test_stored_values_do_not_require_grad():
    table = EpochTable(torch.arange(2))
    table.write(torch.arange(2), torch.zeros(2, requires_grad=True) * 2, torch.zeros(2))
    assert not table.columns["margin"].requires_grad


def test_missing_extra_column_is_an_error():
    with pytest.raises(KeyError, match="tau"):
        EpochTable(torch.arange(2), ("tau",)).write(torch.arange(2), torch.zeros(2), torch.zeros(2))


def test_epoch_is_a_copy():
    table = EpochTable(torch.tensor([4, 8]))
    table.write(torch.tensor([4, 8]), torch.tensor([0.5, 1.5]), torch.tensor([3, 1]))
    epoch = table.epoch()
    table.reset()
    assert epoch["prediction"].tolist() == [3, 1]
    assert epoch["margin"].tolist() == [0.5, 1.5]
