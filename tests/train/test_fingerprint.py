import numpy as np
import pytest
import torch

from noiseproof.data import LabelledData
from noiseproof.train import task
from noiseproof.train.task import ALL_INPUTS, HASHED_INPUTS, fingerprint, in_format_of


def data(kind=np.asarray, rows=300):
    return LabelledData(kind(np.arange(rows * 2.0).reshape(rows, 2)), np.arange(rows) % 2)


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("row", [0, 1, 7, 298, 299])
def test_fingerprint_depends_on_every_row_in_memory(kind, row):
    before, changed = data(kind), data(kind)
    assert fingerprint(before) == fingerprint(changed)
    changed.inputs[row, 1] += 1
    assert fingerprint(before) != fingerprint(changed)


def test_fingerprint_of_large_inputs_depends_on_some_rows(monkeypatch):
    monkeypatch.setattr(task, "MAX_HASHED_BYTES", 300 * 16 - 1)
    seen = []
    real = LabelledData.batch
    monkeypatch.setattr(LabelledData, "batch", lambda self, at: seen.append(at) or real(self, at))
    before = fingerprint(data())
    assert set(before) == {"samples", "sha256"}
    assert len(seen[0]) == HASHED_INPUTS
    assert (seen[0][0], seen[0][-1]) == (0, 299)
    changed = data()
    changed.inputs[299, 0] = 0
    assert fingerprint(changed) != before


@pytest.mark.parametrize("name", ["label", "index", "clean_label"])
def test_fingerprint_depends_on_labels_and_index(name):
    changed = {"label": data().label, "clean_label": data().label, "index": data().index}
    changed[name] = changed[name].flip(0)
    inputs = data().inputs
    plain = LabelledData(inputs, data().label, clean_label=data().label)
    assert fingerprint(LabelledData(inputs, **changed)) != fingerprint(plain)


def test_entries_missing_in_an_older_format_are_not_compared():
    now = fingerprint(data())
    old = {name: value for name, value in now.items() if name != ALL_INPUTS}
    assert in_format_of(now, old) == old
    assert in_format_of(now, now) == now
    assert in_format_of(now, None) == now
    assert in_format_of(None, old) is None
