"""Specs of methods: parsing, printing, errors and registration."""

import pytest
import torch

from noiseproof import losses, methods
from noiseproof.methods import ELR, METHODS, LossMethod, TrainingInfo, get, register


@pytest.mark.parametrize("name", METHODS)
def test_name_of_method_is_its_key(name):
    assert get(name).name == name


@pytest.mark.parametrize("name", METHODS)
def test_default_specs_round_trip(name):
    assert str(get(str(get(name)))) == str(get(name)) == repr(get(name))


def test_printed_spec_contains_given_values():
    numbers = "lam=10.0, alpha=0.5, start=7, period=2, threshold=0.25"
    spec = f"nal({numbers}, renormalize=True, rce=0.5, A=-2.0, floor=0.0)"
    assert str(get(spec)) == spec
    assert str(get("elr")) == "elr(beta=0.7, lam=3.0)", "defaults are printed too"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("erl", "unknown method 'erl', did you mean 'elr'"),
        ("elr(bta=0.7)", "elr has no option 'bta', did you mean 'beta'"),
        ("elr(0.7)", "'0.7'"),
        ("elr(beta=1)", "elr: beta=1 is out of range"),
        ("elr(lam=-1)", "elr: lam=-1"),
        ("nal(lam=0)", "nal: lam=0 "),
        ("nal(period=0)", "nal: period=0"),
        ("nal(start=2.5)", "nal: start=2.5"),
        ("nal(A=4)", "nal: A=4"),
        ("nal(threshold=1)", "nal: threshold=1"),
        ("selc(alpha=1.5)", "selc: alpha=1.5"),
        ("bootstrap_soft(beta=2)", "bootstrap_soft: beta=2"),
        ("bootstrap_hard(beta=-0.1)", "bootstrap_hard: beta=-0.1"),
        ("joint(prior='true')", "joint: prior='true' is unknown, choose one of 'uniform', 'given'"),
        ("joint(average=0)", "joint: average=0"),
        ("truncated_gce(k=1)", "truncated_gce: k=1"),
        ("s_adaptation(rate=1)", "s_adaptation: rate=1"),
        ("gls_sl(smoothing=1)", "gls_sl: smoothing=1"),
        ("forward(transition='symetric(0.4)')", "did you mean 'symmetric'"),
        ("forward(transition='instance(0.4)')", "forward: instance.* has no matrix: give transition="),
        ("elr + ce", "is not a method"),
        ("gce(q=0.7)", "'gce' is a loss, not a method"),
    ],
)
def test_invalid_specs_raise_value_error(spec, message):
    with pytest.raises(ValueError, match=message):
        get(spec)


@pytest.mark.parametrize(
    ("spec", "option"),
    [
        ("nal(renormalize=1)", "renormalize"),
        ("joint(hard='yes')", "hard"),
        ("elr(beta='high')", "beta"),
        ("selc(alpha=True)", "alpha"),
    ],
)
def test_option_of_wrong_type_raises_type_error(spec, option):
    with pytest.raises(TypeError, match=f"{option} must be"):
        get(spec)


def test_loss_with_method_that_has_its_own_raises_value_error():
    with pytest.raises(ValueError, match=r"elr has its own loss: leave out loss='gce\(q=0.7\)'"):
        get("elr", loss="gce")
    assert isinstance(get("elr", loss="ce"), ELR)


def test_get_returns_losses_and_methods_unchanged():
    loss, method = losses.get("mae"), ELR()
    assert get(method) is method
    assert get(loss).criterion is loss
    assert str(get(None, loss="mae")) == "mae"
    with pytest.raises(TypeError, match="got int"):
        get(3)


def test_registered_method_receives_the_loss_of_the_run():
    class Scaled(LossMethod):
        def __init__(self, *, times: float = 2.0, loss=None):
            super().__init__(times * loss)

    register("scaled_for_test", Scaled)
    try:
        assert str(get("scaled_for_test(times=3.0)", loss="mae")) == "3.0*mae"
        with pytest.raises(ValueError, match="no option 'loss'"):
            get("scaled_for_test(loss=3)")
    finally:
        del METHODS["scaled_for_test"]


@pytest.mark.parametrize("name", ["elr", "a b", "class", "naïve"])
def test_register_rejects_invalid_names(name):
    with pytest.raises(ValueError, match=name):
        register(name, ELR)


def test_register_rejects_objects_that_are_not_callable():
    with pytest.raises(TypeError, match="must be callable"):
        register("mine", 3)


def test_public_names_exist():
    assert all(hasattr(methods, name) for name in methods.__all__)


@pytest.mark.parametrize("label", [-1, -100, 4, 9])
@pytest.mark.parametrize("name", ["joint", "gls_sl", "elr", "selc", "bootstrap_soft", "truncated_gce"])
def test_labels_out_of_range_raise_value_error(name, label):
    method = get(name)
    index = torch.arange(3)
    method.prepare(TrainingInfo(torch.tensor([0, 1, 2]), index, 4, None, epochs=100, seed=0))
    with pytest.raises(ValueError, match=rf"target\[1\] = {label} is not a valid class index"):
        method.step(torch.zeros(3, 4), torch.tensor([0, label, 2]), index, 1)
