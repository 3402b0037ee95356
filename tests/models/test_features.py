"""forward_with_features on modules of other libraries."""

import types

import pytest
import torch
from torch import nn

from noiseproof import models

X = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))


class HeadFirst(nn.Module):
    """Registers its head before its body and has an auxiliary head that runs earlier."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 3)
        self.body = nn.Linear(4, 8)
        self.auxiliary = nn.Linear(8, 3)

    def forward(self, x):
        features = torch.relu(self.body(x))
        self.auxiliary(features)
        return self.head(features * 2)


class Several(HeadFirst):
    def __init__(self, wrap):
        super().__init__()
        self.wrap = wrap

    def forward(self, x):
        return self.wrap(super().forward(x))


def hooks_of(model):
    return [hook for module in model.modules() for hook in module._forward_pre_hooks.values()]


def test_features_are_the_input_of_the_last_called_layer():
    model = HeadFirst()
    logits, features = models.forward_with_features(model, X)
    assert torch.equal(logits, model(X))
    assert torch.equal(logits, model.head(features))


@pytest.mark.parametrize(
    "wrap", [lambda z: (z, None), lambda z: [z], lambda z: types.SimpleNamespace(logits=z, hidden=None)]
)
def test_outputs_of_several_parts(wrap):
    model = Several(wrap)
    logits, features = models.forward_with_features(model, X)
    assert torch.equal(logits, model.head(features))


def test_gradients_flow_through_both():
    model = HeadFirst()
    logits, features = models.forward_with_features(model, X)
    (logits.sum() + features.square().sum()).backward()
    assert model.body.weight.grad.abs().sum() > 0
    assert model.head.weight.grad.abs().sum() > 0


def test_wrapped_classifier():
    inner = models.get("mlp", num_classes=3, in_channels=4, seed=0)
    wrapped = nn.Sequential(inner)
    logits, features = models.forward_with_features(wrapped, X)
    assert torch.equal(logits, inner(X))
    assert torch.equal(features, inner.features(X))


def test_subclass_with_another_forward():
    class Doubled(models.Classifier):
        def forward(self, x):
            return 2 * super().forward(x)

    plain = models.get("mlp", num_classes=3, in_channels=4, seed=0)
    model = Doubled(plain.body, 256, plain.input_shape, num_classes=3)
    assert torch.equal(models.forward_with_features(model, X)[0], model(X))


def test_compiled_model():
    for model in (HeadFirst(), models.get("mlp", num_classes=3, in_channels=4, seed=0)):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="eager")
        compiled(X)
        logits, features = models.forward_with_features(compiled, X)
        assert torch.equal(logits, model(X))
        assert torch.equal(logits, model.head(features))


def test_hooks_are_removed_after_an_error():
    model = HeadFirst()
    models.forward_with_features(model, X)
    assert hooks_of(model) == []
    with pytest.raises(RuntimeError):
        models.forward_with_features(model, X[:, :2])
    assert hooks_of(model) == []


def test_model_without_a_linear_layer_is_refused():
    with pytest.raises(ValueError, match=r"ReLU has no nn\.Linear"):
        models.forward_with_features(nn.ReLU(), X)


def test_uncalled_linear_layer_is_reported():
    class Idle(HeadFirst):
        def forward(self, x):
            return x @ self.body.weight.T

    with pytest.raises(ValueError, match=r"none of the 3 nn\.Linear layers of Idle was called"):
        models.forward_with_features(Idle(), X)


def test_output_that_is_not_a_tensor_is_refused():
    with pytest.raises(TypeError, match="got dict"):
        models.forward_with_features(Several(lambda z: {"z": z}), X)
