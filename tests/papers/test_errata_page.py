"""Every erratum of the page names a test that exists, and does not guess causes."""

import ast
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
PAGE = (HOME / "docs" / "errata.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (E\d+)\. (.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE))
CHECK = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
GUESSES = ("probably", "presumably", "likely", "forgot", "mistaken", "careless", "typo", "must have")


def functions_in(path):
    tree = ast.parse((HOME / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_page_lists_33_errata_in_order():
    parts = [re.findall(r"^### E(\d+)\.", part, re.MULTILINE) for part in PAGE.split("\n## ")]
    numbers = [[int(number) for number in part] for part in parts]
    assert all(part == sorted(part) for part in numbers)
    assert sorted(number for part in numbers for number in part) == list(range(1, 34))
    assert len(SECTIONS) == 33


@pytest.mark.parametrize("number", SECTIONS)
def test_erratum_names_existing_tests(number):
    words, _, checks = SECTIONS[number].partition("\nCheck: ")
    assert len(words) > 60
    found = CHECK.findall(checks)
    assert found
    for path, name in found:
        assert name in functions_in(path), f"{path} has no {name}"
        assert name.startswith(f"test_{number.lower()}_")


def test_page_names_every_errata_test():
    for path in ("tests/losses/test_errata.py", "tests/papers/test_errata_numbers.py"):
        for name in functions_in(path):
            if name.startswith("test_"):
                assert f"`{path}::{name}`" in PAGE, name


@pytest.mark.parametrize("word", GUESSES)
def test_page_contains_no_guesses_about_causes(word):
    assert not re.search(rf"\b{word}\b", PAGE, re.IGNORECASE)
