"""The numbers of labels.py as tables, with the goals that were missed."""

OURS, CROSSED, FINAL, BOTH = "noiseproof", "cleanlab, 5-fold", "cleanlab, final", "noiseproof, both"
CHOSEN = (
    "Score and threshold were chosen on other data: digits with the seeds 0 and 7, and the images 52,000 to"
    " 56,000 of MNIST with 20 epochs and seed 7. All of it was fixed before the seeds below were run, except"
    " the weight of the last epochs, which was added after a look at 11 to 13 and chosen on the other data."
)
CHECK = (
    "The tables above and below were measured before `find` chose the first epoch it uses"
    " (`labels/epochs.py`) and were not run again. That rule was chosen on runs on clean labels with the"
    " default settings and on digits with the seeds 0 and 7, not on seed 11. It changes the results of one"
    " seed each as follows, with records trained by the code of this benchmark:"
)
NEAR_BEST, SHARE_OF_COST = 0.02, 0.1
FIGURES = (("ap", 4), ("f1", 3), ("marked", 3))
Setting = dict[str, dict[str, float]]


def markdown(result: dict) -> str:
    about = ", ".join(f"{name} {value}" for name, value in result["about"].items())
    lines = [
        "# Finding wrong labels from the record of a run",
        "",
        "This page compares the record of one training run with cleanlab on five-fold cross-validation, by"
        " ranking, marks and cost. Command: `python benchmarks/labels.py --mnist FOLDER`; its docstring"
        f" defines the measurements. {about}.",
    ]
    if "quality" in result:
        asked = result["asked"]
        seeds, others = (", ".join(map(str, asked[name])) for name in ("seeds", "its seeds"))
        lines += [
            f"Means over the seeds {seeds} on digits, {others} on {asked['images of MNIST']:,} of MNIST.",
            CHOSEN,
            *ranking_table(result["quality"]),
            *threshold_table(result["quality"]),
            *cost_table(result["quality"]),
            *misses(result["quality"]),
            *check_table(result.get("check", [])),
        ]
    if "speed" in result:
        lines += ["", "## 1,000,000 x 100 probabilities", "", "The machine was shared with other work.", ""]
        lines += rows_of(
            ["", "CPU s, one thread", "least s, one thread", "all threads", "peak memory / input"]
        )
        for name, row in result["speed"].items():
            cells = (row[key] for key in ("cpu", "one_thread", "all_threads", "memory"))
            lines += [f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |"]
    return "\n".join(lines) + "\n"


def rows_of(heading: list[str]) -> list[str]:
    return ["| " + " | ".join(heading) + " |", "|---" * len(heading) + "|"]


def ranking_table(found: dict[str, Setting]) -> list[str]:
    """The last column is the lead over the better of cleanlab's two on the worst seed."""
    lines = ["", "## Ranking", ""]
    heading = [
        "setting",
        "AP: record",
        "cleanlab, 5-fold",
        "cleanlab, final",
        "record + 5-fold",
        "least lead",
    ]
    lines += rows_of([*heading, "AUROC: record", "cleanlab, 5-fold", "cleanlab, final"])
    for setting, row in found.items():
        cells = [row[name]["ap"] for name in (OURS, CROSSED, FINAL, BOTH)] + [row[OURS]["least_lead"]]
        cells += [row[name]["auroc"] for name in (OURS, CROSSED, FINAL)]
        lines.append(f"| {setting} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |")
    return lines


def threshold_table(found: dict[str, Setting]) -> list[str]:
    lines = ["", "## Which labels are marked, and what noise is estimated", ""]
    heading = ["setting", "F1: record", "of its best threshold", "cleanlab, 5-fold", "of its best threshold"]
    heading += ["wrong labels", "found by record", "by cleanlab"]
    lines += rows_of([*heading, "error of the matrix: record", "cleanlab"])
    for setting, row in found.items():
        ours, theirs = row[OURS], row[CROSSED]
        cells = [ours["f1"], ours["best_f1"], theirs["f1"], theirs["best_f1"]]
        cells += [
            ours["true_rate"],
            ours["rate"],
            theirs["rate"],
            ours["matrix_error"],
            theirs["matrix_error"],
        ]
        lines.append(f"| {setting} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    return lines


def cost_table(found: dict[str, Setting]) -> list[str]:
    """Means over losses and noises, seconds of CPU (of the clock)."""
    lines = ["", "## Seconds of CPU (of the clock)", "", "CPU is the measure: other work ran beside it.", ""]
    lines += rows_of(["data", "the one training", "record, beyond it", "cleanlab, beyond it", "share"])
    groups: dict[str, list[Setting]] = {}
    for setting, row in found.items():
        groups.setdefault(setting.rsplit(", ", 2 + setting.count("map="))[0], []).append(row)
    for data, rows in groups.items():
        pairs = [(OURS, "training", "training_clock"), (OURS, "cost", "clock"), (CROSSED, "cost", "clock")]
        cells = [(mean(rows, name, cpu), mean(rows, name, clock)) for name, cpu, clock in pairs]
        words = [f"{cpu:.2f} ({clock:.2f})" for cpu, clock in cells] + [f"{cells[1][0] / cells[2][0]:.4f}"]
        lines.append(f"| {data} | " + " | ".join(words) + " |")
    return lines


def check_table(rows: list[dict]) -> list[str]:
    """One seed each, before and after a change of the rule."""
    if not rows:
        return []
    lines = ["", "## Later changes", "", CHECK, ""]
    lines += rows_of(["setting", "seed", "AP before", "now", "F1 before", "now", "marked before", "now"])
    for row in rows:
        cells = [(row[when][key], digits) for key, digits in FIGURES for when in ("before", "now")]
        words = ["-" if value is None else f"{value:.{digits}f}" for value, digits in cells]
        lines.append(f"| {row['setting']} | {row['seed']} | " + " | ".join(words) + " |")
    return lines


def mean(rows: list[Setting], name: str, key: str) -> float:
    return sum(row[name][key] for row in rows) / len(rows)


def misses(found: dict[str, Setting]) -> list[str]:
    """The goals that were not reached, by setting."""
    lines = []
    for setting, row in found.items():
        ours, rivals = row[OURS], {name: row[name]["ap"] for name in (CROSSED, FINAL)}
        better = max(rivals, key=lambda name: rivals[name])
        if ours["ap"] <= rivals[better]:
            lines.append(f"- {setting}: average precision {ours['ap']:.4f}, {better} {rivals[better]:.4f}")
        if ours["f1"] < ours["best_f1"] - NEAR_BEST:
            lines.append(f"- {setting}: F1 {ours['f1']:.3f}, its best threshold {ours['best_f1']:.3f}")
        if ours["cost"] > SHARE_OF_COST * row[CROSSED]["cost"]:
            lines.append(f"- {setting}: costs {ours['cost'] / row[CROSSED]['cost']:.2f} of cleanlab's way")
    goals = (
        "higher average precision than cleanlab's better one, F1 within 0.02 of the best threshold's, a tenth"
    )
    return ["", f"Goals, per setting: {goals} of the cost. Missed:", "", *(lines or ["none"])]
