"""Validation of configs, and their JSON form."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.losses import LOSSES
from noiseproof.methods import METHODS
from noiseproof.train import Config


@given(
    seed=st.integers(0, 2**62 - 1),
    lr=st.floats(1e-8, 1e3),
    loss=st.sampled_from(
        ["ce", "gce(q=0.4)", "10*nce + 0.1*agce(a=1.8, q=3)", "unit_max(scale(mae, tau=2.6))"]
    ),
    clip=st.none() | st.floats(1e-3, 10),
    noise=st.sampled_from([None, "symmetric(0.4)", "asymmetric(0.4, map='cifar10')"]),
)
def test_config_survives_a_json_round_trip(**settings):
    config = Config(**settings)
    assert Config.from_json(config.to_json()) == config
    assert Config.from_json(config.to_json()).differences(config) == []


INVALID_SETTINGS = [
    ({"loss": "gcee"}, ValueError, "loss: unknown loss 'gcee', did you mean 'gce'"),
    ({"loss": "gce(q=0)"}, ValueError, "loss: gce: q=0 is out of range"),
    ({"noise": "symetric(0.4)"}, ValueError, "did you mean 'symmetric'"),
    ({"schedule": "cosin"}, ValueError, "did you mean 'cosine'"),
    ({"optimizer": "adan"}, ValueError, "did you mean 'adam'"),
    ({"augment": "flop"}, ValueError, "did you mean 'flip'"),
    ({"method": "nothing_like_it"}, ValueError, "method: unknown method 'nothing_like_it'"),
    ({"epochs": 0}, ValueError, "epochs=0 is out of range"),
    ({"epochs": 3, "iterations": 5}, ValueError, "epochs=3 and iterations=5 exclude each other: give one"),
    ({"epochs": 2.5}, TypeError, "epochs must be a whole number or None, got 2.5"),
    ({"batch_size": True}, TypeError, "batch_size must be a whole number"),
    ({"batch_size": None}, TypeError, "batch_size must be a whole number"),
    ({"seed": 2**62}, ValueError, "seed=.* is out of range"),
    ({"seed": -1}, ValueError, "seed=-1 is out of range"),
    ({"lr": 0}, ValueError, "lr=0 is out of range, it must satisfy lr > 0"),
    ({"lr": float("nan")}, ValueError, "lr=nan is out of range"),
    ({"lr": "0.1"}, TypeError, "lr must be a number, got '0.1'"),
    ({"momentum": 1.0}, ValueError, "0 <= momentum < 1"),
    ({"weight_decay": -1e-4}, ValueError, "weight_decay >= 0"),
    ({"clip": 0.0}, ValueError, "clip > 0"),
    ({"validation": 1.0}, ValueError, "0 <= validation < 1"),
    ({"precision": "fp16"}, ValueError, "precision='fp16' is unknown"),
    ({"balanced_batches": 0}, ValueError, "1 <= balanced_batches"),
    ({"validation": 0.1, "validation_data": "digits"}, ValueError, "give one of them"),
    ({"validation_labels": "true"}, ValueError, "choose one of 'given', 'clean'"),
    ({"patience": 3}, ValueError, "patience needs validation data"),
    ({"data": 3}, TypeError, "data must be a string"),
    ({"record": 1}, TypeError, "record must be true or false"),
    ({"out": 3}, TypeError, "out must be a string or None"),
    ({"out": ""}, ValueError, "out='' is not a folder: give one such as runs/first"),
    ({"out": " "}, ValueError, "out=' ' is not a folder"),
]


@pytest.mark.parametrize(
    ("settings", "kind", "message"), INVALID_SETTINGS, ids=[str(case[0]) for case in INVALID_SETTINGS]
)
def test_invalid_settings_are_named_in_the_error(settings, kind, message):
    with pytest.raises(kind, match=message):
        Config(**settings)


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(LOSSES)))
def test_method_as_loss_raises_an_error(name):
    advice = f"give it as --method {name} and not as loss"
    with pytest.raises(ValueError, match=f"^loss: '{name}' is a method, not a loss: {advice}$"):
        Config(loss=name)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - set(METHODS)))
def test_loss_as_method_raises_an_error(name):
    advice = f"give it as --loss {name} and not as method"
    with pytest.raises(ValueError, match=f"^method: '{name}' is a loss, not a method: {advice}$"):
        Config(method=name)


def test_error_for_a_method_as_loss_keeps_its_options():
    with pytest.raises(ValueError, match=r"give it as --method 'elr\(beta=0\.7\)' and not as loss$"):
        Config(loss="elr(beta=0.7)")
    assert Config(loss="truncated_gce").loss == Config(method="truncated_gce").method


HOSTILE = [
    '{"loss": "__import__(\'os\')"}',
    '{"_target_": "os.system"}',
    '{"lr": 1e400}',
    "[]",
    "null",
    "{",
    '"ce"',
    '{"loss": ["ce"]}',
    '{"data": {"$ref": "x"}}',
    "[" * 100_000,
    " " * (1 << 20) + "{}",
    '{"epochs": 1' + "0" * 5000 + "}",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_malicious_files_are_refused(text):
    with pytest.raises((ValueError, TypeError)):
        Config.from_json(text)


def test_unknown_setting_error_suggests_a_name():
    with pytest.raises(ValueError, match="no setting 'batchsize', did you mean 'batch_size'"):
        Config.from_dict({"batchsize": 3})


def test_epochs_and_iterations_exclude_each_other():
    config = Config()
    assert (config.epochs, config.iterations) == (100, None)
    changed = config.replace(iterations=50)
    assert (changed.epochs, changed.iterations) == (None, 50)
    assert changed.replace(epochs=2).iterations is None
    assert Config.from_json(changed.to_json()) == changed


def test_differences_ignore_settings_without_effect_on_the_result():
    config = Config(loss="mae")
    assert config.differences(config.replace(out="x", device="cpu", checkpoint_seconds=1.0)) == []
    assert config.differences(config.replace(lr=0.5)) == ["lr: 0.01 -> 0.5"]


def test_config_is_frozen_and_loads_from_a_file(tmp_path):
    config = Config(loss="mae")
    with pytest.raises(AttributeError):
        config.loss = "ce"
    (tmp_path / "c.json").write_text(json.dumps({"loss": "mae"}))
    assert Config.load(tmp_path / "c.json") == config


def test_default_length_survives_a_json_round_trip():
    config = Config()
    again = Config.from_json(config.to_json())
    assert again == config
    assert again.with_enough_steps(11).epochs == config.with_enough_steps(11).epochs == 273
    assert Config.from_json(Config(epochs=100).to_json()).with_enough_steps(11).epochs == 100


def test_paths_and_numbers_of_numpy_become_plain_values(tmp_path):
    config = Config(out=tmp_path / "run", epochs=np.int64(3), lr=np.float32(0.5))
    assert (config.out, config.epochs, config.lr) == (str(tmp_path / "run"), 3, 0.5)
    assert Config.from_json(config.to_json()) == config
