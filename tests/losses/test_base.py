"""Reductions, weights, targets and errors of all losses, against cross entropy of torch."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.nn.functional import cross_entropy

from noiseproof import losses
from noiseproof.kernels import Partials, Wanted
from noiseproof.losses import CE, GCE, MAE, SL, Scale, get
from noiseproof.losses.statistics_loss import StatisticsLoss


def batch(*shape, classes=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(shape[0], classes, *shape[1:], dtype=torch.float64, generator=generator)
    return logits, torch.randint(classes, shape, generator=generator)


WEIGHT = torch.tensor([0.1, 0.5, 1.0, 2.0, 3.0], dtype=torch.float64)


@pytest.mark.parametrize("shape", [(8,), (4, 3), (2, 3, 4)])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_hard_targets_match_cross_entropy(shape, weight, reduction):
    logits, target = batch(*shape)
    target.view(-1)[1] = -100
    found = get("ce", reduction=reduction, weight=weight)(logits, target)
    torch.testing.assert_close(found, cross_entropy(logits, target, weight, reduction=reduction))


@pytest.mark.parametrize("shape", [(8,), (2, 3, 4)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_label_smoothing(shape, reduction):
    logits, target = batch(*shape)
    target.view(-1)[1] = -100
    found = get("gls(alpha=0.15)", reduction=reduction)(logits, target)
    torch.testing.assert_close(
        found, cross_entropy(logits, target, reduction=reduction, label_smoothing=0.15)
    )


@pytest.mark.parametrize("shape", [(8,), (2, 3, 4)])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_soft_targets_match_cross_entropy(shape, weight, reduction):
    logits, _ = batch(*shape)
    soft = torch.softmax(batch(*shape, seed=1)[0], 1)
    loss = get("ce", reduction=reduction, weight=weight)
    torch.testing.assert_close(loss(logits, soft), cross_entropy(logits, soft, weight, reduction=reduction))


def test_gradient_of_soft_targets():
    logits, _ = batch(8)
    soft = torch.softmax(batch(8, seed=1)[0], 1)
    leaf = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(get("ce")(leaf, soft), leaf)
    (wanted,) = torch.autograd.grad(cross_entropy(leaf, soft), leaf)
    torch.testing.assert_close(found, wanted)


def test_soft_targets_receive_gradients():
    logits, _ = batch(6)
    soft = torch.softmax(batch(6, seed=1)[0], 1).requires_grad_()
    (found,) = torch.autograd.grad(get("gce")(logits, soft), soft)
    rows = get("gce", reduction="none")
    wanted = torch.stack([rows(logits, torch.full((6,), k)) for k in range(5)], 1) / 6
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("label_type", [torch.int32, torch.int16, torch.uint8])
def test_integer_dtypes_of_labels(label_type):
    logits, target = batch(8)
    assert torch.equal(get("gce")(logits, target.to(label_type)), get("gce")(logits, target))


def test_ignore_index_may_be_a_class():
    logits, target = batch(8)
    found = get("ce", ignore_index=2)(logits, target)
    torch.testing.assert_close(found, cross_entropy(logits, target, ignore_index=2))


def test_sample_weights_zero_and_two_remove_and_repeat_a_sample():
    logits, target = batch(3)
    loss = get("gce")
    found = loss(logits, target, sample_weight=torch.tensor([0.0, 1.0, 2.0]))
    doubled = loss(logits[[1, 2, 2]], target[[1, 2, 2]])
    torch.testing.assert_close(found, doubled)
    assert loss(logits, target, sample_weight=torch.zeros(3)) == 0


def test_weighted_mean_of_a_large_batch_matches_torch_in_float32():
    logits, target = batch(3000, classes=5)
    weight = WEIGHT.float()
    found = get("ce", weight=weight)(logits.float(), target)
    torch.testing.assert_close(found, cross_entropy(logits.float(), target, weight))


def test_loss_moves_with_its_module():
    loss = get("ce", weight=WEIGHT)
    assert "weight" in loss.state_dict()
    assert loss.float().weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z, y: get("ce", weight=torch.ones(3))(z, y), "weight has 3 entries"),
        (lambda z, y: get("ce", weight=-torch.ones(5)), "non-negative"),
        (lambda z, y: get("ce", weight=torch.ones(5, 2)), "vector"),
        (lambda z, y: get("ce", reduction="avg"), "'avg' is unknown"),
        (lambda z, y: get("ce")(z, y, sample_weight=torch.ones(3)), "one entry per sample"),
        (lambda z, y: get("ce")(z, y, sample_weight=y / 0), "sample_weight has values that are NaN or inf"),
        (lambda z, y: get("ce")(z, torch.zeros(8, 4)), "shape of the logits"),
        (lambda z, y: get("ce")(z, -torch.ones(8, 5)), "not negative"),
        (lambda z, y: get("ce")(z, y[:4]), r"shape \(4,\)"),
        (lambda z, y: get("ce")(z, y.to("meta")), "target is on meta, logits are on cpu"),
        (lambda z, y: get("nce")(z, y.to("meta")), "target is on meta, logits are on cpu"),
    ],
)
def test_invalid_arguments_raise_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(*batch(8))


def test_logits_modified_after_forward_raise_runtime_error():
    logits, target = batch(8)
    leaf = logits.clone().requires_grad_()
    middle = leaf * 1
    value = get("gce")(middle, target)
    middle.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


@pytest.mark.parametrize("name", ["q", "reduction", "ignore_index", "note", "base"])
def test_attributes_cannot_be_set_or_deleted(name):
    for loss in (get("gce"), get("scale(gce)"), OwnStatistics()):
        with pytest.raises(AttributeError, match=f"{name} cannot be set.*create a new one"):
            setattr(loss, name, 1)
        with pytest.raises(AttributeError, match="cannot be deleted"):
            delattr(loss, name)


def test_module_methods_and_hooks_work():
    loss = get("cr(ce)").eval().to(torch.float64)
    loss.prior = torch.ones(3) / 3
    assert not loss.training
    assert loss.train().training
    loss.register_forward_hook(lambda *things: None)
    loss.register_full_backward_hook(lambda *things: None)
    assert float(loss(torch.zeros(2, 3), torch.tensor([0, 1]))) == pytest.approx(0)


def test_get_with_other_settings_returns_a_copy():
    loss = get("gce")
    other = get(loss, reduction="none", ignore_index=3, weight=WEIGHT)
    assert (other.reduction, other.ignore_index, other.q) == ("none", 3, 0.7)
    assert (loss.reduction, loss.ignore_index, loss.weight) == ("mean", -100, None)
    with pytest.raises(ValueError, match="'avg' is unknown"):
        loss.replace(reduction="avg")


def test_class_weights_receive_gradients():
    loss, weight = get("ce"), torch.tensor([1.0, 2.0, 0.5])
    loss.weight = torch.nn.Parameter(weight.clone())
    logits, target = torch.randn(4, 3), torch.tensor([0, 1, 2, 1])
    value = loss(logits, target)
    torch.testing.assert_close(value, get("ce", weight=weight)(logits, target))
    value.backward()
    assert loss.weight.grad is not None


@pytest.mark.parametrize(("factor", "total"), [(2.0, "2"), (0.5, "0.5"), (0.0, "0"), (1.002, "1.002")])
def test_soft_targets_must_sum_to_1(factor, total):
    soft = factor * torch.eye(3)[torch.tensor([0, 1])]
    with pytest.raises(ValueError, match=f"sum to 1 over the classes, got a sum of {total}:"):
        get("ce")(torch.zeros(2, 3), soft)
    with pytest.raises(ValueError, match="sum to 1"):
        get("ce").linear(torch.zeros(2, 4), torch.zeros(3, 4), soft)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_rounded_soft_targets_sum_to_1(dtype):
    soft = torch.softmax(torch.randn(50, 30, generator=torch.Generator().manual_seed(0)), 1).to(dtype)
    assert get("ce")(torch.zeros(50, 30), soft).isfinite()
    assert get("ce")(torch.zeros(2, 3, 4), torch.full((2, 3, 4), 1 / 3, dtype=dtype)).isfinite()
    assert get("ce")(torch.zeros(3), torch.full((3,), 1 / 3, dtype=dtype)).isfinite()


@pytest.mark.parametrize("spec", ["ce", "focal", "nce", "nfl", "gls", "mse", "gr"])
def test_soft_target_of_masked_class_raises_value_error(spec):
    logits = torch.tensor([[0.0, 1.0, 2.0], [0.0, -torch.inf, 1.0]])
    with pytest.raises(ValueError, match=r"logits\[1, 1\] = -inf, but the soft target gives this class 0.25"):
        get(spec)(logits, torch.tensor([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0]]))


def test_arguments_that_are_not_tensors_raise_type_error():
    logits, target = torch.zeros(2, 3), torch.tensor([0, 1])
    with pytest.raises(TypeError, match="target must be a tensor, got ndarray"):
        get("ce")(logits, target.numpy())
    with pytest.raises(TypeError, match="logits must be a tensor, got list"):
        get("ce")(logits.tolist(), target)
    with pytest.raises(TypeError, match="sample_weight must be a tensor, got list"):
        get("ce")(logits, target, sample_weight=[1.0, 1.0])


@pytest.mark.parametrize("index", [1.5, "1"])
def test_ignore_index_must_be_an_integer(index):
    with pytest.raises(TypeError):
        get("ce", ignore_index=index)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GCE(Q=0.5), "gce: unknown option 'Q'"),
        (lambda: SL(alpah=0.3), "did you mean 'alpha'"),
        (lambda: CE(label_smoothing=0.1), "ce: unknown option 'label_smoothing'"),
        (lambda: Scale("mae", tua=3.0), "did you mean 'tau'"),
        (lambda: MAE(weigth=torch.ones(5)), "did you mean 'weight'"),
    ],
)
def test_unknown_options_raise_type_error(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize("spec", ["ce", "nfl", "gr"])
def test_negative_sample_weights_divide_by_their_sum(spec):
    """Weights such as the advantages of reinforcement learning can have any sign."""
    generator = torch.Generator().manual_seed(0)
    logits, target = torch.randn(4, 3, generator=generator), torch.tensor([0, 1, 2, 0])
    weight = torch.tensor([1.0, -2.0, 0.5, 0.2])
    rows = losses.get(spec, reduction="none")(logits, target)
    wanted = (rows * weight).sum() / weight.sum()
    torch.testing.assert_close(losses.get(spec)(logits, target, sample_weight=weight), wanted)
    assert float(losses.get(spec)(logits, target, sample_weight=torch.zeros(4))) == 0


def test_name_of_user_defined_loss_defaults_to_its_class():
    class OwnLoss(losses.MarginLoss):
        def value(self, margin):
            return -torch.nn.functional.logsigmoid(margin)

        def emphasis(self, margin):
            return torch.sigmoid(-margin)

    logits, target = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 0])

    class Other(OwnLoss):
        pass

    class Named(OwnLoss):
        name = "given"

    class Heir(Named):
        pass

    assert [str(kind()) for kind in (OwnLoss, Other, Named, Heir)] == ["ownloss", "other", "given", "given"]
    torch.testing.assert_close(OwnLoss()(logits, target), losses.CE()(logits, target))


class OwnStatistics(StatisticsLoss):
    """A correct loss that is not defined for equal statistics of all rows."""

    wanted = Wanted(squares=True)

    def __init__(self, divide=False):
        super().__init__()
        self.divide = divide
        self.register_buffer("scale", torch.ones(()))

    def value_and_partials(self, row, classes):
        gini = (1 - row.sum_p2) * self.scale
        value, slope = -torch.log(gini), 1 / gini
        factor = value.mean() if self.divide else 1.0
        return value / factor, Partials(sum_p2=slope / factor)


def test_user_defined_statistics_loss_works():
    logits, target = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 0])
    wanted = -torch.log(1 - logits.softmax(1).square().sum(1)).mean()
    torch.testing.assert_close(OwnStatistics()(logits, target), wanted)
    assert OwnStatistics().to("meta")(logits.to("meta"), target.to("meta")).shape == ()


@pytest.mark.parametrize("spec", ["nce", "mse", "10*nce + mae"])
def test_fake_tensors_give_shapes(spec):
    with FakeTensorMode():
        assert get(spec)(torch.zeros(4, 3), torch.zeros(4, dtype=torch.long)).shape == ()


def test_reading_an_undeclared_statistic_raises_value_error():
    class Incomplete(StatisticsLoss):
        wanted = Wanted(sum_z=True)

        def value_and_partials(self, row, classes):
            return row.sum_z * row.sum_p2, Partials(sum_p2=row.sum_z)

    loss = Incomplete()
    for _ in range(2):
        with pytest.raises(
            ValueError,
            match=r"value_and_partials reads sum_p2, which its wanted=Wanted\(sum_z=True, .* does not",
        ):
            loss(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0]))
