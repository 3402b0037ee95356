"""What the README and the docs tell to type works."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from noiseproof.cli.main import app

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
BLOCKS = [
    block
    for page in (ROOT / "README.md", ROOT / "docs" / "guide.md")
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_understood(line):
    """Verbs, options and arguments are read; nothing is run."""
    words, command = shlex.split(line, comments=True), typer.main.get_command(app)
    while getattr(command, "commands", None):
        command = command.commands[words.pop(0)]
    assert command.make_context("noiseproof", words).params


RUN_BLOCKS = """
import json, os, sys
for number, block in enumerate(json.loads(sys.argv[1])):
    os.makedirs(str(number))
    os.chdir(str(number))
    exec(compile(block, f"block {number}", "exec"), {"__name__": "__main__"})
    os.chdir("..")
"""


def test_every_block_of_python_runs(tmp_path):
    """Each in a folder and with names of its own."""
    command = [sys.executable, "-W", "error", "-c", RUN_BLOCKS, json.dumps(BLOCKS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_commands_and_blocks_are_found():
    assert len(COMMANDS) >= 15
    assert len(BLOCKS) >= 3


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link
