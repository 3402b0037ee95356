"""The command line in this process, and data that is quickly learned."""

import functools
import sys

import numpy as np
import pytest
import typer

from noiseproof.cli.main import main


@pytest.fixture(autouse=True, scope="session")
def _commands_are_built_once():
    """``CliRunner`` builds all commands at each call, as if every call were a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture
def shell(monkeypatch, capfd):
    """Run the command line and return exit code, stdout and stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["noiseproof", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "120")
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def points(tmp_path_factory):
    """A source of 90 training and 30 test points around three centres."""
    path = tmp_path_factory.mktemp("points") / "points.npz"
    random = np.random.default_rng(0)

    def some(count):
        label = np.arange(count) % 3
        return (3 * np.eye(3, 4)[label] + 0.3 * random.normal(size=(count, 4))).astype(np.float32), label

    (x_train, y_train), (x_test, y_test) = some(90), some(30)
    np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    return f'arrays(path="{path}")'


@pytest.fixture
def short(points):
    """Options of a short run."""
    return ["--data", points, "--noise", "symmetric(0.4)", "--model", "mlp(hidden=8)", "--device", "cpu"]
