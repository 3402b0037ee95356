"""Suspects of tokens, pixels and several labels per sample."""

import numpy as np
import pandas as pd
import pytest
import torch

from noiseproof import labels
from noiseproof.dynamics import Record, Recorder


def marked(shape, suspects):
    """A frame of find with suspects at these positions: {position: (given, predicted)}."""
    size = int(np.prod(shape))
    found = pd.DataFrame(
        {
            "index": np.arange(size),
            "is_label_issue": False,
            "label_score": 0.9,
            "wrong_probability": 0.05,
            "given_label": 0,
            "predicted_label": 0,
        }
    )
    for position, (given, predicted) in suspects.items():
        row = int(np.ravel_multi_index(position, shape))
        found.loc[row, ["is_label_issue", "label_score", "wrong_probability"]] = [True, 0.2, 0.8]
        found.loc[row, ["given_label", "predicted_label"]] = [given, predicted]
    return found


def test_worst_samples_are_sorted_by_expected_wrong_labels():
    found = marked((4, 5), {(1, 0): (0, 1), (3, 2): (0, 1), (3, 4): (0, 2)})
    table = labels.with_positions(found, (4, 5))
    assert table[table.is_label_issue][["sample", "position"]].to_numpy().tolist() == [[1, 0], [3, 2], [3, 4]]
    worst = labels.worst_samples(found, (4, 5))
    assert worst["sample"].tolist() == [3, 1]
    assert worst.suspects.tolist() == [2, 1]
    assert worst.labels.tolist() == [5, 5]
    assert worst.expected_wrong.tolist() == pytest.approx([1.6, 0.8])


def test_regions_are_connected_and_have_equal_labels():
    """Diagonal neighbours are connected; suspects with other labels or of other images are not."""
    square = {(0, 1, 1): (2, 1), (0, 1, 2): (2, 1), (0, 2, 3): (2, 1)}
    others = {(0, 2, 2): (0, 1), (0, 4, 4): (2, 1), (1, 1, 1): (2, 1)}
    found = labels.regions(marked((2, 5, 5), square | others), (2, 5, 5))
    assert len(found) == 4
    first = found.iloc[0]
    assert first[["sample", "given_label", "predicted_label", "size"]].tolist() == [0, 2, 1, 3]
    assert first[["top", "left", "bottom", "right"]].tolist() == [1, 1, 2, 3]
    assert labels.regions(marked((2, 5, 5), square | others), (2, 5, 5), min_size=2)["size"].tolist() == [3]
    spans = labels.regions(marked((2, 6), {(1, 2): (0, 1), (1, 3): (0, 1), (1, 5): (0, 1)}), (2, 6))
    assert spans[["sample", "first", "last"]].to_numpy().tolist() == [[1, 2, 3], [1, 5, 5]]
    assert labels.regions(marked((2, 6), {}), (2, 6)).empty


def test_find_multilabel_estimates_noise_rate_of_each_label():
    """Two labels with different noise rates."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand(600, 2, generator=generator) < torch.tensor([0.5, 0.15])
    flipped = torch.rand(600, 2, generator=generator) < torch.tensor([0.02, 0.2])
    given, recorder = (truth ^ flipped).float(), Recorder((600, 2), binary=True)
    for _ in range(6):
        logits = 6 * truth.float() - 3 + torch.randn(600, 2, generator=generator)
        recorder.write(torch.arange(600), logits, given)
        recorder.end_epoch()
    found = labels.find_multilabel(recorder.record(), recorder.shape, ["often", "rarely"])
    assert found["index"].tolist() == list(range(1200))
    assert found.name.tolist() == ["often", "rarely"] * 600
    assert found.attrs["noise_rates"] == pytest.approx([0.02, 0.2], abs=0.03)
    marks = torch.tensor(found.is_label_issue.tolist()).reshape(600, 2)
    assert float((marks == flipped).float().mean()) > 0.97


def test_invalid_shapes_raise_value_error():
    found = marked((4, 5), {})
    with pytest.raises(ValueError, match=r"index 19 is out of range for shape \(3, 5\)"):
        labels.with_positions(found, (3, 5))
    with pytest.raises(ValueError, match="shape"):
        labels.regions(marked((2, 2, 2, 2), {}), (2, 2, 2, 2))
    recorder = Recorder((4, 2), binary=True)
    with pytest.raises(ValueError, match="names has 1 entries for 2 labels"):
        labels.find_multilabel(recorder.record(), (4, 2), ["one"])


@pytest.mark.parametrize("shape", [(2, 4), (8, 1), (5, 2)])
def test_find_multilabel_needs_the_shape_of_the_recorder(shape, tmp_path):
    recorder = Recorder((4, 2), binary=True)
    recorder.write(torch.arange(4), torch.randn(4, 2), torch.ones(4, 2))
    recorder.end_epoch()
    recorder.record().save(tmp_path)
    for record in (recorder.record(), Record.load(tmp_path)):
        with pytest.raises(
            ValueError, match=r"the record has the shape \(4, 2\), got .*: give recorder\.shape"
        ):
            labels.find_multilabel(record, shape)
        with pytest.raises(TypeError, match="shape=8 must be the sizes of the Recorder"):
            labels.find_multilabel(record, 8)


def test_find_multilabel_rejects_arrays():
    with pytest.raises(TypeError, match=r"record is a ndarray, .*call find once per label"):
        labels.find_multilabel(np.zeros((4, 2)), (4, 2))
