"""The plan of a table: configs by their hash, each with the cells that use it."""

import pytest
import torch

from noiseproof import losses
from noiseproof.cli.papers_text import plan_to_markdown as to_markdown
from noiseproof.papers import get
from noiseproof.papers.cells import Runs
from noiseproof.papers.plan import BASELINE, FIRST, OWN, RELABELLED, Changes, config_hash, plan, scaled
from noiseproof.papers.results import CellResults, Result
from noiseproof.papers.tables import OTHER_READINGS
from noiseproof.train import Config


def roles(planned):
    return sorted(role for run in planned.values() for *_, role in run.cells)


def test_cells_share_runs():
    table = get("imae.table6").select(["ResNet-20 · CCE"], ["symmetric 0.4"])
    planned = plan(table)
    assert len(table.cells) == 5
    assert len(planned) == 3
    assert {run.config.seed for run in planned.values()} == {0, 1, 2}
    assert all(len(run.cells) == 5 for run in planned.values())


def test_tables_share_runs():
    first, second = plan(get("imae.table6")), plan(get("questions.saturation"))
    shared = set(first) & set(second)
    assert {first[key].config.loss for key in shared} == {
        'imae(T=0.5, normalize="none")',
        'imae(T=8.0, normalize="none")',
    }
    assert len(shared) == 9
    assert len(second) == 27


def test_difference_includes_its_baseline_runs():
    planned = plan(get("curriculum.table5").select(["MAE"], ["symmetric 0.4 · diff"]))
    assert roles(planned) == [BASELINE] * 5 + [OWN] * 5
    assert {run.config.noise for run in planned.values()} == {None, "symmetric(0.4)"}


def test_retrained_number_plans_two_runs_in_order():
    planned = plan(get("gr.table11").select(["GR"], ["symmetric 0.2 · retrained %"], seeds=1))
    (first, one), (second, two) = planned.items()
    assert (roles({0: one}), roles({0: two})) == ([FIRST], [RELABELLED])
    assert (two.relabel_of, second) == (first, f"{first}-relabelled")
    assert two.folder == f"{one.folder}-relabelled"


def test_config_hash_ignores_folder_and_device():
    assert config_hash(Config(loss="mae", out="somewhere", device="cuda")) == config_hash(Config(loss="mae"))
    assert config_hash(Config(loss="mae")) != config_hash(Config(loss="mae", seed=1))
    assert config_hash(Config(loss="mae")) != config_hash(Config(loss="ce"))


def test_fewer_epochs_scale_the_milestones():
    table = get("imae.table6").select(["ResNet-20 · CCE"], ["clean · final %"], seeds=1)
    [run] = plan(table, Changes(epochs=2, precision="bf16")).values()
    assert (run.config.epochs, run.config.iterations, run.config.precision) == (2, None, "bf16")
    factor = 2 / (100_000 / 391)
    moved = ",".join(str(round(time * factor)) for time in (32_000, 48_000))
    assert run.config.schedule == f"step(milestones='{moved}', by='iteration')"


def test_code_reading_of_sl_has_its_weight_decay_and_schedule():
    table = get("sl.table1:code").select(["*CE"], ["symmetric 0.4"], seeds=1)
    runs = [one.config for one in plan(table, Changes()).values() if one.config.loss == "ce"]
    found = {run.data: (run.weight_decay, run.schedule) for run in runs}
    assert found["mnist"] == (0.0, 'step(milestones="10,30", decay=0.0001)')
    assert found["cifar100"] == (0.02, 'step(milestones="80,120", decay=0.005)')
    assert "sl.table3:code" not in OTHER_READINGS  # Clothing1M is the same in both


def test_scaled_schedule_keeps_the_total_decay():
    assert scaled('every(period=5000, by="iteration")', 0.01) == "every(period=50, by='iteration')"
    assert scaled('step(milestones="10,30", decay=0.0001)', 0.1) == "step(milestones='1,3', decay=0.001)"


def test_scaled_method_begins_after_the_same_part_of_the_training():
    assert scaled("nal(lam=0.5, start=60, period=10)", 0.1, "method") == "nal(lam=0.5, start=6, period=1)"
    assert scaled("selc", 0.1, "method") == "selc(start=3)"
    assert scaled("d2l(start=10, window=5)", 0.1, "method") == "d2l(start=1, window=5)"
    assert scaled("self_paced(growth=0.02, warmup=6)", 0.5, "method") == "self_paced(growth=0.04, warmup=3)"
    assert scaled("forward(transition='symmetric(0.4)')", 0.1, "method").startswith("forward(")


def test_markdown_plan_names_every_cell_and_run():
    table = get("curriculum.table5").select(["CE", "MAE"], ["clean", "human 0.4"])
    words = to_markdown(table)
    for key in plan(table):
        assert f"| {key} |" in words
    assert words.count("| CE |") == 3
    assert "| CE | human 0.4 · diff | -28.51 | best of seeds 0-4, final, minus clean labels |" in words
    assert "6 cells, 20 runs." in words
    assert "Changed from the paper: epochs=3." in to_markdown(table, Changes(epochs=3))


def test_plan_of_a_table_without_runs_raises_an_error():
    with pytest.raises(ValueError, match=r"nal.table1 has no cell that can be run: a fact of a dataset"):
        to_markdown(get("nal.table1"))
    with pytest.raises(ValueError, match=r"imae.table7 .*see 'noiseproof papers compare'"):
        to_markdown(get("imae.table7").select(["IMAE*"]))


def test_select_by_name_part_and_pattern():
    table = get("sl.table1")
    assert table.select(["CE"]).rows == table.select(["* · CE"]).rows
    assert table.select(["mnist · 4-layer cnn · ce"], ["clean"]).rows == ["MNIST · 4-layer CNN · CE"]
    with pytest.raises(ValueError, match=r"sl.table1 has no row 'GCEE', did you mean 'GCE'"):
        table.select(["GCEE"])
    with pytest.raises(ValueError, match=r"sl.table1 has no column 'symmetric 0.5'"):
        table.select([], ["symmetric 0.5"])
    few = table.select(["CE"], seeds=2)
    assert {cell.filling.seeds for cell in few.cells if isinstance(cell.filling, Runs)} == {(0, 1)}


def test_unknown_row_error_lists_whole_row_names():
    with pytest.raises(ValueError, match="has no row 'GCEE'") as raised:
        get("sl.table1").select(["GCEE"])
    known = str(raised.value).partition("(known: ")[2].rstrip(")").split(", ")
    assert known == get("sl.table1").rows


def test_selected_seeds_begin_with_those_of_the_paper():
    table = get("imae.table3")
    assert set(plan(table.select(seeds=1))) == set(plan(table))
    assert {run.config.seed for run in plan(table.select(seeds=2)).values()} == {123, 124}


def test_name_of_a_figure_suggests_the_figure_command():
    with pytest.raises(ValueError, match=r"'noiseproof papers figure gr.figure4' draws it"):
        get("gr.figure4")


def test_e32_printed_reading_of_gr_follows_the_text():
    text, ours = get("gr.table3:printed"), get("gr.table3")
    assert [cell.printed for cell in text.cells] == [cell.printed for cell in ours.cells]
    for cell in text.cells:
        settings = cell.filling.settings
        assert settings["schedule"] == 'every(period=5000, by="iteration")'
        assert settings["iterations"] == 20_000
        if settings["loss"] != "ce":
            assert losses.get(settings["loss"]).normalize == "none"
    assert {cell.filling.settings["iterations"] for cell in ours.cells} == {100_000}


def test_e29_unit_reading_of_curriculum_follows_the_text():
    """Without the unit maximum a loss differs only by a factor, which acts like a learning rate."""
    unit, ours = get("curriculum.table5:unit"), get("curriculum.table5")
    margins = torch.linspace(-8, 8, 65, dtype=torch.float64)
    factors = {}
    for mine, theirs in zip(ours.cells, unit.cells, strict=True):
        assert mine.filling.settings["clip"] == 5.0
        assert "clip" not in theirs.filling.settings
        loss, reference = (losses.get(cell.filling.settings["loss"]) for cell in (mine, theirs))
        factors[mine.row.split(" · ")[0]] = factor = losses.curve(loss).peak
        torch.testing.assert_close(loss.emphasis(margins), factor * reference.emphasis(margins))
        if mine.filling.baseline:
            assert mine.filling.baseline["loss"] == mine.filling.settings["loss"]
    wanted = {"CE": 1, "SCE": 0.26, "GCE": 0.43, "MAE": 0.25, "AUL": 0.38, "AGCE": 11.2}
    assert factors == pytest.approx(wanted, abs=0.005)


def test_mae_without_unit_maximum_has_factor_one_half():
    specs = {
        cell.filling.settings["loss"]
        for cell in get("curriculum.table3").cells
        if isinstance(cell.filling, Runs)
    }
    assert {spec for spec in specs if "mae" in spec and not spec.startswith("0.5*")} == set()


def test_unknown_reading_raises_an_error():
    with pytest.raises(ValueError, match=r"gr\.table3:printed"):
        get("gr.table3:print")


def test_shortened_runs_replace_a_cell_without_its_own_run():
    """The baseline of full length alone is no result; with its own run of full length the cell uses both."""
    table = get("curriculum.table5").select(["GCE"], ["symmetric 0.2 · diff"], seeds=1)
    (cell,) = table.cells

    def results(changes, roles):
        runs = plan(table, changes)
        return {key: Result(key, 0, {}) for key, one in runs.items() if one.cells[0][3] in roles}

    short = Changes(epochs=20)
    shortened, baseline = results(short, ("run", "baseline")), results(Changes(), ("baseline",))
    found = CellResults(table, shortened | baseline, [short])
    assert found.short == {cell.place: short}
    assert {run.name for runs in found(cell).values() for run in runs} == set(shortened)
    assert CellResults(table, baseline, [short])(cell).keys() >= {"baseline"}
    whole = results(Changes(), ("run", "baseline"))
    assert CellResults(table, shortened | whole, [short]).short == {}
