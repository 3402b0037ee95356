"""Every number of the papers is in a cell, with the notes of the paper on it."""

import json
from importlib.resources import files

import pytest

from noiseproof.cli.papers_text import blocks
from noiseproof.losses import MarginLoss
from noiseproof.losses import get as get_loss
from noiseproof.papers import describe
from noiseproof.papers.cells import BEST, Computed, Quoted, Runs, Stated
from noiseproof.papers.results import NUMBERS
from noiseproof.papers.table_builder import PAPERS
from noiseproof.papers.tables import PRINTED, TABLES
from noiseproof.train import Config


def raw_records():
    """The content of the files, read without the code of the package."""
    for paper in PAPERS:
        content = json.loads((files("noiseproof.papers") / "printed" / f"{paper}.json").read_text("utf-8"))
        for table, records in content["records"].items():
            yield f"{paper}.{table}", records


def cells_and_records():
    for name, records in raw_records():
        yield from zip(PRINTED[name].cells, records, strict=True)


def runnable():
    return [(name, cell) for name, table in TABLES.items() for cell in table.cells if cell.state == "runs"]


def test_tables_hold_1093_printed_and_7_computed_numbers():
    """The body of IMAE Table 7 is missing in the text: its numbers are computed."""
    counts = {name: len(records) for name, records in raw_records()}
    assert sum(counts.values()) == 1100
    ours = [cell for cell in PRINTED["imae.table7"].cells if cell.note.startswith("not printed")]
    assert len(ours) == 7
    assert sum(len(table.cells) for table in PRINTED.values()) == 1100
    assert {name for name, _ in raw_records()} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_numbers_are_shown_in_their_row_and_column(name):
    records = dict(raw_records())[name]
    shown = describe.table_to_dict(PRINTED[name])["cells"]
    assert [(cell["printed"], cell["std"], cell["metric"]) for cell in shown] == [
        (record["value"], record.get("std"), record["metric"]) for record in records
    ]
    for cell, record in zip(shown, records, strict=True):
        noise = record.get("noise", "")
        assert record.get("method", "") in cell["row"]
        assert noise in ("", "real-world") or noise in cell["column"]
        assert not record.get("rate") or noise == "real-world" or f"{record['rate']:g}" in cell["column"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_blocks_contain_every_cell_once(width):
    for table in TABLES.values():
        found = [
            (line[0], column)
            for block in blocks(table, width)
            for line in block.rows
            for column, text in zip(block.columns, line[1:], strict=True)
            if text
        ]
        assert sorted(found) == sorted((cell.row, cell.column) for cell in table.cells)


def test_quoted_numbers_are_marked_and_have_no_runs():
    quoted = [(cell, record) for cell, record in cells_and_records() if record.get("quoted_from")]
    assert len(quoted) > 50
    for cell, record in quoted:
        assert isinstance(cell.filling, (Quoted, Stated)), cell
        if isinstance(cell.filling, Quoted):
            assert cell.filling.source == record["quoted_from"]
    marked = [text for block in blocks(PRINTED["gr.table5"]) for row in block.rows for text in row]
    assert sum("‡" in text for text in marked) == PRINTED["gr.table5"].counts["quoted"] == 21


def test_best_of_five_cells_have_five_seeds():
    best = [cell for cell, record in cells_and_records() if record.get("best_of") == 5]
    assert len(best) == 66
    for cell in best:
        assert isinstance(cell.filling, Runs)
        assert cell.filling.pick == BEST
        assert len(cell.filling.seeds) == 5
        assert (cell.filling.baseline is not None) == cell.metric.startswith("diff")
    others = [cell for _, cell in runnable() if cell not in best]
    assert all(cell.filling.pick != BEST for cell in others)


def test_number_of_seeds_equals_the_number_of_the_paper():
    for cell, record in cells_and_records():
        if isinstance(cell.filling, Runs) and record.get("runs"):
            assert len(cell.filling.seeds) == record["runs"], cell


def test_curriculum_losses_have_clipped_gradients_and_no_unit_maximum():
    settings = [cell.filling.settings for name, cell in runnable() if name.startswith("curriculum.table")]
    specs = {one["loss"] for one in settings}
    assert {spec for spec in specs if not isinstance(get_loss(spec), MarginLoss)} == {
        "nce",
        "0.7*nce + 0.15*mae",
    }
    assert not any("unit_max" in spec for spec in specs)
    assert {one["clip"] for one in settings} == {5.0}


def test_loss_has_the_hyperparameters_of_its_row():
    cell = PRINTED["curriculum.table3"].cell("MAE scale", "symmetric 0.4")
    assert cell.filling.settings["loss"] == "0.5*scale(mae, tau=2.6, initial_margin=5.097)"
    cell = PRINTED["gr.table5"].cell("GR · β=6, λ=0.4, tuned", "symmetric 0.4")
    assert cell.filling.settings["loss"] == 'gr(beta=6.0, lam=0.4, normalize="batch")'
    cell = PRINTED["sl.table1"].cell("CIFAR-10 · 8-layer CNN · SL", "asymmetric 0.4")
    assert cell.filling.settings["loss"] == "sl(alpha=0.1, beta=5.0, A=-4.0)"


def test_settings_of_every_run_are_a_valid_config():
    settings = {json.dumps(cell.filling.settings, sort_keys=True) for _, cell in runnable()}
    settings |= {
        json.dumps(cell.filling.baseline, sort_keys=True) for _, cell in runnable() if cell.filling.baseline
    }
    assert len(settings) > 300
    for words in settings:
        Config(**json.loads(words), seed=0)


def test_every_runnable_metric_can_be_read_from_a_run():
    for name, cell in runnable():
        assert cell.unit.number in NUMBERS, (name, cell)


def test_cells_without_training_are_computed():
    from noiseproof.papers.comparing import computed

    found = [cell for cell, _ in cells_and_records() if isinstance(cell.filling, Computed)]
    assert len(found) == 12
    spreads = {
        cell.filling.of: (cell.printed, computed(cell.filling)) for cell in found if cell.metric != "x"
    }
    assert spreads["imae(T=8)"][1] == pytest.approx(4.546, abs=1e-3)
    assert spreads["ce"] == pytest.approx((0.33, 1 / 3), abs=4e-3)
    assert spreads["100"][1] == pytest.approx(5.0864, abs=1e-4)


def test_runnable_tables_have_notes_on_chosen_settings():
    for name, table in TABLES.items():
        if table.counts["runs"]:
            assert table.notes, name
    notes = "\n".join(note for table in TABLES.values() for note in table.notes)
    assert notes.count("hosen") > 10
