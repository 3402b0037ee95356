import numpy as np
import pandas as pd
import pytest

from noiseproof.data import LabelledData
from noiseproof.features import Features
from noiseproof.train import Config, fit
from noiseproof.train.run import new_samples
from noiseproof.train.task import check_columns

NAMES = ("width", "height", "age")


def write_rows(path, *, order=NAMES, label=True, extra=False, seed=0):
    """Fifteen rows of three classes; values and labels are functions of the seed alone."""
    random = np.random.default_rng(seed)
    classes = np.arange(15) % 3
    values = dict(zip(NAMES, (3 * np.eye(3)[classes] + 0.1 * random.normal(size=(15, 3))).T, strict=True))
    names = [*(["id"] if extra else []), *order, *(["label"] if label else [])]
    cells = {**values, "label": [f"class {number}" for number in classes], "id": np.arange(15)}
    rows = [",".join(str(cells[name][row]) for name in names) for row in range(15)]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    return f'csv(path="{path}")'


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    data = write_rows(place / "rows.csv")
    return fit(Config(data=data, model="mlp(hidden=8)", epochs=2, out=str(place / "run"), device="cpu"))


@pytest.mark.parametrize(
    "table", [{"label": False}, {"order": NAMES[::-1]}, {"extra": True}, {"extra": True, "label": False}]
)
def test_prediction_ignores_order_label_and_extra_columns(run, tmp_path, table):
    plain = run.predict(write_rows(tmp_path / "plain.csv", seed=1), split="train")
    other = run.predict(write_rows(tmp_path / "other.csv", seed=1, **table), split="train")
    assert plain.equal(other)
    assert not plain.equal(run.predict(write_rows(tmp_path / "plain.csv", seed=2), split="train"))


def test_missing_column_raises_an_error(run, tmp_path):
    data = write_rows(tmp_path / "new.csv", order=("width", "height"))
    with pytest.raises(
        ValueError, match=r"^X has no column 'age', which was used in training; its columns are: "
    ):
        run.predict(data, split="train")


def test_streamed_rows_need_no_labels(tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    spec = write_rows(tmp_path / "new.csv", label=False)
    features = Features().fit(pd.read_csv(tmp_path / "new.csv"))
    whole = new_samples(spec, split="train", features=features).encoded(features)
    streamed = new_samples(spec.replace(")", ", stream=True)"), split="train", features=features)
    assert np.array_equal(whole.inputs.numpy(), streamed.inputs)
    assert whole.class_names == streamed.class_names == ("unlabelled",)


def test_prediction_from_memory_equals_prediction_from_file(run, tmp_path):
    spec = write_rows(tmp_path / "new.csv")
    frame = pd.read_csv(tmp_path / "new.csv")
    data = LabelledData(frame.drop(columns="label"), frame["label"])
    assert run.predict(data).equal(run.predict(spec, split="train"))


def test_columns_of_test_data_may_have_another_order(tmp_path):
    data = write_rows(tmp_path / "rows_train.csv").replace("rows_train", "rows_{split}")
    results = []
    for number, order in enumerate((NAMES, NAMES[::-1])):
        write_rows(tmp_path / "rows_test.csv", order=order)
        out = str(tmp_path / f"run{number}")
        results.append(fit(Config(data=data, epochs=2, model="mlp(hidden=8)", out=out)).metrics)
    assert results[0][-1]["test_accuracy"] == results[1][-1]["test_accuracy"]


def test_missing_and_extra_columns_have_different_messages():
    with pytest.raises(ValueError, match="columns missing where the training data has b"):
        check_columns(["a", "b"], ["a"], "this data")
    with pytest.raises(ValueError, match="columns b where the training data has none"):
        check_columns(["a"], ["a", "b"], "this data")
    check_columns([], ["a"], "this data")
    check_columns(["a"], [], "this data")


def test_arrays_need_no_labels(tmp_path):
    inputs, label = np.random.default_rng(0).normal(size=(20, 3)).astype("f4"), np.arange(20) % 2
    np.savez(tmp_path / "all.npz", x_train=inputs, y_train=label)
    np.savez(tmp_path / "new.npz", x_test=inputs[:7])
    np.save(tmp_path / "new.npy", inputs[:7])
    config = Config(data=f'npz(path="{tmp_path / "all.npz"}")', model="mlp(hidden=8)", epochs=1, device="cpu")
    run = fit(config.replace(out=str(tmp_path / "run"), test="none"))
    wanted = run.predict(f'npz(path="{tmp_path / "all.npz"}")', split="train")[:7]
    for name, split in (("npz", "test"), ("npy", "train")):
        found = run.predict(f'arrays(path="{tmp_path / f"new.{name}"}")', split=split)
        assert np.allclose(found, wanted, atol=1e-6)
