"""The data of a run, made from its config."""

import pytest
import torch
from real_world_trees import TREES

from noiseproof import noise
from noiseproof.data import LabelledData, load
from noiseproof.train import Config, fit
from noiseproof.train.task import make_task


def test_noise_is_applied_to_clean_labels():
    task = make_task(Config(noise="symmetric(0.4)", seed=3))
    digits = load("digits")
    expected = noise.corrupt(digits.label, "symmetric(0.4)", num_classes=10, seed=3, index=digits.index)
    assert torch.equal(task.train.label, expected.labels)
    assert torch.equal(task.train.clean_label, digits.label)
    assert torch.equal(task.test.label, load("digits", split="test").label)


def test_noise_on_wrong_labels_starts_from_clean_labels(blobs):
    data = blobs(wrong=60)
    task = make_task(Config(noise="symmetric(0.2)"), data)
    assert torch.equal(task.train.clean_label, data.clean_label)
    assert (task.train.label != data.clean_label).float().mean() < 0.5
    assert make_task(Config(), data).train is data


def test_noise_depends_on_noise_seed_only():
    labels = [
        make_task(Config(noise="symmetric(0.4)", seed=s, noise_seed=n)).train.label
        for s, n in ((0, 5), (1, 5), (1, 6))
    ]
    assert torch.equal(labels[0], labels[1])
    assert not torch.equal(labels[1], labels[2])


def test_exact_noise_flips_the_exact_number_of_labels():
    train = make_task(Config(noise="symmetric(0.4)", exact_noise=True)).train
    assert int((train.label != train.clean_label).sum()) == 560


def test_validation_split_is_disjoint_with_noisy_labels(blobs):
    task = make_task(Config(validation=0.2, noise="symmetric(0.5)"), blobs(100))
    assert (len(task.train), len(task.validation)) == (80, 20)
    assert not set(task.train.index.tolist()) & set(task.validation.index.tolist())
    assert (task.validation.label != task.validation.clean_label).any()
    clean = make_task(Config(validation=0.2, noise="symmetric(0.5)", validation_labels="clean"), blobs(100))
    assert torch.equal(clean.validation.label, clean.validation.clean_label)


def test_clean_validation_needs_clean_labels(blobs):
    data = LabelledData(blobs().inputs, blobs().label)
    with pytest.raises(ValueError, match="needs data with clean labels"):
        make_task(Config(validation=0.2, validation_labels="clean"), data)


def test_data_without_a_test_split_have_no_test_data(tmp_path):
    (tmp_path / "rows.csv").write_text("a,label\n" + "\n".join(f"{i},{i % 2}" for i in range(10)))
    assert make_task(Config(data=f'csv(path="{tmp_path}/rows.csv")')).test is None
    assert make_task(Config(test="none")).test is None
    (tmp_path / "rows_train.csv").write_text("a,label\n1,0\n2,1\n")
    (tmp_path / "rows_test.csv").write_text("a,label\n1,1\n2,0\n3,1\n")
    assert len(make_task(Config(data=f'csv(path="{tmp_path}/rows_{{split}}.csv")')).test) == 3


def test_test_data_with_other_classes_raise_an_error(blobs):
    other = LabelledData(torch.zeros(2, 4), [0, 1], class_names=["cat", "dog"])
    with pytest.raises(ValueError, match="test data has classes cat, dog, the training data 0, 1, 2"):
        make_task(Config(), blobs(), other)


def test_open_set_noise_needs_foreign_inputs(blobs):
    with pytest.raises(ValueError, match=r"replaces inputs.*noise\.replace_inputs"):
        make_task(Config(noise="open_set(0.2)"), blobs())


def test_data_of_one_class_raise_an_error():
    one = LabelledData(torch.rand(4, 2), [0, 0, 0, 0], class_names=["cat"])
    with pytest.raises(ValueError, match="all training labels are 'cat': there must be at least two classes"):
        make_task(Config(), one)


def test_class_numbers_of_test_data_are_mapped_by_name():
    train = LabelledData(torch.rand(3, 2), [0, 1, 2], class_names=["cat", "dog", "owl"])
    test = LabelledData(torch.rand(3, 2), [0, 1, 1], clean_label=[1, 1, 0], class_names=["owl", "cat"])
    found = make_task(Config(), train, test).test
    assert found.class_names == train.class_names
    assert found.label.tolist() == [2, 0, 0]
    assert found.clean_label.tolist() == [0, 0, 2]
    with pytest.raises(
        ValueError, match=r"classes emu, cat, the training data cat, dog, owl: remove .* of emu"
    ):
        make_task(Config(), train, LabelledData(torch.rand(2, 2), [0, 1], class_names=["emu", "cat"]))


def test_test_classes_without_samples_are_ignored(tmp_path):
    """Class numbers start at 1 in the training data and at 0 in the test data."""
    (tmp_path / "train.csv").write_text("x,label\n5,1\n6,2\n7,3\n")
    data = Config(data=f'csv(path="{(tmp_path / "train.csv").as_posix()}")')
    with pytest.warns(UserWarning, match="no sample has the label 0"):
        test = LabelledData(torch.rand(3, 1), [1, 3, 2])
    found = make_task(data, test=test).test
    assert found.class_names == ("1", "2", "3")
    assert found.label.tolist() == [0, 2, 1]


def test_test_data_from_another_file(tmp_path):
    for name, labels in (("train", "abc"), ("other", "cb")):
        rows = [f"{number},{label}" for number, label in enumerate(labels)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,label", *rows]))
    place = tmp_path.as_posix()
    task = make_task(Config(data=f'csv(path="{place}/train.csv")', test=f'csv(path="{place}/other.csv")'))
    assert task.test.label.tolist() == [2, 1]


def test_validation_data_from_another_source(tmp_path, monkeypatch):
    """Validation data from Clothing1M or another file; the training data as validation data are an error."""
    TREES["clothing1m"](tmp_path / "clothing1m")
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    task = make_task(Config(data="clothing1m(size=8)", validation_data="clothing1m(size=8)"))
    assert task.validation.label.tolist() == [n % 14 for n in range(28)]
    assert "clean_val" not in str(task.train.inputs.paths)
    assert not {*task.validation.inputs.paths} & {*task.train.inputs.paths, *task.test.inputs.paths}
    for name in ("train", "aside"):
        (tmp_path / f"{name}.csv").write_text("a,label\n" + "1,x\n2,y\n" * len(name))
    rows = {name: f"csv(path='{tmp_path.as_posix()}/{name}.csv')" for name in ("train", "aside")}
    assert len(make_task(Config(data=rows["train"], validation_data=rows["aside"])).validation) == 10
    for data, aside in ((rows["train"], rows["train"]), ("digits", "digits(samples=50)")):
        with pytest.raises(ValueError, match=r"validation_data: .*; set, for example, validation=0.1"):
            make_task(Config(data=data, validation_data=aside))


def test_balanced_batches_visit_classes_equally_often(tmp_path):
    label = torch.tensor([0] * 80 + [1] * 12 + [2] * 8)
    data = LabelledData(torch.randn(100, 4), label)
    config = Config(
        model="mlp(hidden=4)", batch_size=10, balanced_batches=3, epochs=4, out=str(tmp_path), device="cpu"
    )
    run = fit(config, data=data)
    seen = [torch.bincount(label[row >= 0], minlength=3).tolist() for row in run.record.prediction]
    assert seen == [[10, 10, 8]] * 4
    assert len({tuple((row >= 0).tolist()) for row in run.record.prediction}) == 4
    assert run.metrics[-1]["step"] == 12
