"""Our runs of the first evidence, and the page that tells of them."""

import csv
import re
from pathlib import Path

from noiseproof.dynamics.accuracy import hybrid_accuracy
from noiseproof.papers import get

HOME = Path(__file__).parents[2]
EVIDENCE = HOME / "tables" / "first_evidence"
PAGE = (EVIDENCE / "README.md").read_text(encoding="utf-8")
FILES = [EVIDENCE / "results" / name / "runs.csv" for name in ("a", "791f61f", "b8c8497", "0652574")]
LINE = re.compile(r"^\| ([^|]+) \| `(.+)` \| (.+) \|$", re.MULTILINE)
SUBSETS = ("best", "final", "noisy subset", "clean subset", "hybrid")
LABELS = ("clean", "symmetric 0.4", "human 0.4")
SATURATIONS = {"never": ", saturation=None", "at 17.33": "", "at 6.24": ", saturation=6.24"}
"""Where the emphasis of IMAE ends, in the words of the page."""


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def labels(run):
    """Its column: "clean", "symmetric 0.4", "human 0.4"."""
    human = run["data"].startswith("cifar_n")
    return "human 0.4" if human else run["noise"].replace("(", " ").rstrip(")") or "clean"


FINISHED = [run for file in FILES for run in read(file) if run["state"] == "finished"]
RUNS = {(labels(run), run["model"], run["loss"]): run for run in FINISHED}


def runs_with(model, column=None):
    return {key for key in RUNS if key[1] == model and column in (None, key[0])}


def row_of(run):
    """Of its table, whatever the reading."""
    return run["cells"].split(" / ")[1].split(" · ")[0]


def percent(run, name):
    return 100 * float(run[name])


def ours(loss, column="symmetric 0.4"):
    """Accuracy of the last epoch and snr in Curriculum Table 5."""
    run = RUNS[column, "cnn8", loss]
    return percent(run, "final_test_accuracy"), float(run["snr"] or "nan")


def printed(row, column="symmetric 0.4"):
    """The same as printed; the accuracy under noise is clean + diff, clean labels have no snr."""
    cell = get("curriculum.table5").cell
    clean = cell(row, "clean · test %").printed
    if column == "clean":
        return clean, float("nan")
    return clean + cell(row, f"{column} · diff").printed, cell(row, f"{column} · snr").printed


def imae(column, end):
    """The loss of IMAE Table 6 with an end of its emphasis."""
    return f"imae(T={0.5 if column == 'clean' else 8.0}{SATURATIONS[end]})"


def subsets(run):
    """Accuracies of a run of IMAE Table 6, in per cent; without noise there is no noisy subset."""
    hybrid = hybrid_accuracy(float(run["final_test_accuracy"]), 10_000, float(run["train_intact"]), 50_000)
    names = ("best_test_accuracy", "final_test_accuracy", "train_noisy_subset", "train_clean_subset")
    found = {word: run[name] for word, name in zip(SUBSETS, names, strict=False)} | {"hybrid": hybrid}
    return {word: 100 * float(number) for word, number in found.items() if number != ""}


def printed_subsets(row, column):
    names = [name for name in SUBSETS if (column, name) != ("clean", "noisy subset")]
    cell = get("imae.table6").cell
    return {name: cell(f"ResNet-20 · {row}", f"{column} · {name} %").printed for name in names}


def classes_at_zero(run):
    return [float(value) for value in run["test_class_accuracy"].split()].count(0)


def lines(heading):
    """Cells of the tables under a heading of the page: row, loss, numbers."""
    part = PAGE.split(f"### {heading}\n")[1].split("\n#")[0]
    return [(row, loss, numbers.split(" | ")) for row, loss, numbers in LINE.findall(part)]


def in_words(run, *middle):
    last, best = (f"{percent(run, name):.2f}" for name in ("final_test_accuracy", "best_test_accuracy"))
    return [last, best, *middle, str(classes_at_zero(run))]
