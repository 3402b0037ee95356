"""Usage errors."""

import subprocess
import sys

import pytest

from noiseproof.cli.usage_errors import is_usage


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "no such command 'nope' (see noiseproof --help)"),
        (["tran"], "no such command 'tran', did you mean 'train'? (see noiseproof --help)"),
        (["papers", "rum"], "no such command 'rum', did you mean 'run'? (see noiseproof papers --help)"),
        (["--nope"], "no such option --nope (see noiseproof --help)"),
        (["train", "--epoch", "3"], "no such option --epoch, did you mean --epochs? (see noiseproof train"),
        (["train", "--no-recor"], "no such option --no-recor, did you mean --no-record? (see noiseproof"),
        (["train", "--epochs"], "option '--epochs' requires an argument (see noiseproof train --help)"),
        (["train", "--quiet=3"], "option '--quiet' does not take a value (see noiseproof train --help)"),
        (["train", "rows.csv"], "unexpected 'rows.csv': options begin with --, and a value with"),
        (["labels", "find"], "give the folder of a run, or --data SPEC"),
        (["predict", "a"], "missing argument 'data': data, such as 'csv(path="),
    ],
)
def test_usage_error_is_one_line_with_advice(shell, words, said):
    code, out, err = shell(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"noiseproof: {said}")
    assert err.endswith(" --help)\n")


@pytest.mark.parametrize(
    ("words", "option", "value"),
    [
        (["train", "--epochs", "abc"], "--epochs", "'abc'"),
        (["curve", "ce", "-k", "1"], "--classes", "1"),
        (["demo", "--seeds", "0"], "--seeds", "0"),
        (["labels", "find", "a", "--top", "-1"], "--top", "-1"),
    ],
)
def test_invalid_value_is_reported(shell, words, option, value):
    code, out, err = shell(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert option in err
    assert value in err


def test_markup_and_line_ends_are_printed_unchanged(shell):
    code, _, err = shell("train", "[red]a[/red]\nb")
    assert (code, err.count("\n")) == (2, 1)
    assert "[red]a[/red]" in err


@pytest.mark.parametrize("words", [[], ["labels"]])
def test_missing_subcommand_shows_only_the_help(shell, words):
    code, out, err = shell(*words)
    assert code == 2
    assert "Usage: " in out + err
    assert "noiseproof: " not in err


def test_exit_code_of_a_command_is_returned(shell, tmp_path):
    code, out, err = shell("data", "verify", "cifar10", "--root", tmp_path)
    assert (code, err) == (1, "")
    assert "not complete" in out


def test_closed_stdout_causes_no_traceback():
    code = "import sys; from noiseproof.cli.main import main; sys.stdout.close(); main()"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, "papers", "ls"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


def test_other_errors_are_not_usage_errors():
    assert not is_usage(ValueError("x"))
