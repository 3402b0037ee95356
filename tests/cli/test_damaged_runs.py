"""Every command reports a damaged or forged run folder in one line with the file and the remedy."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from noiseproof.cli.main import main

AGAIN = "noiseproof: repeat the command to retry the failed runs"
REMEDIES = ("remove the folder to", "use noiseproof", "it is unfinished")
DEEP = b'{"a":' * 100_000


def words(path, content):
    path.write_bytes(content)


def entries(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def facts(path, **changes):
    content = json.loads(path.read_text())
    content["data"] |= changes
    path.write_text(json.dumps(content))


def tensors(path, change, about=None):
    """Other tensors, without a checksum, which a forger can leave out."""
    with safe_open(path, "pt") as file:
        found = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        metadata = {name: text for name, text in (file.metadata() or {}).items() if name != "sha256"}
    change(found)
    packed = {name: tensor.contiguous().clone() for name, tensor in found.items()}
    save_file(packed, path, metadata if about is None else about)


def put(name, make):
    return lambda path: tensors(path, lambda found: found.update({name: make(found)}))


def drop(name):
    return lambda path: tensors(path, lambda found: found.pop(name))


def flip(path):
    content = bytearray(path.read_bytes())
    content[-2] ^= 4
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


CONFIG, MANIFEST, RESULT, METRICS = "config.json", "manifest.json", "result.json", "metrics.jsonl"
SAMPLES, EPOCHS = "record/samples.safetensors", "record/epochs.safetensors"
MODEL, OUTPUTS = "model.safetensors", "outputs.safetensors"
READERS = ("find", "report", "predict")
DAMAGES = {
    "config nested": (CONFIG, lambda p: words(p, DEEP), ("train", "predict", "compare", "recipe")),
    "config no object": (CONFIG, lambda p: words(p, b"[1, 2]"), ("train", "predict", "compare", "recipe")),
    "config cut": (CONFIG, lambda p: words(p, p.read_bytes()[:50]), ("train", "predict", "compare")),
    "config bytes": (CONFIG, lambda p: words(p, b"\xff\xfe\x00"), ("train", "predict", "compare", "recipe")),
    "config of later": (CONFIG, lambda p: entries(p, colour="red"), ("train", "predict", "compare")),
    "config of types": (CONFIG, lambda p: entries(p, loss=5, seed="x"), ("train", "predict", "compare")),
    "huge network": (CONFIG, lambda p: entries(p, model="mlp(hidden=100000000000)"), ("train", "predict")),
    "large network": (CONFIG, lambda p: entries(p, model="mlp(hidden=2000000000)"), ("train", "predict")),
    "manifest nested": (MANIFEST, lambda p: words(p, DEEP), READERS),
    "manifest no object": (MANIFEST, lambda p: words(p, b"7"), READERS),
    "manifest gone": (MANIFEST, Path.unlink, ("predict",)),
    "format 99": (MANIFEST, lambda p: entries(p, format=99), READERS),
    "data no object": (MANIFEST, lambda p: entries(p, data=[1]), READERS),
    "data gone": (MANIFEST, lambda p: entries(p, data=None), ("predict",)),
    "huge samples": (MANIFEST, lambda p: facts(p, sample_shape=[10**9, 10**9]), READERS),
    "negative samples": (MANIFEST, lambda p: facts(p, sample_shape=[-4]), READERS),
    "shape in words": (MANIFEST, lambda p: facts(p, sample_shape="four"), READERS),
    "shape of none": (MANIFEST, lambda p: facts(p, sample_shape=None), READERS),
    "names as numbers": (MANIFEST, lambda p: facts(p, class_names=[1, 2, 3]), READERS),
    "names as a number": (MANIFEST, lambda p: facts(p, class_names=3), READERS),
    "result of words": (RESULT, lambda p: entries(p, final_test_accuracy="high"), ("compare",)),
    "result selected": (RESULT, lambda p: entries(p, selected="best"), ("compare",)),
    "result nested": (RESULT, lambda p: words(p, DEEP), ("compare",)),
    "metrics of words": (METRICS, lambda p: words(p, b'{"epoch": 1, "test_accuracy": "x"}\n'), ("report",)),
    "metrics no epoch": (METRICS, lambda p: words(p, b'{"loss": 1}\n'), ("report",)),
    "metrics epoch": (METRICS, lambda p: words(p, b'{"epoch": [1]}\n'), ("report",)),
    "no class names": (SAMPLES, lambda p: tensors(p, lambda f: None, {}), ("find", "report")),
    "names no list": (SAMPLES, lambda p: tensors(p, lambda f: 0, {"class_names": "7"}), ("find", "report")),
    "no labels": (SAMPLES, drop("label"), ("find", "report")),
    "no numbers": (SAMPLES, drop("index"), ("find", "report")),
    "labels 2-D": (SAMPLES, put("label", lambda f: f["label"].reshape(-1, 2)), ("find", "report")),
    "labels as floats": (SAMPLES, put("label", lambda f: f["label"].float()), ("find", "report")),
    "labels few": (SAMPLES, put("label", lambda f: f["label"][:-1]), ("find", "report")),
    "clean labels few": (SAMPLES, put("clean_label", lambda f: f["label"][:-1]), ("find", "report")),
    "numbers twice": (SAMPLES, put("index", lambda f: f["index"] // 2), ("find", "report")),
    "numbers 0-D": (SAMPLES, put("index", lambda f: torch.tensor(3)), ("find", "report")),
    "samples cut": (SAMPLES, cut, ("find", "report")),
    "samples flipped": (SAMPLES, flip, ("find", "report")),
    "samples of words": (SAMPLES, lambda p: words(p, b"hello"), ("find", "report")),
    "epochs 1-D": (EPOCHS, put("margin", lambda f: f["margin"][0]), ("find", "report")),
    "epochs 0-D": (EPOCHS, put("margin", lambda f: f["margin"][0, 0]), ("find", "report")),
    "epochs few": (EPOCHS, put("margin", lambda f: f["margin"][:, 1:]), ("find", "report")),
    "epochs other": (EPOCHS, put("prediction", lambda f: f["prediction"][1:]), ("find", "report")),
    "epochs words": (EPOCHS, put("margin", lambda f: f["margin"].int()), ("find", "report")),
    "epochs bool": (EPOCHS, put("prediction", lambda f: f["prediction"].bool()), ("find", "report")),
    "epochs no margin": (EPOCHS, drop("margin"), ("find", "report")),
    "epochs no prediction": (EPOCHS, drop("prediction"), ("find", "report")),
    "epochs extra": (EPOCHS, put("tau", lambda f: torch.ones(3)), ("find", "report")),
    "epochs flipped": (EPOCHS, flip, ("find", "report")),
    "model key": (MODEL, drop("head.bias"), ("predict",)),
    "model extra": (MODEL, put("more", lambda f: torch.ones(2)), ("predict",)),
    "model shape": (MODEL, put("head.bias", lambda f: torch.ones(7)), ("predict",)),
    "model nan": (MODEL, put("head.bias", lambda f: torch.full((3,), torch.nan)), ("predict",)),
    "model inf": (MODEL, put("head.bias", lambda f: torch.full((3,), torch.inf)), ("predict",)),
    "model flipped": (MODEL, flip, ("predict",)),
    "model cut": (MODEL, cut, ("predict",)),
    "model gone": (MODEL, Path.unlink, ("predict",)),
    "outputs 1-D": (OUTPUTS, put("train_probability", lambda f: torch.ones(3)), ("report", "recipe")),
    "outputs label": (OUTPUTS, put("test_label", lambda f: f["test_label"] - 5), ("report", "recipe")),
    "outputs class": (OUTPUTS, put("test_label", lambda f: f["test_label"] + 90), ("report", "recipe")),
    "outputs flipped": (OUTPUTS, flip, ("report", "recipe")),
}


@pytest.fixture(scope="module")
def settings(points):
    options = {"--data": points, "--noise": "symmetric(0.4)", "--model": "mlp(hidden=8)", "--device": "cpu"}
    return [word for pair in options.items() for word in pair] + ["--epochs", "3", "--quiet"]


@pytest.fixture(scope="module")
def runs(settings, tmp_path_factory):
    """One comparison of one run, and a recipe whose first run is the same."""
    place = tmp_path_factory.mktemp("made")
    command("compare", *settings, "--loss", "ce", "--seeds", "1", "--jobs", "1", "--out", place / "many")
    command("recipe", "relabel", *settings, "--out", place / "recipe")
    return place


def command(*told):
    before, sys.argv = sys.argv, ["noiseproof", *map(str, told)]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    assert not ended.value.code, told


@pytest.fixture
def verbs(runs, settings, points, tmp_path):
    """The run to damage and the arguments, by the name of the command."""
    shutil.copytree(runs, tmp_path / "made")
    many, recipe = tmp_path / "made/many", tmp_path / "made/recipe"
    shutil.rmtree(recipe / "second")  # it contains the path of the labels of the first run
    [run] = [path.parent for path in many.glob("*/config.json")]
    return {
        "find": (run, ["labels", "find", run]),
        "report": (run, ["report", run]),
        "predict": (run, ["predict", run, points, "-o", tmp_path / "p.csv"]),
        "train": (run, ["train", *settings, "--out", run]),
        "compare": (
            run,
            ["compare", *settings, "--loss", "ce", "--seeds", "1", "--jobs", "1", "--out", many],
        ),
        "recipe": (recipe / "first", ["recipe", "relabel", *settings, "--out", recipe]),
    }


@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_reported_in_one_line_with_file_and_remedy(shell, verbs, name, others):
    """``others``: also the commands that do not read the file; these may succeed, which takes longer."""
    file, damage, failing = DAMAGES[name]
    for folder in {folder for folder, _ in verbs.values()}:
        damage(folder / file)
    for verb, (folder, told) in verbs.items():
        if verb not in (*failing, "train") and not others:
            continue
        code, _, err = shell(*told)
        assert "Traceback" not in err, (verb, err)
        if verb == "train":  # the run is finished, so the command must refuse it
            assert code == 2, err
        assert (code != 0) or verb not in failing, (verb, err)
        if code:
            lines = [line for line in err.splitlines() if line != AGAIN]
            assert len(lines) == 1, (verb, err)
            assert lines[0].startswith("noiseproof: "), (verb, err)
            assert str(folder) in lines[0], (verb, err)
        if verb in failing and verb != "train":
            assert Path(file).name in lines[0], (verb, err)
            assert any(words in lines[0] for words in REMEDIES), err
