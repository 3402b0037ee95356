"""Commands in the README and the docs are valid; tests/test_documents.py runs their Python."""

import re
import shlex
from pathlib import Path

import pytest

from noiseproof.cli.main import root_command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = sorted(
    {
        line
        for page in PAGES
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for line in re.findall(r"^\$ (?:\w+=\S+ )*noiseproof (.*)$", block.replace("\\\n", " "), re.MULTILINE)
    }
)


@pytest.mark.parametrize("line", COMMANDS)
def test_documented_commands_are_valid(line):
    """Commands, options and arguments are read; nothing is run."""
    words, command = shlex.split(line, comments=True), root_command()
    while getattr(command, "commands", None):
        command = command.commands[words.pop(0)]
    assert command.make_context("noiseproof", words).params


def test_commands_are_found():
    assert len(COMMANDS) >= 15


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_exist(page):
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
