import dataclasses
import json
import typing

import click
import pytest
import typer

from noiseproof.cli.main import app
from noiseproof.cli.settings import GROUPS, SETTINGS, TRAINING, read_config
from noiseproof.train import Config

FIELDS = {field.name: field for field in dataclasses.fields(Config)}
OWN_WORDS = {"compare": {"loss", "method", "seed", "out"}}


def commands():
    group = typer.main.get_command(app)
    waiting = [(name, command) for name, command in group.commands.items()]
    for name, command in waiting:
        if hasattr(command, "commands"):
            waiting += [(f"{name} {part}", inner) for part, inner in command.commands.items()]
        else:
            yield name, command


def test_options_match_the_fields_of_config():
    assert list(SETTINGS) == list(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_settings_have_type_and_default_of_their_fields(name):
    kinds = typing.get_type_hints(Config)[name]
    allowed = set(typing.get_args(kinds)) - {type(None)} or {kinds}
    assert {SETTINGS[name].kind} == allowed
    assert SETTINGS[name].default == FIELDS[name].default


def test_help_lists_every_setting_under_one_heading(shell):
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) < set(SETTINGS)
    shown = shell("train", "--help")[1]
    headings = [shown.index(f"─ {heading} ─") for heading in (*GROUPS, TRAINING)]
    assert all(place > shown.index("─ Options ─") for place in headings)


@pytest.mark.parametrize("verb", ["train", "compare"])
def test_every_setting_is_an_option(verb):
    command = dict(commands())[verb]
    flags = {flag for option in command.params for flag in option.opts}
    for name in FIELDS:
        if name == "seed" and verb == "compare":
            assert "--seeds" in flags
        else:
            assert f"--{name.replace('_', '-')}" in flags


def test_every_option_of_every_command_has_help():
    found = 0
    for name, command in commands():
        assert command.help, name
        for option in command.params:
            if isinstance(option, click.Option) or getattr(option, "help", None) is not None:
                assert len(option.help or "") > 5, f"{name} {option.opts}"
                found += 1
    assert found > 60


def test_help_shows_defaults(shell):
    code, out, _ = shell("train", "--help")
    assert code == 0
    words = " ".join(out.replace("│", " ").split())
    assert "(default: 128)" in words
    assert "(default: cosine)" in words


def test_options_without_a_config_file():
    config = read_config({"config_file": None, "lr": 0.5, "noise": "pair(0.2)", "seed": None})
    assert config == Config(lr=0.5, noise="pair(0.2)")


def test_options_override_the_config_file(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(Config(lr=0.5, momentum=0.5, iterations=7, noise="pair(0.2)").to_json())
    assert read_config({"config_file": file}) == Config(lr=0.5, momentum=0.5, iterations=7, noise="pair(0.2)")
    changed = read_config({"config_file": file, "lr": 0.25, "epochs": 3, "noise": "none"})
    assert changed == Config(lr=0.25, momentum=0.5, epochs=3, noise=None)


def test_option_test_none_differs_from_no_setting(tmp_path):
    assert read_config({"config_file": None, "test": "none"}).test == "none"


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"{", "a config must be JSON"),
        (b"[1]", "a config must be a JSON object"),
        (b'{"lrr": 1}', "no setting 'lrr', did you mean 'lr'?"),
        (b'{"lr": -1}', "lr=-1 is out of range"),
        (b'{"lr": "a"}', "lr must be a number"),
        (b"\xff\xfe", "codec can't decode"),
    ],
)
def test_invalid_config_file_is_reported(shell, tmp_path, content, part):
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    code, out, err = shell("train", "--config", file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert str(file) in err
    assert part in err


def test_written_config_is_read(shell, short, tmp_path):
    assert shell("train", *short, "--epochs", 1, "--lr", 0.25, "--out", tmp_path / "a")[0] == 0
    file = tmp_path / "a" / "config.json"
    code, out, _ = shell("train", "--config", file, "--out", tmp_path / "b", "--seed", 7, "--json")
    assert code == 0
    assert json.loads(out)["folder"] == str(tmp_path / "b")
    first, second = Config.load(file), Config.load(tmp_path / "b" / "config.json")
    assert first.differences(second) == ["seed: 0 -> 7"]


def test_help_lists_all_registered_names():
    from noiseproof.cli.names import NAMES
    from noiseproof.data import AUGMENTATIONS, SOURCES
    from noiseproof.losses import LOSSES
    from noiseproof.methods import METHODS
    from noiseproof.models.registry import BUILT_IN
    from noiseproof.noise import NOISES
    from noiseproof.train import OPTIMIZERS, SCHEDULES

    registries = {
        "data": SOURCES, "noise": NOISES, "model": BUILT_IN, "loss": LOSSES, "method": METHODS,
        "augment": AUGMENTATIONS, "schedule": SCHEDULES, "optimizer": OPTIMIZERS,
    }  # fmt: skip
    assert NAMES.keys() == registries.keys()
    for setting, registry in registries.items():
        assert set(NAMES[setting].split()) == set(registry), setting


@pytest.mark.parametrize("verb", [["train"], ["compare"], ["predict"], ["curve"], ["recipe", "relabel"]])
def test_help_is_not_truncated_and_flags_have_no_type(shell, verb):
    code, shown, _ = shell(*verb, "--help")
    assert code == 0
    assert ", ..." not in shown
    assert "<bool>" not in shown
    words = " ".join(shown.replace("│", " ").split())
    assert "truncated_gce" in words or verb == ["predict"]


def test_help_mentions_table_features(shell):
    words = " ".join(shell("train", "--help")[1].replace("│", " ").split())
    assert 'label="kind", features="age, height"' in words


def test_quiet_has_a_short_option(shell, short, tmp_path):
    for number, flag in enumerate(("-q", "--quiet")):
        code, _, err = shell("train", *short, "--epochs", 1, flag, "--out", tmp_path / str(number))
        assert (code, err) == (0, "")
