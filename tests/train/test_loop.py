"""The training loop equals its pseudocode."""

import math
import signal
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from noiseproof import losses, models
from noiseproof.data import LabelledData
from noiseproof.files import DamagedFileError
from noiseproof.processes import Interruption
from noiseproof.train import Config, Run, RunExistsError, Watcher, fit
from noiseproof.train.batches import batch_bounds, epoch_order


def train_with_plain_torch(config, data, learning_rates):
    """Train in plain torch; return the model and the margins."""
    model = models.get(config.model, num_classes=3, in_channels=4, seed=config.seed)
    optimizer = torch.optim.SGD(model.parameters(), config.lr, momentum=0.9, weight_decay=config.weight_decay)
    loss = losses.get(config.loss)
    step, margins = 0, {}
    for epoch in range(1, config.epochs + 1):
        order = epoch_order(data.index, seed=config.seed, epoch=epoch)
        for start, stop in batch_bounds(len(data), config.batch_size):
            part = order[start:stop]
            logits = model(data.inputs[part])
            optimizer.zero_grad()
            loss(logits, data.label[part]).backward()
            if config.clip:
                nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            optimizer.param_groups[0]["lr"] = learning_rates[epoch - 1]
            optimizer.step()
            step += 1
            for row, z in zip(part.tolist(), logits.detach(), strict=True):
                y = int(data.label[row])
                margins[epoch, row] = float(z[y] - torch.cat([z[:y], z[y + 1 :]]).logsumexp(0))
    return model, margins


@pytest.mark.parametrize(
    "settings", [{}, {"clip": 0.05, "weight_decay": 0.1}, {"loss": "gce(q=0.4)", "seed": 5}]
)
def test_weights_and_margins_equal_plain_torch(config, blobs, settings):
    settled = config(**settings, schedule="step(milestones=1, gamma=0.5)")
    run = fit(settled, data=blobs(wrong=9))
    model, margins = train_with_plain_torch(settled, blobs(wrong=9), [0.1, 0.05, 0.05])
    for name, value in run.load_model().state_dict().items():
        torch.testing.assert_close(value, model.state_dict()[name], rtol=0, atol=0)
    for (epoch, row), value in margins.items():
        assert run.record.margin[epoch - 1, row].item() == pytest.approx(value, rel=2e-3, abs=2e-3)
    assert [line["lr"] for line in run.metrics] == [0.1, 0.05, 0.05]


def test_same_seed_is_bit_identical(config, blobs, tmp_path):
    found = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run = fit(config(seed=seed, dropout=0.3, out=str(tmp_path / name)), data=blobs())
        found.append(run.load_model().state_dict()["head.weight"])
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_clean_labels_do_not_change_the_weights(config, blobs, tmp_path):
    data = blobs(wrong=20)
    weights = []
    for name, clean in (("known", data.clean_label), ("shuffled", data.clean_label.flip(0)), ("none", None)):
        given = LabelledData(data.inputs, data.label, clean_label=clean)
        run = fit(config(loss="gr", out=str(tmp_path / name)), data=given)
        weights.append({k: v.numpy().tobytes() for k, v in run.load_model().state_dict().items()})
    assert weights[0] == weights[1] == weights[2]


def test_order_of_the_data_does_not_change_the_weights(config, blobs, tmp_path):
    """Batches, and therefore weights, depend on the permanent index."""
    data = blobs(wrong=5)
    runs = [
        fit(config(out=str(tmp_path / name)), data=given)
        for name, given in (("a", data), ("b", data.subset(torch.arange(60).flip(0))))
    ]
    first, second = (run.load_model().state_dict() for run in runs)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(runs[0].record.margin, runs[1].record.margin.flip(1))


def test_global_random_state_is_not_changed(config, blobs):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    fit(config(dropout=0.5), data=blobs())
    assert torch.equal(torch.get_rng_state(), before)


def test_global_random_state_does_not_change_the_run(config, blobs, tmp_path):
    weights = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        run = fit(config(dropout=0.5, out=str(tmp_path / str(seed))), data=blobs())
        weights.append(run.load_model().state_dict()["head.weight"])
    assert torch.equal(*weights)


def test_iterations_may_end_within_an_epoch(config, blobs):
    run = fit(config(epochs=None, iterations=6), data=blobs())
    assert [line["step"] for line in run.metrics] == [4, 6]
    assert run.record.prediction[1].eq(-1).sum() == 60 - 32
    assert run.metrics[-1]["corrupted_accuracy"] is not None
    assert run.result["steps"] == 6


def test_lazy_inputs_give_the_same_weights(config, blobs, tmp_path):
    class Lazy:
        def __init__(self, inputs):
            self.inputs = inputs

        def __len__(self):
            return len(self.inputs)

        def read(self, positions):
            return self.inputs[torch.from_numpy(positions)]

    data = blobs()
    lazy = LabelledData(Lazy(data.inputs), data.label, clean_label=data.clean_label)
    runs = [fit(config(out=str(tmp_path / n)), data=d) for n, d in (("memory", data), ("files", lazy))]
    assert torch.equal(*(run.load_model().state_dict()["head.weight"] for run in runs))


def test_unreadable_input_file_raises_an_error(config, blobs):
    class Broken:
        def __len__(self):
            return 60

        def read(self, positions):
            if 33 in positions and len(positions) != 64:
                raise OSError("sample 33: photos/x.png is broken")
            return torch.zeros(len(positions), 4)

    data = LabelledData(Broken(), blobs().label)
    with pytest.raises(OSError, match=r"sample 33: photos/x\.png is broken"):
        fit(config(), data=data)


def test_bf16_keeps_weights_and_loss_in_fp32(config, blobs):
    seen = []

    class Probe(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            logits = self.head(x)
            seen.append(logits.dtype)
            return logits

    run = fit(config(precision="bf16"), data=blobs(), model=Probe())
    assert set(seen) == {torch.bfloat16}
    assert all(v.dtype == torch.float32 for v in run.load_model(model=Probe()).state_dict().values())
    assert run.metrics[-1]["loss"] < run.metrics[0]["loss"]


@pytest.mark.parametrize("samples", [17, 33, 2])
def test_last_batch_of_one_sample_with_batch_norm(config, blobs, samples):
    run = fit(config(model="mlp(hidden=8, norm=True)"), data=blobs(60).subset(range(samples)))
    assert run.metrics[-1]["step"] == 3 * max(1, samples // 16)


def test_batches_of_one_class(config, blobs):
    data = blobs().subset(torch.arange(0, 60, 3))
    for loss in ("ce", "nce", "gr(normalize='batch')"):
        run = fit(config(loss=loss, epochs=20, out=f"{config().out} {loss[:3]}"), data=data)
        assert run.metrics[-1]["corrupted_accuracy"] == 1.0
        assert run.metrics[-1]["clean_subset_accuracy"] == 1.0


def test_confidence_regularization_uses_label_frequencies_of_the_data(config, blobs, tmp_path):
    data = blobs().subset(torch.arange(10, 60))
    prior = torch.bincount(data.label, minlength=3) / 50
    ours = fit(config(loss="cr(ce, beta=0.5)"), data=data).metrics[0]["loss"]
    model = models.get("mlp(hidden=8)", num_classes=3, in_channels=4, seed=0)
    order = epoch_order(data.index, seed=0, epoch=1)
    loss = losses.CR(losses.CE(), beta=0.5, prior=prior)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    total = 0.0
    for start, stop in batch_bounds(50, 16):
        batch = data.batch(order[start:stop])
        optimizer.zero_grad()
        value = loss(model(batch.input), batch.label)
        value.backward()
        optimizer.step()
        total += value.item() * (stop - start)
    assert ours == pytest.approx(total / 50, rel=1e-5)


def test_watcher_receives_every_event(config, blobs):
    calls = []

    class Listening(Watcher):
        def begin(self, done, steps):
            calls.append(("begin", done, steps))

        def step(self, done):
            calls.append(done)

        def epoch(self, line):
            calls.append(("epoch", line["epoch"]))

        def end(self):
            calls.append("end")

    fit(config(epochs=2), data=blobs(), watcher=Listening())
    assert calls == [("begin", 0, 8), 1, 2, 3, 4, ("epoch", 1), 5, 6, 7, 8, ("epoch", 2), "end"]


def test_patience_stops_the_run_and_keeps_the_best_epoch(config, blobs):
    noisy = blobs(count=90, wrong=45)
    run = fit(config(epochs=200, validation=0.3, patience=3, lr=0.3), data=noisy, test=blobs(seed=1))
    last = run.metrics[-1]["epoch"]
    assert last < 200
    assert run.result["selected"]["epoch"] == last - 3
    accuracies = [line["validation_accuracy"] for line in run.metrics]
    assert accuracies.index(max(accuracies)) + 1 == run.result["selected"]["epoch"]
    best = run.metrics[run.result["selected"]["epoch"] - 1]
    probability = run.predict(blobs(seed=1), which="best")
    assert (probability.argmax(1) == blobs(seed=1).label).float().mean().item() == pytest.approx(
        best["test_accuracy"]
    )


def test_validation_samples_are_not_trained_on(config, blobs, tmp_path):
    data = blobs(wrong=60)
    given, clean = (
        fit(config(validation=0.25, validation_labels=kind, epochs=20, out=str(tmp_path / kind)), data=data)
        for kind in ("given", "clean")
    )
    assert len(given.record) == 45
    assert torch.equal(*(run.load_model().state_dict()["head.weight"] for run in (given, clean)))
    assert given.metrics[-1]["validation_accuracy"] > 0.9
    assert clean.metrics[-1]["validation_accuracy"] < 0.1


def test_recorded_emphasis_is_half_the_l1_norm_of_the_gradient(config, blobs):
    """nce is not a function of the margin: its emphasis is recorded and equals that of autograd."""
    run = fit(config(loss="nce", batch_size=60, epochs=1), data=blobs())
    model = models.get("mlp(hidden=8)", num_classes=3, in_channels=4, seed=0)
    logits = model(blobs().inputs).detach().requires_grad_()
    losses.get("nce", reduction="sum")(logits, blobs().label).backward()
    expected = logits.grad.abs().sum(1) / 2
    torch.testing.assert_close(run.record.extra["emphasis"][0].float(), expected, rtol=2e-3, atol=1e-5)
    assert run.metrics[0]["alpha"] == pytest.approx(2 * expected.mean().item(), rel=1e-5)


def test_emphasis_of_a_margin_loss_is_derived_from_its_margins(config, blobs):
    run = fit(config(loss="gce(q=0.4)", batch_size=60, epochs=1), data=blobs(wrong=7))
    assert "emphasis" not in run.record.extra
    emphasis = run.record.emphasis(losses.get("gce(q=0.4)"))[0]
    assert run.metrics[0]["alpha"] == pytest.approx(2 * emphasis.mean().item(), rel=1e-3)
    flipped = run.record.flipped
    expected = emphasis[~flipped].mean() / emphasis[flipped].mean()
    assert run.metrics[0]["snr"] == pytest.approx(expected.item(), rel=1e-3)
    assert run.metrics[0]["emphasis_spread"] == pytest.approx(
        (2 * emphasis).var(correction=0).item(), rel=1e-2
    )


def test_metrics_contain_null_instead_of_nan(config, blobs):
    data = blobs()
    without_two = blobs(seed=1).subset((blobs().label != 2).nonzero().flatten())
    run = fit(config(), data=LabelledData(data.inputs, data.label), test=without_two)
    for line in run.metrics:
        assert line["test_class_accuracy"][2] is None
        assert all(not (isinstance(v, float) and math.isnan(v)) for v in line.values())
        assert line["intact_accuracy"] is line["snr"] is line["validation_accuracy"] is None
    assert "NaN" not in (run.folder / "metrics.jsonl").read_text()


def test_evaluate_every_includes_the_last_epoch(config, blobs):
    run = fit(config(epochs=5, evaluate_every=2), data=blobs(), test=blobs(seed=1))
    tested = [line["epoch"] for line in run.metrics if line.get("test_accuracy") is not None]
    assert tested == [2, 4, 5]
    assert run.result["final_test_accuracy"] == run.metrics[-1]["test_accuracy"]
    assert run.result["best_test_accuracy"] >= run.result["final_test_accuracy"]


def test_disabling_the_record_does_not_change_the_weights(config, blobs, tmp_path):
    runs = [fit(config(record=keep, out=str(tmp_path / str(keep))), data=blobs()) for keep in (True, False)]
    assert torch.equal(*(run.load_model().state_dict()["head.weight"] for run in runs))
    assert (runs[0].record.epochs, runs[1].record.epochs) == (3, 0)


def test_patience_counts_evaluated_epochs_only(config, blobs):
    settings = {"validation": 0.3, "patience": 2, "evaluate_every": 3, "lr": 1e-9}
    run = fit(config(epochs=20, **settings), data=blobs(), test=blobs(seed=1))
    assert run.result["selected"]["epoch"] == 3
    assert run.result["epochs"] == 6
    assert run.result["final_test_accuracy"] is not None


@pytest.mark.parametrize(("count", "batch_size"), [(1, 16), (5, 1)])
def test_batch_norm_with_batches_of_one_sample_raises_an_error(config, blobs, count, batch_size):
    data = blobs(count=6).subset(range(count))
    with pytest.raises(ValueError, match=rf"increase batch_size \({batch_size}, with {count} samples\)"):
        fit(config(model="mlp(hidden=8, norm=True)", batch_size=batch_size), data=data)


def test_signal_after_the_last_step_reaches_the_outer_handler(config, blobs):
    """Otherwise Ctrl-C at the end of one of several runs would be ignored."""

    class Late(Watcher):
        def epoch(self, line):
            signal.raise_signal(signal.SIGINT)

    with Interruption() as outer:
        run = fit(config(epochs=1), data=blobs(), watcher=Late())
        assert outer.received == signal.SIGINT
    assert run.finished


def test_damaged_config_raises_an_error(config, blobs):
    run = fit(config(epochs=1), data=blobs())
    (run.folder / "config.json").write_text("{")
    with pytest.raises(
        RunExistsError, match=r"config\.json is damaged \(a config must be JSON: .* choose another"
    ):
        fit(config(epochs=1), data=blobs())
    with pytest.raises(
        DamagedFileError, match=r"^cannot read \S+: it is not .*JSON.*; restore the file.*"
    ) as told:
        _ = Run(run.folder).config
    assert str(told.value).count("cannot read") == str(told.value).count("restore the file") == 1


@pytest.mark.parametrize(("given", "shown"), [("digits", "'digits'"), ({"data": "digits"}, "a dict")])
def test_fit_without_a_config_raises_an_error(given, shown):
    with pytest.raises(
        TypeError, match=rf"^fit takes a Config, got {shown}: write fit\(Config\(data='digits'"
    ):
        fit(given)


def test_rows_that_are_not_labelled_data_raise_an_error(config, blobs):
    with pytest.raises(TypeError, match=r"^data is a Tensor: give LabelledData\(X, labels\)"):
        fit(config(epochs=1), data=torch.zeros(4, 2))
    run = fit(config(epochs=1), data=blobs())
    with pytest.raises(TypeError, match=r"^data is a Tensor: give a spec or LabelledData\(X, labels\)"):
        run.predict(torch.zeros(4, 2))


def test_notebook_progress_updates_one_line(tmp_path, monkeypatch):
    """IPython is not installed: a replacement collects what it would show."""
    shown = []
    place = SimpleNamespace(update=lambda words, raw: shown.append(words["text/plain"]))
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *_, **options: place))
    fit(Config(epochs=2, out=str(tmp_path / "run")))
    assert [words.partition(":")[0] for words in shown][-1] == "epoch 2/2"
    assert "test" in shown[-1]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    shown.clear()
    fit(Config(epochs=1, out=str(tmp_path / "terminal")))
    assert shown == []
