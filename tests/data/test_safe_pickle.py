"""Genuine batches are read, malicious pickles have no effect, damaged ones are refused."""

import pickle
import subprocess
import sys
import tracemalloc

import hostile_pickles as h
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data.safe_pickle import PickleRefusedError, parse_plain_pickle, read_plain_pickle

NAMES = sorted(h.hostile("sentinel"))
RUNS_AT_ONCE = ("os.system", "os.system protocol 0", "builtins.eval", "nested reduce", "os.system INST")


def genuine(pixels=b"abcdef", labels=(3, 4)):
    entries = {
        b"data": h.array((len(labels), len(pixels) // len(labels)), pixels),
        b"labels": h.numbers(labels),
        b"batch_label": h.old_text(b"training batch 1 of 5"),
        b"filenames": b"](" + h.old_text(b"a.png") + h.old_text(b"b.png") + b"e",
    }
    return h.batch(entries)


def test_there_are_fifty_malicious_pickles():
    assert len(NAMES) == 50


@pytest.mark.parametrize("name", NAMES)
def test_malicious_pickles_are_refused_without_effect(name, tmp_path):
    content = h.hostile(tmp_path / "sentinel")[name]
    modules = set(sys.modules)
    tracemalloc.start()
    try:
        with pytest.raises(PickleRefusedError):
            parse_plain_pickle(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert set(sys.modules) == modules
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", RUNS_AT_ONCE)
def test_malicious_pickles_would_run_when_unpickled(name, tmp_path):
    (tmp_path / "hostile").write_bytes(h.hostile(tmp_path / "sentinel")[name])
    code = f"import pickle; pickle.load(open({str(tmp_path / 'hostile')!r}, 'rb'))"
    subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)  # noqa: S603
    assert (tmp_path / "sentinel").exists()


def test_genuine_batch_is_read():
    found = parse_plain_pickle(genuine())
    assert found["data"].tolist() == [[97, 98, 99], [100, 101, 102]]
    assert found["data"].dtype == np.uint8
    assert found["labels"] == [3, 4]
    assert found["filenames"] == ["a.png", "b.png"]
    theirs = pickle.loads(genuine(), encoding="bytes")
    assert theirs[b"data"].tolist() == found["data"].tolist()
    assert theirs[b"labels"] == found["labels"]


@given(
    st.integers(1, 4),
    st.sampled_from(["u1", "<i4", ">i2", "<i8", "|b1"]),
    st.lists(st.integers(-(2**62), 2**62), max_size=5),
    st.sampled_from([2, 3, 4]),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_arrays_pickled_by_numpy_round_trip(rows, kind, labels, protocol, fortran):
    array = np.arange(rows * 6).reshape(rows, 2, 3).astype(kind)
    array = np.asfortranarray(array) if fortran else array
    found = parse_plain_pickle(pickle.dumps({"data": array, b"labels": labels, "n": 3}, protocol))
    assert found["data"].dtype == array.dtype
    assert np.array_equal(found["data"], array)
    assert found["labels"] == labels
    assert found["n"] == 3


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_damaged_bytes_raise_pickle_refused_error(data):
    content = bytearray(genuine())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        found = parse_plain_pickle(content)
    except PickleRefusedError:
        return
    assert all(isinstance(value, (int, str, bytes, list, np.ndarray)) for value in found.values())


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=300)
def test_random_bytes_are_refused(content):
    with pytest.raises(PickleRefusedError):
        parse_plain_pickle(content)


def test_trailing_bytes_and_other_roots_are_refused():
    for content in (genuine() + b"x", b"\x80\x02]."):
        with pytest.raises(PickleRefusedError, match="one dict and nothing after it"):
            parse_plain_pickle(content)


def test_too_many_instructions(monkeypatch):
    monkeypatch.setattr("noiseproof.data.safe_pickle.MAX_INSTRUCTIONS", 10)
    with pytest.raises(PickleRefusedError, match="more than 10 instructions"):
        parse_plain_pickle(genuine())


def test_errors_contain_the_path_and_size_is_limited(tmp_path, monkeypatch):
    path = tmp_path / "data_batch_1"
    path.write_bytes(h.hostile("sentinel")["os.system"])
    with pytest.raises(PickleRefusedError, match=r"data_batch_1 is refused: GLOBAL 'os system'"):
        read_plain_pickle(path)
    monkeypatch.setattr("noiseproof.data.safe_pickle.MAX_BYTES", 10)
    with pytest.raises(PickleRefusedError, match="more than 10"):
        read_plain_pickle(path)
