from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from noiseproof.data import LabelledData
from noiseproof.losses import curve, expected_margin, get
from noiseproof.papers import CURVE_FIGURES, draw
from noiseproof.papers.figures import analytic
from noiseproof.papers.figures.analytic import untrained_margins

LINES_PER_PANEL = {
    "gr.figure1": [6, 4, 4, 5],
    "gr.figure1a": [6],
    "gr.figure1b": [4, 4],
    "gr.figure1c": [5],
    "imae.figure1": [3],
    "imae.figure3": [5],
    "imae.figure5": [6],
    "curriculum.figure2": [6, 3],
    "curriculum.figure5": [5, 5, 4, 4, 4, 5, 5, 2],
    "curriculum.figure6": [3],
    "curriculum.figure7": [3],
    "curriculum.figure8": [6],
}


@pytest.fixture(autouse=True, scope="module")
def _agg_backend_without_data(tmp_path_factory):
    plt.switch_backend("agg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOISEPROOF_DATA", str(tmp_path_factory.mktemp("empty")))
        patch.setattr(analytic, "BATCH_SIZE", 16)
        yield
    drawn.cache_clear()
    plt.close("all")


@cache
def drawn(name: str) -> Figure:
    return draw(name)


def legend_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def maxima_of_lines(ax: Axes) -> list[float]:
    return [float(max(line.get_ydata())) for line in ax.lines]


def test_curve_figures_are_listed():
    assert set(CURVE_FIGURES) == set(LINES_PER_PANEL)


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVE_FIGURES)
def test_figure_has_its_panels_lines_and_legends(name):
    wanted = CURVE_FIGURES[name]
    figure = drawn(name)
    figure.canvas.draw()
    assert [len(ax.lines) for ax in figure.axes] == LINES_PER_PANEL[name]
    assert [ax.get_title() for ax in figure.axes] == list(wanted.panels)
    assert figure.get_suptitle() == wanted.title
    behind = len(wanted.classes)
    for ax in figure.axes:
        assert len(ax.collections) == behind
        assert len(legend_of(ax)) == len(ax.lines) + behind
        assert len(set(legend_of(ax))) == len(legend_of(ax))
        assert ax.get_xlabel() == {"p": "probability of the label, p", "margin": "margin Δ"}[wanted.x]
        assert ax.get_ylabel()


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVE_FIGURES)
def test_lines_are_finite_and_nonnegative(name):
    for ax in drawn(name).axes:
        for line in ax.lines:
            heights = np.asarray(line.get_ydata())
            assert np.isfinite(heights).all()
            assert (heights >= 0).all()


@pytest.mark.parametrize(
    ("name", "legend"),
    [
        (
            "gr.figure1a",
            [
                "ce",
                "mae",
                "gce(q=0.7)",
                "gr(beta=2.0, lam=0.0)",
                "gr(beta=8.0, lam=0.5)",
                "gr(beta=12.0, lam=1.0)",
            ],
        ),
        ("imae.figure1", ["ce", "mae", "imae(T=8.0)"]),
        ("imae.figure3", ["ce", "mae", "imae(T=2)", "imae(T=4)", "imae(T=8)"]),
        pytest.param(
            "curriculum.figure6",
            [
                f"{count} classes, {how}"
                for count, network in ((10, "cnn8"), (100, "resnet34"), (1000, "resnet34"))
                for how in ("simulated", f"untrained {network} on random pixels")
            ],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "curriculum.figure7",
            [
                "mae",
                "shift(mae, tau=2.6018)",
                "scale(mae, tau=2.6018)",
                "start, 100 classes,\nuntrained resnet34 on random pixels",
                "start, 10 classes,\nuntrained cnn8 on random pixels",
            ],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_legends_read_as_specs_and_class_counts(name, legend):
    assert legend_of(drawn(name).axes[0]) == legend


@pytest.mark.parametrize("name", [n for n, wanted in CURVE_FIGURES.items() if wanted.kind == "unit"])
def test_unit_figures_have_maximum_one_per_line(name):
    for ax in drawn(name).axes:
        assert maxima_of_lines(ax) == pytest.approx([1] * len(ax.lines), abs=1e-2)


@pytest.mark.parametrize("name", [n for n, wanted in CURVE_FIGURES.items() if wanted.kind == "weight"])
def test_maximum_of_weight_figures_is_twice_the_peak(name):
    wanted = CURVE_FIGURES[name]
    for specs, ax in zip(wanted.panels.values(), drawn(name).axes, strict=True):
        assert maxima_of_lines(ax) == pytest.approx([2 * curve(spec).peak for spec in specs], rel=1e-3)
        assert ax.get_ylabel() == "weight (L1 norm of the gradient)"


def test_gr_focus_depends_on_lambda():
    ax = drawn("gr.figure1c").axes[0]
    focus = [line.get_xdata()[line.get_ydata().argmax()] for line in ax.lines]
    settings = [get(spec).lam for spec in CURVE_FIGURES["gr.figure1c"].panels[""]]
    assert settings == sorted(set(settings))
    assert focus == pytest.approx([lam / (1 + lam) for lam in settings], abs=2e-3)


def test_loss_values_in_imae_figure3():
    ax = drawn("imae.figure3").axes[0]
    p = torch.as_tensor(np.asarray(ax.lines[0].get_xdata()))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), -p.log(), atol=1e-6)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 2 * (1 - p), atol=1e-6)
    imae = np.asarray(ax.lines[4].get_ydata())
    assert (np.diff(imae) < 0).all()
    assert imae[-1] < 1


@pytest.mark.slow
def test_initial_margin_densities_have_the_expected_mean():
    for line, classes in zip(drawn("curriculum.figure6").axes[0].lines, (10, 100, 1000), strict=True):
        margin, density = (np.asarray(values) for values in line.get_data())
        width = np.diff(margin).mean()
        assert density.sum() * width == pytest.approx(1, abs=1e-3)
        assert (margin * density).sum() * width == pytest.approx(expected_margin(classes), abs=0.05)


@pytest.mark.slow
def test_figure6_histograms_of_untrained_margins_are_densities():
    for filled, classes in zip(drawn("curriculum.figure6").axes[0].collections, (10, 100, 1000), strict=True):
        margins, _ = untrained_margins(classes)
        assert margins.shape == (16 * classes,)
        [path] = filled.get_paths()
        x, y = path.vertices[:-1].T
        area = 0.5 * abs(x @ np.roll(y, 1) - y @ np.roll(x, 1))
        assert area == pytest.approx(1, abs=1e-3)
        assert x.min() == pytest.approx(float(margins.min()), abs=1e-4)
        assert abs(float(margins.mean()) - expected_margin(classes)) < 1


def test_untrained_margins_use_real_images_if_available(monkeypatch):
    images = torch.randint(
        256, (200, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    monkeypatch.setattr(
        analytic, "load", {"cifar10": LabelledData(images, torch.arange(200) % 10)}.__getitem__
    )
    untrained_margins.cache_clear()
    margins, words = untrained_margins(10)
    assert words == "untrained cnn8 on cifar10"
    monkeypatch.undo()
    untrained_margins.cache_clear()
    others, words = untrained_margins(10)
    assert words == "untrained cnn8 on random pixels"
    assert not torch.equal(margins, others)


def test_shift_and_scale_have_equal_initial_emphasis_with_100_classes():
    lines = drawn("curriculum.figure7").axes[0].lines
    at_start = [np.interp(expected_margin(100), *line.get_data()) for line in lines]
    assert at_start[1] == pytest.approx(at_start[2], rel=1e-3)
    assert at_start[1] > 5 * at_start[0]


@pytest.mark.parametrize("name", ["", "nope", "gr.figure1d", "gr.table3", "GR.figure1a"])
def test_unknown_figure_error_lists_known_figures(name):
    before = plt.get_fignums()
    with pytest.raises(ValueError) as caught:
        draw(name)
    assert f"unknown figure {name!r}" in str(caught.value)
    assert all(known in str(caught.value) for known in CURVE_FIGURES)
    assert plt.get_fignums() == before


def test_drawing_does_not_change_the_global_generator():
    before = torch.get_rng_state()
    draw("curriculum.figure8")
    assert torch.equal(torch.get_rng_state(), before)
