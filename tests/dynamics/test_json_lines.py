"""JSON lines: complete lines are kept, incomplete ones ignored, damaged ones reported."""

import errno
import json
import math
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.dynamics import json_lines

ENTRIES = [
    {"epoch": i, "loss": i / 3, "name": 'a "quoted"\n line é', "of": {"class": [i, None]}} for i in range(14)
]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "my metrics é.jsonl"
    for entry in ENTRIES:
        json_lines.append(path, entry)
    return path


def test_appended_entries_are_read(path):
    assert json_lines.read(path) == ENTRIES
    assert len(path.read_bytes().splitlines()) == len(ENTRIES)
    assert json_lines.read(path.with_name("nothing")) == []


def test_non_finite_numbers_become_null(path):
    json_lines.append(
        path, {"nan": math.nan, "deep": [{"inf": -math.inf}, (1.0, np.float64("inf"))], "f": np.float64(0.1)}
    )
    assert json_lines.read(path)[-1] == {"nan": None, "deep": [{"inf": None}, [1.0, None]], "f": 0.1}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"loss": torch.ones(1)}, r"entry\['loss'\] is a Tensor: .*item"),
        ({"per": [{"class": np.float32(1)}]}, r"entry\['per'\]\[0\]\['class'\] is a float32"),
        ({"per": {3: 1.0}}, r"entry\['per'\] has the key 3"),
    ],
)
def test_invalid_json_values_are_refused(path, entry, message):
    with pytest.raises(TypeError, match=message):
        json_lines.append(path, entry)
    assert json_lines.read(path) == ENTRIES


@pytest.mark.slow
def test_file_truncated_at_every_byte_of_the_last_ten_lines(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a thousand would take a minute
    whole = path.read_bytes()
    starts = [0, *(place + 1 for place, byte in enumerate(whole) if byte == 10)]
    for cut in range(starts[-11], len(whole) + 1):
        complete = sum(start - 1 <= cut for start in starts[1:])  # a line without its line end is complete
        path.write_bytes(whole[:cut])
        assert json_lines.read(path) == ENTRIES[:complete]
        json_lines.append(path, {"next": cut})
        assert json_lines.read(path) == [*ENTRIES[:complete], {"next": cut}]
        path.write_bytes(whole[:cut])
        json_lines.filter_lines(path, lambda entry: entry["epoch"] != 2)
        assert path.read_bytes().endswith(b"}\n")
        assert json_lines.read(path) == [entry for entry in ENTRIES[:complete] if entry["epoch"] != 2]


@pytest.mark.parametrize("damage", [b'{"epoch": 1', b"[1]", b"\x00" * 9, b"\xff\xfe", b"[" * 100_000])
def test_damaged_line_before_the_last_is_an_error(path, damage):
    whole = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*whole[:5], damage, *whole[6:]]))
    with pytest.raises(ValueError, match=r"my metrics é\.jsonl, line 6 is damaged: b"):
        json_lines.read(path)
    with pytest.raises(ValueError, match="line 6"):
        json_lines.filter_lines(path, lambda entry: True)
    assert damage in path.read_bytes()


def test_incomplete_line_longer_than_the_read_block(path):
    before = path.read_bytes()
    path.write_bytes(before + b'{"long": "' + b"x" * 200_000)
    json_lines.append(path, {"after": 1})
    assert path.read_bytes() == before + b'{"after": 1}\n'
    path.write_bytes(b"x" * 200_000)
    json_lines.append(path, {"after": 1})
    assert path.read_bytes() == b'{"after": 1}\n'


def test_filter_lines_keeps_lines_byte_for_byte(path):
    path.write_bytes(b'{"b":1.50,"a":2}\n\n{"b": 2}\n{"b": 3')
    json_lines.filter_lines(path, lambda entry: entry["b"] < 2)
    assert path.read_bytes() == b'{"b":1.50,"a":2}\n'
    json_lines.filter_lines(path, lambda entry: False)
    assert path.read_bytes() == b""
    json_lines.filter_lines(path.with_name("nothing"), lambda entry: True)
    assert os.listdir(path.parent) == [path.name]


def test_failed_filter_leaves_the_file_unchanged(path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, "full")

    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="free space"):
        json_lines.filter_lines(path, lambda entry: entry["epoch"] < 3)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=repr)
def test_full_disk_leaves_no_incomplete_line(path, monkeypatch, problem):
    before, original = path.read_bytes(), os.write

    def partial_write(descriptor, data):
        if len(data) < 20:
            raise problem
        return original(descriptor, data[:11])

    monkeypatch.setattr(os, "write", partial_write)
    with pytest.raises(type(problem)) as caught:
        json_lines.append(path, {"number": list(range(20))})
    assert path.read_bytes() == before
    if isinstance(problem, OSError):
        assert str(path) in str(caught.value)
        assert "free space and run the same command again" in str(caught.value)


def test_partial_writes_are_continued(path, monkeypatch):
    original = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: original(descriptor, data[:5]))
    json_lines.append(path, ENTRIES[0])
    assert json_lines.read(path) == [*ENTRIES, ENTRIES[0]]


def test_flushed_only_with_sync(path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    json_lines.append(path, {"a": 1})
    assert flushed == []
    json_lines.append(path, {"a": 2}, sync=True)
    assert len(flushed) == 1
    assert json_lines.read(path)[-2:] == [{"a": 1}, {"a": 2}]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=100)
@given(
    entries=st.lists(st.dictionaries(st.text(), VALUES, max_size=3), min_size=1, max_size=4), data=st.data()
)
def test_random_entries_truncated_at_random_positions(tmp_path_factory, entries, data):
    path = tmp_path_factory.mktemp("any") / "m"
    for entry in entries:
        json_lines.append(path, entry)
    assert json.dumps(json_lines.read(path)) == json.dumps(entries)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    complete = [len(b"\n".join(whole.split(b"\n")[: n + 1])) <= cut for n in range(len(entries))]
    assert json.dumps(json_lines.read(path)) == json.dumps(entries[: sum(complete)])
