"""Our runs of the first evidence with seed 0, of which the page tells in words, and the page."""

from pathlib import Path

from finished import Setting, by_setting, finished_runs, percent, subsets
from page_tables import loss_of_imae

HOME = Path(__file__).parents[2]
EVIDENCE = HOME / "tables" / "first_evidence"
PAGE = (EVIDENCE / "README.md").read_text(encoding="utf-8")
FINISHED = finished_runs()
FIRST = {setting: runs[0] for setting, runs in by_setting(FINISHED).items() if runs[0]["seed"] == "0"}
"""Setting to its run of seed 0."""


def ours(loss, column="symmetric 0.4"):
    """Accuracy of the last epoch and snr in Curriculum Table 5."""
    run = FIRST[Setting(column, "cnn8", loss)]
    return percent(run, "final_test_accuracy"), float(run["snr"] or "nan")


def final_imae(column, end, seed=0):
    """Accuracy of the last epoch in IMAE Table 6, by where the emphasis ends."""
    runs = by_setting(FINISHED)[Setting(column, "resnet20", loss_of_imae(column, end))]
    (run,) = (run for run in runs if run["seed"] == str(seed))
    return subsets(run)["final"]
