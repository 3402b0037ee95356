"""Every figure draws the values of the record."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.metrics import confusion_matrix
from small_runs import SETTINGS, metrics_of, write_run

from noiseproof import report, train
from noiseproof.data import LabelledData
from noiseproof.dynamics import subset_accuracies
from noiseproof.report.evidence import Evidence
from noiseproof.report.figures.curves import subset_curves
from noiseproof.report.figures.margins import chosen_epochs, density
from noiseproof.report.figures.predictions import corrected_labels, row_shares
from noiseproof.report.figures.samples import sheet
from noiseproof.report.palette import FAINT, SUSPECTED, WRONG
from noiseproof.testing import example_record

SEVERAL = ("plot_test_accuracy", "plot_memorised", "plot_final_margins")
FIGURES = [name for name in report.__all__ if name.startswith("plot_")]


def with_tau(record):
    flipped = record.label != record.label.roll(1) if record.clean_label is None else record.flipped
    tau = torch.where(flipped, 0.2, 0.9).half().expand(record.epochs, -1)
    return dataclasses.replace(record, extra={"tau": tau})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("known") / "run", with_tau(example_record()))


@pytest.fixture(scope="module")
def unknown(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("unknown") / "run", with_tau(example_record(known=False)))


def draw(name, run, **options):
    if name == "plot_sample_sheet":
        options["data"] = LabelledData(torch.ones(len(run.record), 1, 8, 8), run.record.label)
    return getattr(report, name)([run, run] if name in SEVERAL else run, **options)


def words(ax):
    found = [text.get_text() for text in ax.figure.findobj(mpl.text.Text)]
    return " | ".join(found)


@pytest.mark.parametrize("name", FIGURES)
def test_figure_draws_on_given_axes_and_changes_no_global_state(name, run):
    ax = Figure().add_subplot()
    before, state = dict(mpl.rcParams), torch.get_rng_state()
    numbers, figures = np.random.get_state()[1].tolist(), list(mpl._pylab_helpers.Gcf.figs)
    assert draw(name, run, ax=ax) is ax
    assert ax.has_data() or ax.texts
    assert dict(mpl.rcParams) == before
    assert torch.equal(torch.get_rng_state(), state)
    assert np.random.get_state()[1].tolist() == numbers
    assert list(mpl._pylab_helpers.Gcf.figs) == figures


@pytest.mark.parametrize(
    "name", sorted(set(FIGURES) - {"plot_detection", "plot_prediction_counts", "plot_update_scale"})
)
def test_figures_say_suspected_without_clean_labels(name, unknown):
    found = words(draw(name, unknown))
    assert "wrong" not in found
    plain = {"plot_features", "plot_class_accuracy", "plot_confidence", "plot_test_accuracy"}
    assert ("suspected" in found) == (name not in plain)


def test_detection_needs_clean_labels(unknown):
    with pytest.raises(report.NotAvailableError, match="no label is known to be wrong"):
        report.plot_detection(unknown)


def test_ridge_peaks_are_at_the_median_margins(run):
    record = run.record
    ax = report.plot_margin_ridges(run, rows=3)
    hills = [line for line in ax.get_lines() if len(line.get_xdata()) == 120]
    assert len(hills) == 6
    last = record.margin[-1].float()
    for line, group in zip(hills[-2:], (~record.flipped, record.flipped), strict=True):
        peak = line.get_xdata()[np.nanargmax(line.get_ydata())]
        assert abs(peak - float(last[group].median())) < 0.7
        assert np.nanmax(line.get_ydata()) == pytest.approx(-2 + 1.3)


def test_ridges_show_the_share_of_the_emphasis(run):
    record = run.record
    emphasis = 1 - torch.sigmoid(record.margin.double())
    share = (emphasis * record.flipped).sum(1) / emphasis.sum(1)
    ax = report.plot_margin_ridges(run, rows=3)
    written = [text.get_text() for text in ax.texts if text.get_text().endswith("%")]
    assert written == [f"{100 * float(share[epoch]):.0f}%" for epoch in chosen_epochs(12, 3)]
    line = report.plot_emphasis_share(run).get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), share, atol=1e-3)


def test_top_curve_of_ridges_is_the_emphasis_of_the_loss():
    ax = report.plot_margin_ridges(example_record(), loss="mae")
    curve = next(line for line in ax.get_lines() if len(line.get_xdata()) == 400)
    assert abs(curve.get_xdata()[curve.get_ydata().argmax()]) < 0.05
    assert np.ptp(curve.get_ydata()) == pytest.approx(1, abs=0.06)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=50))
@settings(deadline=None, max_examples=30)
def test_density_has_maximum_one_and_is_small_far_from_values(values):
    x, y = density(np.array(values), (-6.0, 6.0))
    assert y.max() == pytest.approx(1)
    assert y.min() >= 0
    far = [place for place in x if min(abs(place - value) for value in values) > 4]
    assert all(y[x == place] < 0.2 for place in far)


def test_chosen_epochs_increase_from_first_to_last():
    for epochs in range(1, 60):
        found = chosen_epochs(epochs, 6)
        assert found[0] == 0
        assert found[-1] == epochs - 1
        assert len(found) == min(6, epochs)
        assert found == sorted(set(found))


def test_subset_curves_equal_the_accuracies_of_the_record():
    record = example_record()
    record.prediction[5, ::3] = -1
    curves = list(subset_curves(Evidence(record)).values())
    for epoch in (0, 5, 11):
        expected = subset_accuracies(record.prediction[epoch].long(), record.label, record.clean_label)
        assert curves[0][epoch] == pytest.approx(expected["clean_subset"])
        assert curves[1][epoch] == pytest.approx(expected["noisy_subset"])
        flipped = record.flipped & (record.prediction[epoch] >= 0)
        recovered = (record.prediction[epoch] == record.clean_label)[flipped].float().mean()
        assert curves[2][epoch] == pytest.approx(float(recovered))


def test_legend_names_the_three_worst_classes(run):
    ax = report.plot_class_accuracy(run)
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["class 2, 60%", "class 1, 70%", "class 0, 80%", "all classes"]


def test_epochs_without_evaluation_are_left_out(tmp_path):
    record = example_record()
    lines = metrics_of(record)
    for line in lines[::2]:
        line["test_accuracy"], line["test_class_accuracy"] = None, None
    found = write_run(tmp_path / "run", record, metrics=lines)
    assert report.plot_class_accuracy(found).get_lines()[-1].get_xdata().tolist() == [2, 4, 6, 8, 10, 12]


def test_confidence_shows_the_hardest_class(run):
    probability, label = run.outputs["test_probability"].float(), run.outputs["test_label"]
    ax = report.plot_confidence(run)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, probability[label == 0].mean(0), atol=1e-6)
    assert "class 0" in ax.get_title(loc="left")
    with pytest.raises(report.NotAvailableError, match="no sample of class 3"):
        report.plot_confidence(run, of=3)


def test_prediction_counts_sum_to_the_samples(run):
    ax = report.plot_prediction_counts(run)
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(2, -1)
    assert heights.sum() == 90
    assert heights[:, 0].tolist() == [15, 0]
    assert heights[:, 1].tolist() == [30, 15]


def test_confusion_equals_scikit_learn():
    record = example_record(classes=5)
    expected = confusion_matrix(record.clean_label, record.label, normalize="true")
    np.testing.assert_allclose(row_shares(record.clean_label, record.label, 5), expected, atol=1e-6)


def test_corrected_labels_change_suspects_only():
    evidence = Evidence(example_record())
    corrected, label = corrected_labels(evidence), evidence.record.label
    doubted = torch.tensor(evidence.suspects["is_label_issue"].to_numpy())
    assert torch.equal(corrected[~doubted], label[~doubted])
    truth = evidence.record.clean_label
    assert (corrected == truth).float().mean() > (label == truth).float().mean() + 0.2


def test_targets_of_nal_are_saved_and_drawn(tmp_path):
    method = "nal(start=5, period=1, alpha=0.3)"
    settings = {
        "data": "digits",
        "noise": "symmetric(0.4)",
        "model": "mlp(hidden=64, norm=True)",
        "epochs": 8,
        "lr": 0.1,
    }
    run = train.fit(train.Config(**settings, method=method, out=str(tmp_path / "nal")))
    kept, truth = run.outputs, run.record.clean_label
    target = kept["target"].float()
    torch.testing.assert_close(target.sum(1), torch.ones(len(truth)), atol=5e-3, rtol=0)
    assert kept["attention_weight"].shape[0] == 1
    assert kept["attention_bias"].shape == (1, 1)
    right = [float((labels == truth).float().mean()) for labels in (run.record.label, target.argmax(1))]
    assert right[1] > right[0] + 0.1
    axes = report.plot_confusion(run.folder, labels="targets")
    assert axes.get_xlabel() == "learned target"
    shares = row_shares(truth, target.argmax(1), 10)
    assert axes.texts[0].get_text() == f"{100 * float(shares[0, 0]):.0f}"
    with pytest.raises(report.NotAvailableError, match="no learned targets"):
        report.plot_confusion(example_record(), labels="targets")


def test_confusion_of_given_labels_needs_clean_labels():
    record = example_record(known=False)
    with pytest.raises(report.NotAvailableError, match="not known"):
        report.plot_confusion(record, labels="given")
    assert "suspected" in report.plot_confusion(record).get_ylabel()
    with pytest.raises(ValueError, match="labels='new' is unknown"):
        report.plot_confusion(record, labels="new")


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_axis_labels_of_a_confusion_are_inside_the_figure(classes):
    axes = report.plot_confusion(example_record(known=False, classes=classes))
    figure = axes.figure
    figure.draw_without_rendering()
    page = figure.bbox
    for words in (axes.yaxis.label, axes.xaxis.label):
        box = words.get_window_extent()
        assert page.y0 <= box.y0 < box.y1 <= page.y1
        assert page.x0 <= box.x0 < box.x1 <= page.x1


def test_matrix_of_many_classes_has_no_numbers():
    assert not report.plot_confusion(example_record(classes=40)).texts
    assert report.plot_confusion(example_record(classes=4)).texts


def test_detection_dot_is_the_precision_and_recall_of_find(run):
    evidence = Evidence(run)
    ax = report.plot_detection(evidence)
    dot = next(line for line in ax.get_lines() if line.get_marker() == "o")
    chosen, flipped = torch.tensor(evidence.suspects["is_label_issue"].to_numpy()), run.record.flipped
    assert dot.get_xdata()[0] == pytest.approx(float(chosen[flipped].float().mean()))
    assert dot.get_ydata()[0] == pytest.approx(float(flipped[chosen].float().mean()))


def test_data_map_draws_a_fixed_subset_of_many_samples():
    record = example_record(20000, 2)
    clouds = [report.plot_data_map(record).collections for _ in range(2)]
    assert [len(cloud.get_offsets()) for cloud in clouds[0]] == [4000, 4000]
    np.testing.assert_array_equal(clouds[0][0].get_offsets(), clouds[1][0].get_offsets())


def test_data_map_leaves_out_unvisited_samples():
    record = example_record(100, 4)
    record.margin[:, :10] = torch.nan
    assert sum(len(cloud.get_offsets()) for cloud in report.plot_data_map(record).collections) == 90


def test_attention_peaks_of_right_and_wrong_labels(run):
    hills = [line for line in report.plot_tau(run).get_lines() if len(line.get_xdata()) == 120]
    peaks = [line.get_xdata()[np.nanargmax(line.get_ydata())] for line in hills]
    np.testing.assert_allclose(peaks, [0.9, 0.2] * 3, atol=0.02)


def test_feature_positions_are_deterministic(run):
    places = [
        np.concatenate([c.get_offsets() for c in report.plot_features(run).collections]) for _ in range(2)
    ]
    assert len(places[0]) == 90
    np.testing.assert_array_equal(*places)


@pytest.mark.parametrize("known", [True, False])
def test_sample_sheet_draws_boxes_around_suspects(known):
    record = example_record(40, known=known)
    evidence = Evidence(record)
    data = LabelledData(torch.rand(40, 3, 8, 8), record.label)
    boxes = report.plot_sample_sheet(evidence, data=data).patches
    suspected = torch.tensor(evidence.suspects["is_label_issue"].to_numpy())
    colours = [to_hex(box.get_edgecolor()).upper() for box in boxes]
    if not known:
        assert colours == [SUSPECTED] * int(suspected.sum())
    else:
        right = record.label == record.clean_label
        assert colours.count(FAINT.upper()) == int((suspected & right).sum())
        assert colours.count(WRONG) == int((~right).sum())
        assert sum(box.get_linestyle() == ":" for box in boxes) == int((~right & ~suspected).sum())


def test_sample_sheet_keeps_the_aspect_ratio():
    wide = np.full((48, 64, 3), 200, np.uint8)
    canvas = sheet([wide] * 4, columns=2)
    opaque = canvas[: canvas.shape[0] // 2, : canvas.shape[1] // 2, 3] > 0
    height, width = (np.flatnonzero(opaque.any(axis)) for axis in (1, 0))
    assert len(width) * 48 == len(height) * 64
    square = sheet([np.full((64, 64, 3), 200, np.uint8)] * 4, columns=2)
    assert square.shape == canvas.shape
    record = example_record(60)
    data = LabelledData(torch.rand(60, 1, 12, 16), record.label)
    axes = report.plot_sample_sheet(record, data=data)
    axes.figure.draw_without_rendering()
    drawn, pixels = axes.get_window_extent(), axes.images[0].get_array().shape
    assert drawn.height / drawn.width == pytest.approx(pixels[0] / pixels[1], rel=1e-6)


def test_sample_sheet_shows_each_sample_at_its_place():
    record = example_record(30, 3)
    shuffled = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    images = (
        (torch.arange(30) * 8).to(torch.uint8)[shuffled, None, None, None].expand(-1, 1, 8, 8).contiguous()
    )
    data = LabelledData(images, record.label[shuffled], index=shuffled)
    ax = report.plot_sample_sheet(record, data=data, samples=30)
    picture = np.asarray(ax.images[0].get_array())
    greys = picture[picture[..., 3] == 255][:, 0].reshape(-1)
    assert picture[10, 10, 0] == 0
    assert set(greys.tolist()) == set(range(0, 240, 8))
    first_row = [int(picture[10, 10 + 44 * place, 0]) for place in range(10)]
    assert first_row == list(range(0, 80, 8))


def test_runs_of_one_loss_differ_in_line_style_and_name(tmp_path):
    runs = [
        write_run(tmp_path / name, settings=SETTINGS | {"loss": loss})
        for name, loss in (("a", "ce"), ("b", "ce"), ("c", "mae"))
    ]
    lines = report.plot_test_accuracy(runs).get_lines()
    assert [line.get_label() for line in lines] == ["ce (a)", "ce (b)", "mae"]
    assert lines[0].get_color() == lines[1].get_color() != lines[2].get_color()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


@pytest.mark.parametrize("epochs", [1, 2, 4, 12, 300])
def test_epoch_ticks_are_integers(epochs, tmp_path):
    record = example_record(20, epochs)
    run = write_run(tmp_path / "run", record, metrics=metrics_of(record) if epochs > 4 else [])
    for plot in (report.plot_subset_accuracy, report.plot_emphasis_share):
        ticks = plot(run).get_xticks()
        assert len(ticks)
        assert all(tick == round(tick) for tick in ticks)


def test_legend_and_axis_of_many_runs_are_limited():
    ax = report.plot_memorised([example_record(20, 2)] * 60)
    assert len(ax.get_legend().get_texts()) == 12
    assert ax.get_legend().get_title().get_text() == "the first 12 of 60"
    assert len(report.plot_final_margins([example_record(20, 2)] * 60).get_yticks()) == 20


@pytest.mark.parametrize("epochs", [1, 10, 11])
def test_lines_of_few_points_have_markers(epochs, tmp_path):
    record = example_record(epochs=epochs)
    folder = write_run(tmp_path / "run", record)
    for name in ("plot_test_accuracy", "plot_subset_accuracy", "plot_class_accuracy", "plot_update_scale"):
        for line in draw(name, folder).lines:
            assert line.get_marker() == ("o" if epochs <= 10 else "None")
    axhline = report.plot_emphasis_share(folder).lines[1]
    assert axhline.get_marker() == "None"


def test_accuracy_figures_over_iterations(run):
    for name in ("plot_test_accuracy", "plot_subset_accuracy"):
        ax = draw(name, run, x="iteration")
        assert ax.get_xlabel() == "iteration"
        assert list(ax.lines[0].get_xdata()) == [line["step"] for line in run.metrics]


def test_tau_of_one_stage(run):
    for stage, epoch in ((1, 1), (2, 3), (3, 12)):
        ax = report.plot_tau(run, stage=stage)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"epoch {epoch}"]
