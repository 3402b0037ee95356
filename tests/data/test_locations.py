"""Locations of data, and errors for missing data."""

from pathlib import Path

import pytest

from noiseproof.data import DataMissingError, data_root
from noiseproof.data.locations import find_files

CHOICES = [["a.bin", "b.bin"], ["all.npz"]]


def test_data_root_from_the_environment(monkeypatch):
    monkeypatch.setenv("NOISEPROOF_DATA", "~/somewhere")
    assert data_root() == Path.home() / "somewhere"
    monkeypatch.delenv("NOISEPROOF_DATA")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert data_root() == Path.home() / ".cache" / "noiseproof"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert data_root() == Path("/caches/noiseproof")
    monkeypatch.setattr("sys.platform", "darwin")
    assert data_root() == Path.home() / "Library" / "Caches" / "noiseproof"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert data_root() == Path("/local/noiseproof")


@pytest.mark.parametrize("place", [".", "thing", "official", "thing/official"])
def test_files_are_found_in_every_folder(place, tmp_path):
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all.npz").touch()
    assert find_files("thing", tmp_path, CHOICES, ["official"]) == [folder / "all.npz"]
    (folder / "a.bin").touch()
    (folder / "b.bin").touch()
    assert find_files("thing", tmp_path, CHOICES, ["official"]) == [folder / "a.bin", folder / "b.bin"]


def test_error_lists_the_missing_files(tmp_path):
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "a.bin").touch()
    with pytest.raises(DataMissingError) as caught:
        find_files("thing", tmp_path, CHOICES, ["official"])
    message = str(caught.value)
    assert str(tmp_path) in message
    assert "a.bin, b.bin  (present: a.bin; missing: b.bin)" in message
    assert "- all.npz\n" in message
    assert "thing, official, thing/official" in message
    assert "noiseproof data get thing" in message
    assert "NOISEPROOF_DATA" in message
    assert isinstance(caught.value, FileNotFoundError)
