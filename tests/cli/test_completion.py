"""The TAB key completes commands and options."""

import pytest


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("noiseproof ", {"train", "labels", "report"}),
        ("noiseproof labels re", {"review", "revert"}),
        ("noiseproof train --lo", {"--loss", "--loop"}),
    ],
)
def test_commands_and_options_are_completed(typed, offered, shell, monkeypatch):
    monkeypatch.setenv("_NOISEPROOF_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    code, out, _ = shell()
    assert code == 0
    assert offered <= set(out.split())
    assert len(out.split()) <= 20


def test_completion_script(shell, monkeypatch):
    monkeypatch.setenv("_NOISEPROOF_COMPLETE", "source_bash")
    code, out, _ = shell()
    assert code == 0
    assert "complete -o default -F" in out
