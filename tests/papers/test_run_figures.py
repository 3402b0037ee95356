"""Figures that plot runs: given ones, or those of a table."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from small_runs import SETTINGS, write_run

from noiseproof.atomic import write_tensors
from noiseproof.dynamics.run_folder import OUTPUTS
from noiseproof.losses import get as get_loss
from noiseproof.losses import margin
from noiseproof.papers import FIGURES, RUN_FIGURES, draw, get, run, tables
from noiseproof.papers.figures import WHOLE_FIGURES
from noiseproof.papers.figures.analytic import bound_of_weight
from noiseproof.papers.figures.run_curves import plot_relative_update_scales, plot_train_accuracy
from noiseproof.papers.plan import plan
from noiseproof.report import NotAvailableError
from noiseproof.report.evidence import Evidence
from noiseproof.testing import example_record

FIGURES_PER_PAPER = {"gr": 10, "imae": 10, "sl": 9, "nal": 13, "curriculum": 10}
"""Number of figures of each paper."""


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    runs = []
    for number, loss in enumerate(("gr(beta=8, lam=0.5)", "gr(beta=12, lam=1)")):
        settings = {**SETTINGS, "loss": loss, "noise": f"symmetric(0.{number + 3})"}
        record = example_record(classes=5, seed=number)
        tau = torch.rand(record.epochs, len(record), generator=torch.Generator().manual_seed(number))
        run = write_run(home / str(number), replace(record, extra={"tau": tau}), settings=settings)
        learned = {"target": torch.nn.functional.one_hot(record.clean_label, 5).half()}
        write_tensors(run.folder / OUTPUTS, run.outputs | learned)
        runs.append(home / str(number))
    return runs


def axes_with_content(figure):
    return [ax for ax in figure.axes if ax.lines or ax.patches or ax.collections or ax.images]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN_FIGURES)
def test_figure_is_drawn_from_given_runs(name, two_runs, tmp_path):
    wanted = RUN_FIGURES[name]
    figure = draw(name, two_runs)
    assert isinstance(figure, Figure)
    groups = 2 if wanted.each or wanted.by else 1
    assert len(axes_with_content(figure)) == len(wanted.plots) * groups
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_run_names_contain_differing_settings():
    from noiseproof.report.evidence import names_of

    def of(**changes):
        run = Evidence(example_record())
        run.settings = {"data": "cifar10", "noise": "symmetric(0.4)", "loss": "ce", **changes}
        return run

    both = [of(model="resnet20"), of(model="resnet56", loss="mae")]
    assert names_of(both) == ["ce, model=resnet20", "mae, model=resnet56"]
    same = [of(model="resnet20"), of(model="resnet20", noise=None, exact_noise=False)]
    assert names_of(same) == ["ce, noise=symmetric(0.4)", "ce, exact_noise=False"]
    assert names_of([of(lr=0.1), of(lr=0.2), of(lr=0.2)]) == [
        "ce, lr=0.1",
        "ce, lr=0.2 (record)",
        "ce, lr=0.2 (record) (run 3)",
    ]


def test_unusable_runs_raise_an_error(two_runs):
    with pytest.raises(NotAvailableError, match="tau was not recorded"):
        draw("nal.figure11", [example_record()])
    with pytest.raises(ValueError, match="needs the folder of at least one run"):
        RUN_FIGURES["sl.figure1"].draw([])
    with pytest.raises(ValueError, match=r"gr.figure1a is drawn from a formula and takes no runs"):
        draw("gr.figure1a", two_runs)


def test_every_figure_of_the_papers_has_a_name():
    for paper, count in FIGURES_PER_PAPER.items():
        numbers = {f"{paper}.figure{number}" for number in range(1, count + 1)}
        assert numbers <= set(FIGURES)
        assert {name.rstrip("abc") for name in FIGURES if name.startswith(f"{paper}.")} == numbers


def test_diagrams_raise_an_error():
    with pytest.raises(ValueError, match=r"^imae.figure2 is not drawn. A diagram of the pipeline"):
        draw("imae.figure2")


@pytest.fixture
def train_suggested_runs(tmp_path, two_runs):
    """Copy known runs to the folders of the runs that suggested commands would train."""

    def train(commands):
        for command in commands:
            *_, table, options = command.split(maxsplit=4)[1:]
            words = shlex.split(options)
            given = list(zip(words[::2], words[1::2], strict=True))
            assert given[-2:] == [("--seeds", "1"), ("--out", str(tmp_path))]
            rows, columns = ([v for k, v in given if k == f"--{what}"] for what in ("rows", "columns"))
            planned = plan(get(table).select(rows, columns, 1))
            for number, one in enumerate(planned.values()):
                place = tmp_path / one.folder
                if not place.is_dir():
                    shutil.copytree(two_runs[number % 2], place)
                    (place / "config.json").write_text(json.dumps(one.config.to_dict()))

    return train


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RUN_FIGURES, *WHOLE_FIGURES])
def test_suggested_commands_train_all_runs_of_a_figure(name, train_suggested_runs, tmp_path):
    with pytest.raises(ValueError, match=r"to train them: ") as caught:
        draw(name, out=tmp_path)
    train_suggested_runs(str(caught.value).partition("to train them: ")[2].split("; "))
    wanted = RUN_FIGURES.get(name) or WHOLE_FIGURES[name]
    assert wanted.runs(tmp_path)


@pytest.mark.parametrize("name", WHOLE_FIGURES)
def test_figure_with_parts_draws_them_side_by_side(name, train_suggested_runs, tmp_path, two_runs):
    whole = WHOLE_FIGURES[name]
    assert [part.removeprefix(name) for part in whole.parts] in (["a", "b"], ["a", "b", "c"])
    train_suggested_runs(
        [selection.command(tmp_path) for part in whole.parts.values() for selection in part.of]
    )
    figure = draw(name, out=tmp_path)
    titles = [place.get_suptitle() for place in figure.subfigs]
    assert titles == [part.title for part in whole.parts.values()]
    assert len(axes_with_content(figure)) == len(titles)
    with pytest.raises(ValueError, match=f"draw {' or '.join(whole.parts)}"):
        draw(name, two_runs)


def test_command_contains_out_unless_it_is_the_default():
    selection = RUN_FIGURES["sl.figure9b"].of[0]
    assert selection.command() == selection.command(Path("runs/papers"))
    assert "--out" not in selection.command()
    assert selection.command(Path("my runs")).endswith(" --seeds 1 --out 'my runs'")


def test_figures_select_runnable_cells():
    for name, wanted in RUN_FIGURES.items():
        for selection in wanted.of:
            cells = get(selection.table).select(selection.rows, selection.columns).cells
            assert any(cell.state == "runs" for cell in cells), (name, selection)


def test_figure_reads_the_runs_of_its_table(tmp_path, monkeypatch):
    table = get("imae.figures").select(["T=4", "T=8", "T=16"], ["symmetric 0.4"])
    with pytest.raises(ValueError) as caught:
        draw("imae.figure8", out=tmp_path)
    command = "noiseproof papers run imae.figures --rows 'T=4' --rows 'T=8' --rows 'T=16'"
    assert f"{command} --columns 'symmetric 0.4' --seeds 1" in str(caught.value)
    quick = on_digits(table)
    monkeypatch.setitem(tables.TABLES, "imae.figures", quick)
    run(quick, out=tmp_path, jobs=1)
    [ax] = axes_with_content(draw("imae.figure8", out=tmp_path))
    assert len(ax.lines) == 3
    assert ax.get_ylabel() == "accuracy against true labels"


def on_digits(table):
    """The same cells with a small network and small data."""
    quick = {"data": "digits", "model": "mlp(hidden=8)", "batch_size": 512, "epochs": 1}
    cells = []
    for cell in table.cells:
        kept = {name: cell.filling.settings[name] for name in ("loss", "noise")}
        cells.append(replace(cell, filling=replace(cell.filling, settings=quick | kept)))
    return replace(table, cells=tuple(cells))


def test_train_accuracy_is_the_share_predicted_as_labelled():
    record = example_record()
    [line] = plot_train_accuracy([record]).lines
    wanted = [float((now.long() == record.label)[now >= 0].double().mean()) for now in record.prediction]
    assert list(line.get_ydata()) == pytest.approx(wanted)


def test_relative_update_scales_have_maximum_one(two_runs):
    for line in plot_relative_update_scales(two_runs).lines:
        assert max(line.get_ydata()) == 1


def test_class_accuracy_at_three_stages_equals_the_metrics(two_runs):
    from noiseproof.dynamics import RunFolder
    from noiseproof.papers.figures.run_curves import plot_class_accuracy_at_stages

    lines = plot_class_accuracy_at_stages(two_runs[0]).lines
    metrics = RunFolder(two_runs[0]).metrics
    assert [line.get_label() for line in lines] == ["epoch 1", "epoch 5", "epoch 10"]
    wanted = [value for value in metrics[4]["test_class_accuracy"] if value is not None]
    assert list(lines[1].get_ydata()) == pytest.approx(wanted)


BY_STEPS = {"gr.figure2", "gr.figure6", "curriculum.figure1a", "curriculum.figure1b"}
BY_STEPS |= {f"imae.figure{number}" for number in (4, 6, 7, 8, 10)}


OVER_EPOCHS = {"gr.figure7", "sl.figure2", "nal.figure3", "curriculum.figure4a"}
"""Figures over epochs that are drawn in every run of the tests, the others in ``make test-all``."""


@pytest.mark.parametrize(
    "name",
    [
        name if name in BY_STEPS | OVER_EPOCHS else pytest.param(name, marks=pytest.mark.slow)
        for name in RUN_FIGURES
    ],
)
def test_x_axis_is_that_of_the_paper(name, two_runs):
    for ax in axes_with_content(draw(name, two_runs)):
        assert (ax.get_xlabel() == "iteration") == (name in BY_STEPS)
        for line in ax.lines if name in BY_STEPS else ():
            assert list(line.get_xdata()) == list(range(10, 130, 10))


def test_iterations_need_metrics():
    with pytest.raises(
        NotAvailableError, match="record does not say how many steps it had done after epoch 1"
    ):
        plot_train_accuracy([example_record()], x="iteration")
    with pytest.raises(ValueError, match="x='batch' is unknown, choose 'epoch' or 'iteration'"):
        plot_train_accuracy([example_record()], x="batch")


def test_runs_of_several_seeds_are_one_curve(two_runs, tmp_path):
    for seed in (0, 1):
        shutil.copytree(two_runs[0], tmp_path / str(seed))
        settings = {**SETTINGS, "loss": "ce", "seed": seed}
        (tmp_path / str(seed) / "config.json").write_text(json.dumps(settings))
    [line] = plot_train_accuracy([tmp_path / "0", tmp_path / "1"]).lines
    assert line.get_label() == "ce"


@pytest.mark.parametrize("name", ["curriculum.figure3", "curriculum.figure9", "curriculum.figure10"])
def test_ridges_show_the_colours_of_the_paper_and_the_accuracy(name, two_runs):
    ax = axes_with_content(draw(name, two_runs))[0]
    hills = {line.get_label(): line.get_color() for line in ax.lines if not line.get_label().startswith("_")}
    assert (hills["right labels"], hills["wrong labels"]) == ("#E69F00", "#009E73")
    assert ax.get_title("left").endswith("\ntest accuracy 80.0%")


def test_bound_of_nce_is_above_every_gradient():
    generator = torch.Generator().manual_seed(0)
    for classes, scale in ((3, 1.0), (10, 3.0), (100, 0.3)):
        logits = scale * torch.randn(500, classes, dtype=torch.float64, generator=generator)
        target = torch.arange(500) % classes
        leaf = logits.requires_grad_()
        (gradient,) = torch.autograd.grad(get_loss("nce", reduction="sum")(leaf, target), leaf)
        bound = bound_of_weight(margin(logits.detach(), target), classes)
        assert (gradient.abs().sum(1) <= bound * (1 + 1e-9)).all()
        assert (gradient.abs().sum(1) > 0.2 * bound).any()


def test_curriculum_figure1a_shows_the_bound_of_nce(two_runs, tmp_path):
    shutil.copytree(two_runs[0], tmp_path / "nce")
    (tmp_path / "nce" / "config.json").write_text(
        json.dumps({**SETTINGS, "loss": "nce", "noise": "symmetric(0.4)"})
    )
    [ax] = axes_with_content(draw("curriculum.figure1a", [two_runs[1], tmp_path / "nce"]))
    assert [line.get_label() for line in ax.lines][1:] == ["nce", "nce, bound of its weight"]
    record = Evidence(tmp_path / "nce").record
    means = [float(bound_of_weight(now.double(), record.num_classes).mean()) for now in record.margin]
    so_far = np.cumsum(means) / np.arange(1, len(means) + 1)
    assert list(ax.lines[2].get_ydata()) == pytest.approx(list(so_far / so_far.max()))
