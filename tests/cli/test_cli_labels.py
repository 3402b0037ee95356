"""``noiseproof labels find`` on generated run folders."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from noiseproof import labels
from noiseproof.cli.labels import app
from noiseproof.dynamics.record import save_epoch, save_samples

SAMPLES, EPOCHS = 60, 8


def write_run(folder: Path, names=("cat", "dog", "[red]bird[/red]"), doubted=9):
    """A run of 60 samples; the first ``doubted`` are predicted as the next class at every epoch."""
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(SAMPLES) % len(names)
    wrong = torch.arange(SAMPLES) < doubted
    (folder / "record").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    save_samples(folder / "record", torch.arange(SAMPLES) + 1000, label, None, tuple(names))
    for epoch in range(1, EPOCHS + 1):
        margin = torch.where(wrong, -4.0, 4.0) + torch.randn(SAMPLES, generator=generator)
        prediction = torch.where(margin < 0, (label + 1) % len(names), label).int()
        save_epoch(folder / "record", epoch, {"margin": margin.half(), "prediction": prediction})
    return folder


def run(*words, code=0):
    result = CliRunner().invoke(app, ["find", *map(str, words)], env={"COLUMNS": "120", "NO_COLOR": "1"})
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def test_worst_suspects_are_shown_with_the_noise_rate(tmp_path):
    shown = run(write_run(tmp_path / "a"), "--top", 4).stdout
    assert "9 of 60 labels" in shown
    assert "15.0% of all labels" in shown.replace("\n", " ")
    assert "The 4 least trusted" in shown
    numbers = re.findall(r"│ +(10\d\d) │", shown)
    assert len(numbers) == 4
    assert set(numbers) <= {str(number) for number in range(1000, 1009)}
    assert "[red]bird[/red]" in shown


def test_spaces_at_the_ends_of_class_names_are_visible(tmp_path):
    shown = run(write_run(tmp_path / "a", names=("cat", "cat ", "dog"))).stdout
    assert len(re.findall(r"│ cat +│ 'cat ' +│", shown)) == 3
    assert re.search(r"│ 'cat ' +│ +3 │", shown)


def test_json_output_is_valid_and_complete(tmp_path):
    folder, out = write_run(tmp_path / "a"), tmp_path / "s.csv"
    facts = json.loads(run(folder, "--json", "--top", 3, "--out", out).stdout)
    found = labels.find(folder)
    assert (facts["samples"], facts["suspects"]) == (60, 9)
    assert facts["noise_rate"] == found.attrs["noise_rate"] == pytest.approx(0.15)
    assert facts["transition"] == found.attrs["transition"]
    worst = found.nsmallest(3, "label_score")
    assert [row["index"] for row in facts["worst"]] == worst["index"].tolist()
    assert facts["worst"][0]["predicted_label"] == (facts["worst"][0]["given_label"] + 1) % 3
    assert len(pd.read_csv(out)) == 9


def test_file_contains_suspects_or_all_samples(tmp_path):
    folder = write_run(tmp_path / "a", names=("=1+1", "@x", "dog"))
    run(folder, "--out", tmp_path / "s.csv", "--top", 0)
    suspects = pd.read_csv(tmp_path / "s.csv")
    assert sorted(suspects["index"]) == list(range(1000, 1009))
    assert suspects.label_score.is_monotonic_increasing
    assert set(suspects.given_name) == {"'=1+1", "'@x", "dog"}
    run(folder, "--out", tmp_path / "all.csv", "--all")
    assert len(pd.read_csv(tmp_path / "all.csv")) == 60


def write_probabilities(path, names=("cat", "dog", "[red]bird[/red]")):
    """Out-of-sample probabilities that agree with every label except that of sample 1050."""
    rows = {"index": range(1059, 999, -1)}
    label = [(number - 1000) % 3 for number in rows["index"]]
    for k, name in enumerate(names):
        doubted = [
            (given == k) != (number == 1050) for number, given in zip(rows["index"], label, strict=True)
        ]
        rows[f"probability_{name}"] = [0.9 if mine else 0.05 for mine in doubted]
    table = pd.DataFrame(rows)
    columns = [f"probability_{name}" for name in names]
    table[columns] = table[columns].div(table[columns].sum(axis=1), axis=0)
    table.to_csv(path, index=False)


def test_probabilities_from_a_file_are_used(tmp_path):
    folder = write_run(tmp_path / "a")
    write_probabilities(tmp_path / "p.csv")
    alone = json.loads(run(folder, "--json", "--out", tmp_path / "a.csv", "--all").stdout)
    both = json.loads(
        run(
            folder, "--json", "--out", tmp_path / "b.csv", "--all", "--probabilities", tmp_path / "p.csv"
        ).stdout
    )
    assert alone["suspects"] == 9
    assert both["suspects"] in (9, 10), "the file contradicts one more label"
    score = [pd.read_csv(tmp_path / f"{name}.csv").set_index("index").label_score for name in "ab"]
    place = [list(each[each.index >= 1009].sort_values().index).index(1050) for each in score]
    assert place[1] == 0 < place[0]


@pytest.mark.slow
def test_file_is_written_even_if_stdout_is_closed(tmp_path):
    folder, out = write_run(tmp_path / "a"), tmp_path / "s.csv"
    code = "import sys; from noiseproof.cli.labels import app; sys.stdout.close(); app()"
    words = ["find", str(folder), "--out", str(out)]
    ended = subprocess.run([sys.executable, "-c", code, *words], capture_output=True)  # noqa: S603
    assert ended.returncode != 0
    assert len(pd.read_csv(out)) == 9


def test_output_without_suspects(tmp_path):
    shown = run(write_run(tmp_path / "a", doubted=0)).stdout
    assert "0 of 60 labels" in shown
    assert "least trusted" not in shown


def test_control_characters_of_class_names_are_not_printed(tmp_path):
    folder = write_run(tmp_path / "a", names=("\x1b[2Jcat", "do\rg", "b\u202eird"))
    for words in ([], ["--json"]):
        shown = run(folder, *words).stdout
        assert not set("\x1b\r\u202e") & set(shown)


def test_table_of_many_classes_is_truncated(tmp_path):
    shown = run(write_run(tmp_path / "a", names=tuple(f"n{k}" for k in range(20)))).stdout
    assert "(8 of 20 classes)" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "is not a run folder"),
        (["{run}/record"], "record is not a run folder: it does not contain config.json"),
        (["{empty}"], "does not contain a record: samples.safetensors is missing"),
        (["{run}", "--out", "{run}/a.xlsx"], "must end in .csv or .parquet"),
        (["{run}", "--all"], "--all needs a file: give one with --out"),
        (["{run}", "--probabilities", "{run}/none.csv"], "No such file or directory"),
    ],
)
def test_errors_are_reported_in_one_line(words, message, tmp_path):
    folder = write_run(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}")
    words = [word.format(run=folder, empty=tmp_path / "empty") for word in words]
    code = "import sys; from noiseproof.cli import main, labels; "
    code += "main.app.registered_groups[:] = []; main.app.add_typer(labels.app); main.main()"
    command = [sys.executable, "-c", code, "labels", "find", *words]
    ended = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_importing_the_command_does_not_import_torch():
    code = (
        "import sys, noiseproof.cli.labels; assert not {'torch', 'pandas', 'rich.table'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_names_are_printed_unchanged(tmp_path):
    shown = run(write_run(tmp_path / "a", names=("=1+1", "@x", "dog"))).stdout
    assert "=1+1" in shown
    assert "'=1+1" not in shown
    assert "'@x" not in shown


def test_weak_evidence_is_reported(tmp_path):
    folder = write_run(tmp_path / "a")
    assert "Weak evidence" not in run(folder).stdout
    weak = write_run(tmp_path / "b")
    for epoch in range(1, EPOCHS + 1):
        label = torch.arange(SAMPLES) % 3
        prediction = torch.where(torch.arange(SAMPLES) < 36, (label + 1) % 3, label).int()
        columns = {"margin": torch.full((SAMPLES,), -0.4).half(), "prediction": prediction}
        save_epoch(weak / "record", epoch, columns)
    shown = run(weak).stdout.replace("\n", " ")
    assert "0 of 60 labels" in shown
    assert "probably wrong" not in shown
    assert "Weak evidence. The record of this network is not reliable evidence" in shown
    assert "train it longer" in shown
