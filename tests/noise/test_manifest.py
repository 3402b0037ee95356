"""The manifest describes the labels and detects changes."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.atomic import write_text
from noiseproof.noise import Manifest, corrupt, get

CLEAN = np.arange(1000) % 10


def corrupted(spec="symmetric(0.4)", **options):
    return corrupt(CLEAN, spec, num_classes=10, seed=7, **options)


def test_manifest_entries():
    manifest = corrupted("symmetric(0.4, inclusive=True)", exact="per_class").manifest
    assert (manifest.spec, manifest.seed, manifest.num_classes) == ("symmetric(0.4, inclusive=True)", 7, 10)
    assert (manifest.rate, manifest.inclusive, manifest.exact, manifest.count) == (
        0.4,
        True,
        "per_class",
        1000,
    )
    assert manifest.realised_rate == pytest.approx(np.mean(manifest.class_rates))
    assert manifest.realised_rate < 0.4
    assert len(manifest.clean_sha256) == 64
    assert manifest.index_sha256 is None


def test_class_without_samples_has_no_rate():
    assert corrupt([0, 0], "symmetric(0.0)", num_classes=3, seed=0).manifest.class_rates == (0.0, None, None)


def test_manifest_reproduces_the_labels():
    first = corrupted("pair(0.4)", groups=np.arange(10) // 5, exact=True)
    m = Manifest.from_json(first.manifest.to_json())
    again = corrupt(
        CLEAN.astype("uint8"), m.spec, num_classes=m.num_classes, seed=m.seed, groups=m.groups, exact=m.exact
    )
    assert again.manifest == first.manifest
    m.verify(CLEAN, again.labels)


def test_manifest_contains_a_matrix_from_memory(tmp_path):
    matrix = np.random.default_rng(0).random((10, 10)) + np.eye(10)
    matrix = (matrix / matrix.sum(1, keepdims=True)).astype("float32")
    first = corrupted(matrix)
    first.manifest.save(tmp_path / "noise.json")
    manifest = Manifest.load(tmp_path / "noise.json")
    again = corrupt(CLEAN, manifest, num_classes=10, seed=manifest.seed)
    assert again.manifest == first.manifest
    assert np.array_equal(get(manifest).values, get(matrix).values)
    assert corrupted().manifest.matrix is None
    assert get(corrupted().manifest) == get("symmetric(0.4)")
    with pytest.raises(ValueError, match=r"stands for an array that was in memory: pass .* get\(manifest\)"):
        get(manifest.spec)


def test_format_1_is_read():
    content = json.loads(corrupted().manifest.to_json())
    del content["matrix"]
    manifest = Manifest.from_json(json.dumps({**content, "format_version": 1}))
    manifest.verify(CLEAN, corrupted().labels)
    assert (manifest.matrix, manifest.format_version) == (None, 1)
    with pytest.raises(ValueError, match=r"missing entries \['matrix'\]"):
        Manifest.from_json(json.dumps(content))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 999), st.integers(1, 9), st.booleans())
def test_verify_detects_any_changed_label(where, by, in_clean):
    noisy = corrupted()
    labels = {"clean": CLEAN.copy(), "noisy": noisy.labels.numpy().copy()}
    name = "clean" if in_clean else "noisy"
    labels[name][where] = (labels[name][where] + by) % 10
    with pytest.raises(ValueError, match=rf"{name}_sha256 is .*, but .* in the manifest"):
        noisy.manifest.verify(labels["clean"], labels["noisy"])


def test_verify_reports_the_difference():
    noisy = corrupted()
    with pytest.raises(ValueError, match=r"count is 999, but 1000 in the manifest.*realised_rate is"):
        noisy.manifest.verify(CLEAN[1:], noisy.labels[1:])
    with pytest.raises(ValueError, match=r"realised_rate is 0\.0, but"):
        noisy.manifest.verify(CLEAN, CLEAN)
    with pytest.raises(ValueError, match="1000 clean labels do not fit 999"):
        noisy.manifest.verify(CLEAN, noisy.labels[1:])
    with pytest.raises(ValueError, match=r"noisy labels\[3\] = 99 is not a valid class"):
        noisy.manifest.verify(CLEAN, [0, 1, 2, 99])


def test_manifest_round_trips(tmp_path):
    manifest = corrupted(index=np.arange(1000) + 5).manifest
    manifest.save(tmp_path / "noise.json")
    manifest.save(tmp_path / "noise.json")
    assert Manifest.load(tmp_path / "noise.json") == manifest
    assert manifest.index_sha256 is not None
    assert [entry.name for entry in tmp_path.iterdir()] == ["noise.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failed_save_keeps_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "noise.json"
    write_text(path, "old")

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        corrupted().manifest.save(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["noise.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(format_version=3), "format 3: this version reads formats 1 to 2"),
        (lambda m: m.pop("seed"), r"missing entries \['seed'\]"),
        (lambda m: m.update(extra=1), r"unknown entries \['extra'\]"),
    ],
)
def test_other_files_are_refused(change, message):
    content = json.loads(corrupted().manifest.to_json())
    change(content)
    with pytest.raises(ValueError, match=message):
        Manifest.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '{"format_version": 1}'])
def test_text_that_is_not_a_manifest_is_refused(text):
    with pytest.raises(ValueError, match="noise manifest"):
        Manifest.from_json(text)
