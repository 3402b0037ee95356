import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from noiseproof import __version__
from noiseproof.cli.main import app, main

VERBS = ("demo", "train", "compare", "predict", "report", "labels", "recipe", "curve", "doctor", "data")

REPORT_HEAVY_MODULES = """
import json, sys
from typer.testing import CliRunner
from noiseproof.cli.main import app
for line in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, line)
    heavy = [name for name in ("torch", "numpy", "sklearn", "matplotlib") if name in sys.modules]
    assert result.exit_code == 0 and result.output and not heavy, (line, heavy, result.output)
"""


def test_help_and_version_do_not_import_torch():
    lines = [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)]
    command = [sys.executable, "-c", REPORT_HEAVY_MODULES, json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_help_lists_every_command():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(verb in result.output for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help(verb):
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0
    assert "--help" in result.output


def test_no_arguments_show_the_help():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert all(verb in result.output for verb in VERBS)


def test_version(shell):
    assert shell("--version") == (0, f"noiseproof {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["curve", "gcee"], "unknown loss 'gcee', did you mean 'gce'?"),
        (["curve", "gce(q=2)"], "q=2 is out of range, it must satisfy 0 < q <= 1"),
        (["curve", "gce(0.7)"], "'0.7' is not a loss"),
        (["curve", "ce", "__import__('os')"], "'os'"),
        (["curve", ""], "cannot read the loss spec ''"),
        (["curve", "gce(q='[bold]x[/bold]')"], "'[bold]x[/bold]'"),
        (["curve", "nce"], "only a MarginLoss has a curve"),
        (["curve", "scale(mae, tau=0)"], "tau=0 is out of range"),
        (["curve"], "give at least one loss"),
        (["curve", "ce", "-o", "picture.jpg"], "cannot write picture.jpg: use one of .svg, .png, .pdf"),
        (["curve", "--figure", "nope"], "unknown figure 'nope'"),
    ],
)
def test_usage_error_is_one_line_and_exit_code_2(shell, words, part):
    code, out, err = shell(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("noiseproof: ")
    assert err.count("\n") == 1
    assert part in err


def test_unwritable_picture_is_reported_in_one_line(shell, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = shell("curve", "ce", "-o", str(tmp_path / "file" / "a.svg"))
    assert code == 2
    assert err.startswith("noiseproof: ")
    assert err.count("\n") == 1


def test_bugs_of_the_library_are_not_hidden(monkeypatch):
    def broken(**options) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr("noiseproof.cli.main.root_command", lambda: broken)
    with pytest.raises(AssertionError, match="a bug"):
        main()


@pytest.mark.parametrize("module", ["noiseproof", "noiseproof.cli.main"])
def test_the_module_runs_as_a_script(module):
    command = [sys.executable, "-m", module, "curv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert done.stderr.startswith("noiseproof: no such command 'curv'")
    assert "Traceback" not in done.stderr
