"""docs/reliability.md names a test for every promise and threat, and every test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs/reliability.md").read_text()
ROWS = dict(re.findall(r"^\| (P?\d+) \| .+? \| (.+) \|$", PAGE, re.M))
NAMED = sorted(set(re.findall(r"`((?:\w+/)*test_\w+\.py(?:::\w+)?)`", PAGE)))


@cache
def functions(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_number_has_a_row():
    assert list(ROWS) == [f"P{number}" for number in range(1, 11)] + [str(n) for n in range(1, 41)]


@pytest.mark.parametrize("number", ROWS)
def test_rows_name_a_test_or_a_reason(number):
    assert "test_" in ROWS[number] or "No test: " in ROWS[number]


@pytest.mark.parametrize("named", NAMED)
def test_named_tests_exist(named):
    file, _, function = named.partition("::")
    assert (TESTS / file).is_file()
    assert not function or function in functions(TESTS / file)


def test_named_suites_exist():
    found = {
        name for path in (TESTS.parent / "src/noiseproof/testing").glob("*.py") for name in functions(path)
    }
    assert set(re.findall(r"`(check_\w+)`", PAGE)) <= found
