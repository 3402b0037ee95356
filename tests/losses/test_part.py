import pytest
import torch

from noiseproof import losses


@pytest.mark.parametrize("kind", [losses.Scale, losses.Shift, losses.UnitMax, losses.CR, losses.Peer])
@pytest.mark.parametrize(
    ("name", "value"), [("ignore_index", 0), ("reduction", "sum"), ("weight", torch.ones(3))]
)
def test_settings_of_inner_loss_raise_value_error(kind, name, value):
    message = f"ce inside {kind.name} has its own {name}.*pass {name} to {kind.name}"
    with pytest.raises(ValueError, match=message):
        kind(losses.CE(**{name: value}))
    found = getattr(kind(losses.CE(), **{name: value}), name)
    assert torch.equal(found, value) if name == "weight" else found == value
