"""Write the tables of README.md anew from the files under results/; the words between them are ours.

    python tables/first_evidence/page.py

A table stands between ``<!-- its name -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from finished import HERE, Run, by_setting, finished_runs
from page_tables import Found, Line, ends_of_the_emphasis, table3, table5, table6
from run import parts
from unmet import unmet

from noiseproof.papers import get
from noiseproof.papers.plan import Changes, plan

PAGE = HERE / "README.md"
PARTS = {
    "(a) Curriculum Table 5: clean, symmetric 0.4, human 0.4": ("curriculum.table5",),
    "(a) again: other readings of its rows (`questions.readings`)": ("questions.readings",),
    "(b) IMAE Table 6, ResNet-20, and the saturation of the emphasis": (
        "imae.table6",
        "questions.saturation",
    ),
    "(c) Curriculum Table 3, CIFAR-100, ResNet-34, and CE in its recipe": (
        "curriculum.table3",
        "questions.ce",
    ),
}
TABLES = {
    "table 5, clean": partial(table5, column="clean"),
    "table 5, symmetric 0.4": partial(table5, column="symmetric 0.4"),
    "table 5, human 0.4": partial(table5, column="human 0.4"),
    "table 6": table6,
    "ends of the emphasis": ends_of_the_emphasis,
    "table 3": table3,
    "not met": unmet,
}


def counts(runs: Sequence[Run]) -> Iterator[Line]:
    """Runs planned and finished, by part of the list."""
    known = {run["run"] for run in runs}
    yield ["part", "runs planned", "finished"]
    for words, tables in PARTS.items():
        planned = planned_of(tables)
        yield [words, str(len(planned)), str(len(planned & known))]


def planned_of(tables: Sequence[str]) -> set[str]:
    chosen = [
        get(part.table).select(part.rows, part.columns, seeds)
        for part, seeds in parts()
        if part.table in tables
    ]
    return {key for table in chosen for key in plan(table, Changes(None, "bf16"))}


def as_table(lines: Iterable[Line]) -> str:
    heading, *rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([heading, "|" + "---|" * heading.count(" | ") + "---|", *rows])


def with_tables(page: str, runs: Sequence[Run]) -> str:
    """The page, its tables made anew."""
    found: Found = by_setting(runs)
    tables = {name: as_table(lines(found)) for name, lines in TABLES.items()}
    tables["counts"] = as_table(counts(runs))
    for name, table in tables.items():
        place = re.compile(rf"(<!-- {re.escape(name)} -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
        page, times = place.subn(lambda match, table=table: match[1] + table + match[2], page)
        if times != 1:
            raise ValueError(f"the page has {times} places for {name!r}, it must have one")
    return page


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), finished_runs()), encoding="utf-8")


if __name__ == "__main__":
    main()
