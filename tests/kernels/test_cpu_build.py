"""Building the CPU operator: only when asked, from what it is made of, and never where others can write."""

import os
import platform
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from noiseproof import losses
from noiseproof.cli.main import app
from noiseproof.kernels import apply
from noiseproof.kernels import build as cpu_build
from noiseproof.kernels.cpu import operator as cpu_operator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch expressions are used on Windows")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and nothing loaded yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cpu_build, "cache_folder", lambda: tmp_path / "noiseproof" / "kernels")
    monkeypatch.setattr(cpu_operator, "_loss", cpu_operator._NOT_TRIED)
    return tmp_path


def forbidden(*words, **options):
    raise AssertionError("something was compiled")


def test_training_never_compiles(cache, monkeypatch):
    monkeypatch.setattr(subprocess, "run", forbidden)
    value = losses.get("gce")(torch.zeros(2, 3, requires_grad=True), torch.tensor([0, 1]))
    assert "LossFunction" not in value.grad_fn.name()
    assert not any(cache.iterdir())
    assert "noiseproof kernels build" in apply.operator_state()


def test_the_first_call_of_a_process_may_be_compiled_by_torch(cache):
    """Looking for the operator would break the graph."""
    torch.compiler.reset()
    step = torch.compile(losses.get("gce"), fullgraph=True, backend="aot_eager")
    assert step(torch.zeros(2, 3), torch.tensor([0, 1])).isfinite()
    assert cpu_operator._loss is cpu_operator._NOT_TRIED


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(torch, "__version__", "2.99"),
        lambda patch: patch.setattr(cpu_build, "_processor", lambda: "flags: none"),
        lambda patch: patch.setattr(cpu_build, "FLAGS", ("-O0",)),
        lambda patch: patch.setitem(cpu_build.TUNED, platform.machine(), ("-mtune=generic",)),
    ],
    ids=["torch", "processor", "flags", "flags of this processor"],
)
def test_another_torch_or_processor_is_another_library(change, cache, monkeypatch):
    before = cpu_build.library()
    change(monkeypatch)
    assert cpu_build.library() != before
    assert before.parent == cache / "noiseproof" / "kernels"


def test_other_sources_are_another_library(cache, monkeypatch, tmp_path):
    before = cpu_build.library()
    copy = tmp_path / "kernels"
    copy.mkdir()
    for path in cpu_build.SOURCES.glob("*.[hc]*"):
        (copy / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(cpu_build, "SOURCES", copy)
    assert cpu_build.library() == before
    (copy / "rows.h").write_text("changed")
    assert cpu_build.library() != before


@pytest.mark.parametrize("writable", ["file", "folder"])
def test_nothing_is_loaded_from_where_others_can_write(writable, cache, monkeypatch):
    place = cpu_build.library()
    place.parent.mkdir(parents=True)
    place.write_bytes(b"not a library")
    place.chmod(0o700)
    monkeypatch.setattr(torch.ops, "load_library", forbidden)
    (place if writable == "file" else place.parent).chmod(0o777)
    assert cpu_operator.load() is None
    assert "can be written by other users" in apply.operator_state()


def test_a_library_that_cannot_be_opened_is_as_good_as_none(cache):
    place = cpu_build.library()
    place.parent.mkdir(parents=True, mode=0o700)
    place.write_bytes(b"not a library")
    place.chmod(0o700)
    assert cpu_operator.load() is None
    assert float(losses.get("mae")(torch.zeros(1, 2), torch.tensor([0]))) == 1


def run_build(**environment):
    return CliRunner().invoke(app, ["kernels", "build"], env=environment)


def test_no_compiler_is_told_in_one_line(cache):
    result = run_build(CXX="no-such-compiler")
    assert isinstance(result.exception, cpu_build.BuildError)
    assert "no-such-compiler" in str(result.exception)
    assert "CXX" in str(result.exception)


def test_a_failing_compiler_leaves_nothing_behind(cache, tmp_path):
    script = tmp_path / "broken"
    script.write_text("#!/bin/sh\necho 'x.cpp:1: error: no such thing' >&2\nexit 1\n")
    script.chmod(0o755)
    result = run_build(CXX=str(script))
    assert "error: no such thing" in str(result.exception)
    assert not list(cpu_build.cache_folder().iterdir())


def test_a_slow_compiler_is_waited_for(cache, tmp_path, monkeypatch):
    """A busy machine may need many minutes; who does not want to wait can interrupt."""
    real, given = subprocess.run, {}
    monkeypatch.setattr(
        subprocess, "run", lambda words, **options: given.update(options) or real(words, **options)
    )
    run_build(CXX="true")
    assert given
    assert given.get("timeout") is None


def test_folders_are_private_whatever_the_umask(cache, tmp_path):
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho made > "$2"\n')
    script.chmod(0o755)
    before = os.umask(0o002)
    try:
        result = run_build(CXX=str(script))
    finally:
        os.umask(before)
    assert result.exit_code == 0, result.exception
    assert cpu_build.library().parent.parent.stat().st_mode & 0o777 == 0o700


def test_what_the_compiler_makes_is_kept_whole_and_private(cache, tmp_path):
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho made > "$2"\n')
    script.chmod(0o755)
    result = run_build(CXX=str(script))
    assert result.exit_code == 0, result.exception
    place = cpu_build.library()
    assert place.read_text() == "made\n"
    assert place.stat().st_mode & 0o777 == 0o700
    assert os.listdir(place.parent) == [place.name]
    assert str(place) in result.output


def test_the_compiler_may_be_several_words(monkeypatch):
    monkeypatch.setenv("CXX", "env -u NOTHING g++ -g0")
    found = cpu_build.compiler()
    assert found is None or found[1:] == ["-u", "NOTHING", "g++", "-g0"]
    monkeypatch.setenv("CXX", "no-such-compiler --fast")
    assert cpu_build.compiler() is None


def test_a_library_that_cannot_be_loaded_is_not_called_on(cache):
    place = cpu_build.library()
    place.parent.mkdir(parents=True, mode=0o700)
    place.write_text("no library")
    assert "cannot be loaded" in apply.operator_state()
    assert "noiseproof kernels build" in apply.operator_state()


@pytest.mark.parametrize(("word", "on"), [("", True), ("auto", True), ("reference", False)])
def test_values_of_the_switch(word, on):
    assert apply.is_switched_on(word) is on


def test_an_unknown_value_of_the_switch_is_refused():
    with pytest.raises(ValueError, match="NOISEPROOF_KERNELS='Reference' is unknown: set it to 'reference'"):
        apply.is_switched_on("Reference")
