"""Consistency of a release: versions, supported Pythons, and what CI runs."""

import re
from pathlib import Path

import noiseproof

ROOT = Path(__file__).parents[1]
CI = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_version_is_consistent():
    assert re.search(r"^version: (.*)$", read("CITATION.cff"), re.MULTILINE)[1] == noiseproof.__version__
    released = re.findall(r"^## \[(\d[^]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert released[0] == noiseproof.__version__


def test_ci_runs_on_every_supported_python():
    supported = re.findall(r"Python :: (3\.\d+)", read("pyproject.toml"))
    matrices = re.findall(r"python: \[(.*)\]", CI)
    assert len(matrices) == 2
    for matrix in matrices:
        assert re.findall(r'"(.*?)"', matrix) == supported


def test_ci_runs_existing_targets():
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    asked = re.findall(r"make ([\w-]+)", CI)
    assert {"test", "test-part", "lint", "docs", "notebook"} <= set(asked) <= targets
    for file in re.findall(r"python (\w+/\S+\.py)", CI):
        assert (ROOT / file).is_file(), file
    parts = [int(part) for part in re.search(r"part: \[(.*)\]", CI)[1].split(",")]
    assert parts == list(range(1, len(parts) + 1))
    assert f"PART=${{{{ matrix.part }}}}/{len(parts)}" in CI
