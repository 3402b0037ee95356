import hashlib
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from noiseproof.cli.data import app
from noiseproof.data.download import fetch as download
from noiseproof.data.download.fetch import DATASETS, Dataset, Download

CONTENT = b"content"
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def toy(monkeypatch):
    """A dataset whose download is a local file: no connection is made."""
    made = Dataset("free", (Download("https://example.org/a.bin", 7, HASH),), contents={"a.bin": HASH})
    monkeypatch.setitem(DATASETS, "toy", made)

    def write(load, place, advance):
        advance(7)
        (place / load.file).write_bytes(CONTENT)
        return place / load.file

    monkeypatch.setattr(download, "_download", write)


def run(*words, code=0, env=None):
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200", "NO_COLOR": "1", **(env or {})})
    assert result.exit_code == code, result.output + repr(result.exception)
    return result.output


def test_ls_lists_every_dataset(tmp_path):
    rows = json.loads(run("ls", "--json", "--root", str(tmp_path)))
    assert [row["name"] for row in rows] == list(DATASETS)
    assert {row["name"]: row["state"] for row in rows}["digits"] == "built in"
    assert {row["state"] for row in rows} == {"built in", "absent"}
    table = run("ls", "--root", str(tmp_path))
    for row in rows:
        [line] = [line for line in table.splitlines() if f"│ {row['name']} " in line]
        assert row["licence"][:20] in line
        assert row["state"] in line
    assert "170.1 MB" in table


def test_ls_shows_the_state(tmp_path, toy):
    folder = tmp_path / "mnist"
    folder.mkdir()
    (folder / "train-images-idx3-ubyte.gz").touch()
    run("get", "toy", "--root", str(tmp_path))
    states = {row["name"]: row["state"] for row in json.loads(run("ls", "--json", "--root", str(tmp_path)))}
    assert states == {
        "digits": "built in",
        "mnist": "incomplete",
        "cifar10": "absent",
        "cifar100": "absent",
        "cifar_n": "absent",
        "toy": "present",
    }


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_get_and_verify(quiet, tmp_path, toy):
    assert "missing  a.bin" in run("verify", "toy", "--root", str(tmp_path), code=1)
    assert f"toy is complete in {tmp_path / 'toy'} (free)" in run(
        "get", "toy", "--root", str(tmp_path), *quiet
    )
    assert (tmp_path / "toy/a.bin").read_bytes() == CONTENT
    assert "present  a.bin" in run("verify", "toy", "--root", str(tmp_path))
    (tmp_path / "toy/a.bin").write_bytes(b"other")
    output = run("verify", "toy", "--root", str(tmp_path), code=1)
    assert "wrong    a.bin" in output
    assert "noiseproof data get toy" in output


def test_verify_as_json(tmp_path, toy):
    found = json.loads(run("verify", "toy", "--json", "--root", str(tmp_path), code=1))
    assert found == {
        "name": "toy",
        "folder": str(tmp_path / "toy"),
        "present": [],
        "missing": ["a.bin"],
        "wrong": [],
    }


def test_data_root_from_the_environment(tmp_path, toy):
    run("get", "toy", env={"NOISEPROOF_DATA": str(tmp_path)})
    assert (tmp_path / "toy/a.bin").is_file()


def test_digits_need_no_download(tmp_path):
    assert "digits needs no download" in run("get", "digits", "--root", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["get", "verify"])
def test_unknown_name_is_a_value_error(verb):
    result = CliRunner().invoke(app, [verb, "cifar1"])
    assert isinstance(result.exception, ValueError)
    assert "did you mean 'cifar10'" in str(result.exception)


def test_importing_the_commands_imports_no_heavy_packages():
    code = "import sys, noiseproof.cli.data; print([m for m in HEAVY if m in sys.modules])".replace(
        "HEAVY", "('torch', 'pandas', 'pooch', 'numpy', 'requests')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["ls", "--help"], ["get", "--help"], ["verify", "--help"]])
def test_help(words):
    assert "Usage" in run(*words, code=0 if words else 2)
