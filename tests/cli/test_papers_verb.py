import json
import re

import pytest
from real_world_trees import TREES
from safetensors.torch import save_file

from noiseproof import models
from noiseproof.papers.tables import PRINTED, TABLES

NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.fixture
def run(shell, tmp_path, monkeypatch):
    """The smallest cell that runs on the digits of scikit-learn."""
    from dataclasses import replace

    from noiseproof.papers import tables

    quick = {"data": "digits", "model": "mlp(hidden=8)", "batch_size": 512, "epochs": 2}
    table = TABLES["sl.table1"].select(["MNIST · 4-layer CNN · CE", "MNIST · 4-layer CNN · SL"], ["clean"])
    cells = []
    for cell in table.cells:
        settings = quick | {"loss": cell.filling.settings["loss"]}
        cells.append(replace(cell, filling=replace(cell.filling, settings=settings)))
    monkeypatch.setitem(tables.TABLES, "sl.table1", replace(table, cells=tuple(cells)))

    def command(verb, *options):
        return shell("papers", verb, "sl.table1", "--out", tmp_path / "runs", *options)

    return command


def test_ls_lists_all_tables_and_counts_cells(shell):
    code, out, err = shell("papers", "ls")
    assert (code, err) == (0, "")
    assert all(f"│ {name} " in out for name in TABLES)
    [last] = [line for line in out.splitlines() if "all printed" in line]
    counts = [int(word) for word in last.split("│")[2:7] if word.strip()]
    assert counts[0] == sum(counts[1:]) == 1100
    found = json.loads(shell("papers", "ls", "--json")[1])
    assert [table["table"] for table in found] == list(TABLES)


def test_ls_does_not_need_torch():
    import subprocess
    import sys

    code = (
        "import sys; from noiseproof.papers.tables import TABLES; from noiseproof.cli import papers_text;"
        " [papers_text.blocks(t) for t in TABLES.values()]; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


@pytest.mark.parametrize("name", ["gr.table3", "imae.table3", "sl.table1", "nal.table2", "curriculum.table5"])
def test_show_prints_every_number(shell, name):
    code, out, _ = shell("papers", "show", name)
    assert code == 0
    table = PRINTED[name]
    printed = [cell.printed for cell in table.cells if isinstance(cell.printed, float)]
    on_screen = [float(number) for number in NUMBER.findall(out)]
    for value in set(printed):
        assert on_screen.count(value) >= printed.count(value), value
    for note in table.notes:
        assert f"- {note}" in out


def test_show_as_json_has_every_number(shell):
    found = json.loads(shell("papers", "show", "curriculum.table3", "--json")[1])
    assert [cell["printed"] for cell in found["cells"]] == [
        cell.printed for cell in PRINTED["curriculum.table3"].cells
    ]
    quoted = [cell for cell in found["cells"] if cell["state"] == "quoted"]
    assert len(quoted) == 16
    assert all("Zhou et al." in cell["source"] for cell in quoted)


def test_plan_trains_nothing(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = shell("papers", "plan", "gr.table8", "--rows", "GR", "--epochs", 3)
    assert code == 0
    assert out.startswith("## gr.table8: ")
    assert "Changed from the paper: epochs=3." in out
    assert not list(tmp_path.iterdir())


def test_run_and_compare_in_three_forms(run, tmp_path):
    md = tmp_path / "table.md"
    code, out, err = run("run", "--seeds", 1, "--epochs", 1, "--jobs", 1, "--md", md)
    assert code == 0, err
    assert "changed from the paper: epochs=1" in out
    _, told, _ = run("compare", "--json")
    cells = json.loads(told)["cells"]
    assert [cell["state"] for cell in cells] == ["1 of 5", "1 of 5"]
    assert [cell["pick"] for cell in cells] == ["mean", "mean"]
    assert out.count("1 of 5") == 2
    for cell in cells:
        shown = f"{cell['ours']:.3f}"
        assert cell["difference"] == pytest.approx(cell["ours"] - cell["printed"])
        assert shown in out
        assert f" {shown} |" in md.read_text()
    again = run("run", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    assert again[0] == 0
    assert again[2].splitlines()[0] == "2 of 2 runs are finished already"


def test_cells_not_run_are_counted_below_the_others(run):
    run("run", "--rows", "*SL", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    _, nothing, _ = run("compare", "--rows", "*CE")
    assert nothing.count("not run") == 1
    code, out, _ = run("compare")
    assert code == 0
    assert "and 1 cell not run ('noiseproof papers show sl.table1' prints all)" in out
    assert out.count("not run") == 1


def test_failed_run_exits_with_code_1_and_the_reason(run, monkeypatch):
    from dataclasses import replace

    from noiseproof.papers import tables

    table = tables.TABLES["sl.table1"]
    first, *rest = table.cells
    broken = replace(first.filling, settings={**first.filling.settings, "lr": 1e30, "momentum": 0.0})
    cells = (replace(first, filling=broken), *rest)
    monkeypatch.setitem(tables.TABLES, "sl.table1", replace(table, cells=cells))
    code, out, err = run("run", "--seeds", 1, "--epochs", 3, "--jobs", 1, "--quiet", "--json")
    assert code == 1
    assert [cell["state"] for cell in json.loads(out)["cells"]] == ["1 failed", "1 of 5"]
    reason, hint = err.splitlines()
    assert "NonFiniteError" in reason
    assert hint == "noiseproof: repeat the command to retry the failed runs"


def test_damaged_run_is_reported_in_one_line(run, tmp_path):
    assert run("run", "--seeds", 1, "--epochs", 1, "--jobs", 1)[0] == 0
    folder = sorted((tmp_path / "runs").glob("runs/*/result.json"))[0].parent
    for name, content in {
        "config.json": b'{"a":' * 100_000,
        "result.json": b'{"final_test_accuracy": "\x1b[31mhigh"}',
        "metrics.jsonl": b'{"epoch": "x"}\n',
    }.items():
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        _, _, err = run("compare")
        assert "Traceback" not in err
        assert "\x1b" not in err
        if name != "metrics.jsonl":  # this table reads none
            assert err.count("\n") == 1
            assert str(folder / name) in err
            assert "remove the folder to train it again" in err
        (folder / name).write_bytes(before)


def test_damaged_run_is_reported_with_the_table(run, tmp_path):
    assert run("run", "--seeds", 1, "--epochs", 1, "--jobs", 1)[0] == 0
    result = sorted((tmp_path / "runs").glob("runs/*/result.json"))[0]
    result.write_text("")
    code, out, err = run("compare")
    assert code == 0
    assert (out.count("1 failed"), out.count("1 of 5")) == (1, 1)
    assert f"cannot read {result}" in err
    assert "remove the folder to train it again" in err


def test_comparison_is_printed_even_if_the_file_cannot_be_written(run, tmp_path, monkeypatch):
    from noiseproof import atomic

    def full(path, text):
        raise OSError(28, "No space left on device")

    run("run", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    monkeypatch.setattr(atomic, "write_text", full)
    code, out, err = run("compare", "--md", tmp_path / "table.md")
    assert (code, out.count("1 of 5")) == (1, 2)
    assert "No space left" in err


def test_compare_explains_marked_numbers(shell):
    code, out, _ = shell("papers", "compare", "imae.table7")
    assert code == 0
    assert "0.001604 *" in out
    assert "* IMAE · T=0, IMAE · T=0.5, " in out
    assert shell("papers", "show", "imae.table7")[1].count("not printed: ") == 2


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["show", "gr.table99"], "unknown table 'gr.table99'"),
        (["show", "gr.table3", "--rows", "XX"], "gr.table3 has no row 'XX'"),
        (["run", "nal.table1"], "nal.table1 has no cell that can be run: a fact of a dataset"),
        (["plan", "nal.table1"], "nal.table1 has no cell that can be run"),
        (["run", "curriculum.table3", "--rows", "CE"], "can be run: quoted from Zhou et al. 2021b (ALF)"),
        (["show", "gr.figure4"], "'noiseproof papers figure gr.figure4' draws it"),
        (["run", "gr.figure4"], "'noiseproof papers figure gr.figure4' draws it"),
        (["run", "gr.table8", "--md", "no/a.md"], "cannot write no/a.md: No such file or directory; create"),
        (["run", "gr.table8", "--md", "."], "it is a folder, choose another name"),
        (["compare", "imae.table7", "--md", "no/a.md"], "cannot write no/a.md"),
        (["compare", "gr.table3", "--out", "no"], "there are no runs in no: give the folder of your runs"),
        (["compare", "gr.table3"], "'noiseproof papers run gr.table3 --out runs/papers'"),
        (["run", "gr.table8", "--engine", "slurm", "--epochs", "1"], "unknown engine 'slurm'"),
        (["figure", "gr.figure99"], "unknown figure 'gr.figure99'"),
        (["figure", "gr.figure2"], "to train them: noiseproof papers run gr.table3"),
        (["figure", "gr.figure1a", "--out", "a.html"], "cannot write a.html: use one of .png, .pdf, .svg"),
        (["figure", "sl.figure1", "nowhere"], "nowhere"),
    ],
)
def test_errors_are_reported_in_one_line(shell, words, part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = shell("papers", *words)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert part in err


def test_figure_draws_a_formula(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = shell("papers", "figure", "imae.figure1")
    assert (code, out) == (0, "wrote imae.figure1.png\n")
    assert (tmp_path / "imae.figure1.png").read_bytes().startswith(b"\x89PNG")
    listed = shell("papers", "figure")[1]
    assert "imae.figure1 " in listed
    assert "nal.figure11" in listed


def test_figure_draws_runs(shell, run, tmp_path):
    assert run("run", "--seeds", 1, "--jobs", 1, "--quiet")[0] == 0
    folders = sorted((tmp_path / "runs" / "runs").iterdir())
    code, _, err = shell("papers", "figure", "sl.figure1", *folders, "--out", tmp_path / "figure.svg")
    assert code == 0, err
    assert (tmp_path / "figure.svg").read_text().count("<svg") == 1


def test_missing_data_error_has_instructions(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    for name, needed in (
        ("gr.table6", ("clothing1m", "resnet50.safetensors")),
        ("curriculum.table4", ("webvision",)),
    ):
        out = tmp_path / "out"
        code, _, err = shell("papers", "run", name, "--root", tmp_path / "mine", "--out", out)
        assert (code, err.count("\n"), out.exists()) == (2, 1, False)
        assert all(f"put it into DIR/{one}, with --root DIR" in err for one in needed)
        assert str(tmp_path / "mine") in err


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_table_with_imagenet_weights_runs(shell, tmp_path, monkeypatch):
    TREES["clothing1m"](tmp_path / "clothing1m")
    monkeypatch.setenv("NOISEPROOF_DATA", "nowhere")  # restored after the test, as --root changes it
    made = models.get('resnet50(stem="imagenet")', num_classes=1000, seed=1).state_dict()
    tensors = {name.replace("body.", "").replace("head.", "fc."): value for name, value in made.items()}
    save_file(tensors, tmp_path / "resnet50.safetensors")
    cut = ["--samples", 14, "--epochs", 1, "--seeds", 1, "--rows", "GR"]
    where = ["--root", tmp_path, "--out", tmp_path / "out", "--jobs", 1]
    code, out, err = shell("papers", "run", "gr.table6", *cut, *where, "--json")
    assert (code, json.loads(out)["changes"]) == (0, "epochs=1, samples=14")
    assert "318 of 320 tensors loaded" in err
