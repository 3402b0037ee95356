import errno
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from noiseproof import atomic
from noiseproof.lock import RunLock
from noiseproof.train import Run

LONG = ["--epochs", "40", "--batch-size", "3", "--checkpoint-seconds", "1000"]


def refused(found, code=2):
    """The one line of an error."""
    assert found[0] == code, found
    assert found[1] == ""
    lines = [line for line in found[2].splitlines() if not line.startswith("epoch ")]
    assert len(lines) == 1, lines
    assert lines[0].startswith("noiseproof: ")
    return lines[0]


def test_summary_has_final_best_selected_and_memorised(shell, short, tmp_path):
    options = ["--epochs", 3, "--validation", 0.2, "--out", tmp_path / "a"]
    code, out, err = shell("train", *short, *options)
    assert code == 0, err
    run = Run(tmp_path / "a")
    result, record = run.result, run.record
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in out.splitlines() if "│" in line]
    shown = dict(cells)
    assert shown["final test accuracy"] == f"{100 * result['final_test_accuracy']:.1f}%"
    best = f"{100 * result['best_test_accuracy']:.1f}% (epoch {result['best_epoch']})"
    assert shown["best test accuracy"] == best
    assert shown["selected by validation"].startswith(f"epoch {result['selected']['epoch']}: test")
    wrong = record.label != record.clean_label
    memorised = int((run.outputs["train_probability"].argmax(1)[wrong] == record.label[wrong]).sum())
    assert shown["wrong labels memorised"].startswith(f"{memorised} of {int(wrong.sum())} (")
    assert "epoch 3/3: test" in err


def test_loss_auto_chooses_a_loss_and_resumes(shell, short, tmp_path):
    options = ["--loss", "auto", "--lr", 0.1, "--epochs", 3, "--out", tmp_path / "a"]
    code, out, err = shell("train", *short, *options)
    assert code == 0, err
    run = Run(tmp_path / "a")
    assert "trial 1 of 6: ce, lr 0.1, 1 epochs" in err
    assert f"chosen: {run.choice['words']}" in err
    assert " chosen " in out
    assert run.config.loss != "auto"
    assert "is finished: choose another --out" in refused(shell("train", *short, *options, "--quiet"))


def test_json_output_is_the_result(shell, short, tmp_path):
    code, out, err = shell("train", *short, "--epochs", 1, "--out", tmp_path / "a", "--json", "--quiet")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"folder": str(tmp_path / "a"), **Run(tmp_path / "a").result}


def test_summary_without_noise_and_test_data(shell, points, tmp_path):
    options = ["--data", points, "--test", "none", "--model", "mlp(hidden=8)", "--epochs", 1]
    code, out, _ = shell("train", *options, "--out", tmp_path / "a")
    assert code == 0
    assert "memorised" not in out
    assert "selected" not in out
    assert re.search(r"│ test accuracy +│ not measured: there is no test data ", out)


def test_finished_run_and_another_config_are_refused(shell, short, tmp_path):
    command = ["train", *short, "--epochs", 1, "--out", tmp_path / "a"]
    assert shell(*command)[0] == 0
    before = (tmp_path / "a" / "result.json").read_bytes()
    assert "is finished: choose another --out" in refused(shell(*command))
    words = refused(shell(*command, "--lr", 0.5, "--seed", 3))
    assert "lr: 0.01 -> 0.5; seed: 0 -> 3" in words
    assert (tmp_path / "a" / "result.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--loss", "gcee"], "unknown loss 'gcee', did you mean 'gce'?"),
        (["--loss", "elr"], "'elr' is a method, not a loss: give it as --method elr"),
        (["--method", "gce"], "'gce' is a loss, not a method: give it as --loss gce"),
        (["--noise", "symetric(0.4)"], "did you mean 'symmetric'?"),
        (["--model", "mpl"], "did you mean 'mlp'?"),
        (["--data", "digitz"], "did you mean 'digits'?"),
        (["--optimizer", "sgdd"], "did you mean 'sgd'?"),
        (["--schedule", "cosin"], "did you mean 'cosine'?"),
        (["--epochs", "2", "--iterations", "2"], "give one of them"),
        (["--device", "gpu"], "device='gpu' cannot be used"),
        (["--lr", "nan"], "lr=nan is out of range"),
        (["--patience", "3"], "patience needs validation data"),
        (["--config", "nowhere.json"], "nowhere.json"),
    ],
)
def test_errors_are_reported_in_one_line(shell, points, tmp_path, options, part):
    assert part in refused(shell("train", "--data", points, *options, "--out", tmp_path / "a"))


def test_missing_data_error_is_one_line_with_instructions(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    words = refused(shell("train", "--data", "cifar10", "--out", tmp_path / "a"))
    assert "noiseproof data get cifar10" in words


def test_infinite_loss_exits_with_code_1(shell, short, tmp_path):
    options = ["--lr", "1e30", "--momentum", 0, "--epochs", 5, "--loss", "ce"]
    words = refused(shell("train", *short, *options, "--out", tmp_path / "a"), code=1)
    assert re.search(r"became infinite or NaN in epoch \d+, step \d+, with samples", words)
    assert words.endswith(f"; other settings need another --out than {tmp_path / 'a'}")
    options[1] = "0.1"
    assert shell("train", *short, *options, "--out", tmp_path / "b")[0] == 0


def test_locked_folder_is_refused_with_its_owner(shell, short, tmp_path):
    with RunLock(tmp_path / "a"):
        words = refused(shell("train", *short, "--epochs", 1, "--out", tmp_path / "a"))
    assert f"is being written by process {os.getpid()}" in words


def test_full_disk_exits_with_code_1_and_advice(shell, short, tmp_path, monkeypatch):
    def full(path, data, sync):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "_write_new", full)
    words = refused(shell("train", *short, "--epochs", 1, "--out", tmp_path / "a"), code=1)
    assert "No space left on device; free space and run the same command again" in words


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_saves_a_checkpoint_and_the_same_command_resumes(shell, short, tmp_path, number, code):
    words = ["train", *short, *LONG, "--out", str(tmp_path / "a"), "--json"]
    command = [sys.executable, "-m", "noiseproof.cli.main", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stderr.readline().startswith("epoch 1/40: test")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith(f"noiseproof: stopped by {number.name} after epoch ")
    assert last.endswith("run the same command to resume")
    done = len(Run(tmp_path / "a").metrics)
    assert 1 <= done < 40

    ended, out, err = shell(*words)
    assert ended == 0
    assert err.splitlines()[0] == f"resuming at epoch {done + 1}"
    assert json.loads(out)["epochs"] == 40
    assert [line["epoch"] for line in Run(tmp_path / "a").metrics] == list(range(1, 41))


def test_run_restarts_after_a_broken_image_is_deleted(shell, tmp_path):
    import numpy as np
    from PIL import Image

    for name, level in {"cat": 60, "dog": 190}.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(6):
            picture = Image.fromarray(np.full((4, 4, 3), level + number, np.uint8))
            picture.save(tmp_path / "photos" / name / f"{number}.png")
    broken = tmp_path / "photos/dog/3.png"
    broken.write_bytes(broken.read_bytes()[:40])
    options = ["--data", f'folder(path="{tmp_path}/photos")', "--epochs", 2, "--model", "mlp(hidden=4)", "-q"]
    code, _, err = shell("train", *options, "--out", tmp_path / "run")
    assert code == 2
    assert "3.png" in err
    assert "repair or remove it" in err
    broken.unlink()
    code, _, err = shell("train", *options, "--out", tmp_path / "run")
    assert (code, err) == (0, "")
