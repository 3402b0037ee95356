"""Files of the record, and values computed from it."""

import pytest
import torch

from noiseproof import losses
from noiseproof.dynamics import Record
from noiseproof.dynamics.record import MERGED, epoch_files, merge, save_epoch, save_samples


def write(folder, epochs=3, clean=True):
    index, label = torch.tensor([4, 9]), torch.tensor([0, 1])
    save_samples(folder, index, label, torch.tensor([1, 1]) if clean else None, ("a", "b\n<c>"))
    for epoch in range(1, epochs + 1):
        columns = {"margin": torch.tensor([epoch, -epoch]).half(), "tau": torch.full((2,), 0.5).half()}
        save_epoch(folder, epoch, columns | {"prediction": torch.tensor([epoch % 2, 1], dtype=torch.int32)})


def check(record):
    assert record.index.tolist() == [4, 9]
    assert record.class_names == ("a", "b\n<c>")
    assert record.margin.tolist() == [[1, -1], [2, -2], [3, -3]]
    assert record.prediction.tolist() == [[1, 1], [0, 1], [1, 1]]
    assert record.flipped.tolist() == [True, False]
    assert record.extra["tau"].shape == (3, 2)
    assert repr(record) == "Record(3 epochs of 2 samples, 2 classes)"


def test_record_is_equal_before_and_after_merging(tmp_path):
    write(tmp_path)
    check(Record.load(tmp_path))
    merge(tmp_path)
    for file in epoch_files(tmp_path):
        file.unlink()
    check(Record.load(tmp_path))


def test_merging_is_idempotent_after_a_kill(tmp_path):
    write(tmp_path)
    merge(tmp_path)
    merge(tmp_path)
    epoch_files(tmp_path)[1].unlink()
    check(Record.load(tmp_path))


def test_record_is_empty_before_the_first_epoch(tmp_path):
    write(tmp_path, epochs=0, clean=False)
    record = Record.load(tmp_path)
    assert (record.epochs, len(record), record.flipped) == (0, 2, None)
    merge(tmp_path)
    assert not (tmp_path / MERGED).exists()


def test_emphasis_is_recorded_or_computed_from_the_margin(tmp_path):
    write(tmp_path)
    record = Record.load(tmp_path)
    p = torch.sigmoid(record.margin.float())
    closed = {"ce": 1 - p, "mae": 2 * p * (1 - p), "unit_max(mae)": 4 * p * (1 - p)}
    closed["gr(beta=8, lam=1, normalize='batch')"] = (8 * p * (1 - p)).exp() / 2
    for spec, expected in closed.items():
        torch.testing.assert_close(record.emphasis(losses.get(spec)), expected, msg=spec)
    stored = torch.ones(3, 2).half()
    recorded = Record(
        record.index,
        record.label,
        None,
        record.class_names,
        record.margin,
        record.prediction,
        {"emphasis": stored},
    )
    assert torch.equal(recorded.emphasis(losses.get("ce")), stored.float())


def test_folder_without_a_record_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not contain a record"):
        Record.load(tmp_path)
    write(tmp_path)
    broken = epoch_files(tmp_path)[1]
    broken.write_bytes(broken.read_bytes()[:20])
    with pytest.raises(ValueError, match="epoch-00002"):
        Record.load(tmp_path)


@pytest.mark.parametrize("name", ["label", "prediction"])
def test_invalid_class_is_reported_as_damage(name, tmp_path):
    write(tmp_path)
    if name == "label":
        save_samples(tmp_path, torch.tensor([4, 9]), torch.tensor([0, 2**32 - 1]), None, ("a", "b"))
    else:
        wrong = {"margin": torch.zeros(2).half(), "tau": torch.zeros(2).half()}
        wrong["prediction"] = torch.tensor([248, 1], dtype=torch.int32)
        save_epoch(tmp_path, 2, wrong)
        merge(tmp_path)
    with pytest.raises(ValueError, match=rf"damaged: {name} (248|4294967295) is not a valid class: it has 2"):
        Record.load(tmp_path)


def test_invalid_shape_is_reported_as_damage(tmp_path):
    index = torch.tensor([4, 9])
    for shape in ((), (0, 2)):
        save_samples(tmp_path, index, index, None, ("a", "b"), shape)
        with pytest.raises(ValueError, match="its shape is not a list of sizes"):
            Record.load(tmp_path)
