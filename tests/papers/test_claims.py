"""Claims of the papers: statements about numbers of runs, and a verdict on each."""

from dataclasses import replace
from pathlib import Path

import pytest

from noiseproof.papers.claims import CLAIMS, judge, to_dict, to_markdown
from noiseproof.papers.plan import Changes, plan
from noiseproof.papers.results import NUMBERS, Result, read_results
from noiseproof.papers.tables import get

TABLES = Path(__file__).parents[2] / "tables"
FOURTH = next(claim for claim in CLAIMS if claim.number == 4)


def test_seventeen_claims_use_numbers_of_runs():
    assert [claim.number for claim in CLAIMS] == list(range(1, 18))
    for claim in CLAIMS:
        assert claim.statements
        for point in claim.points.values():
            assert point.cell.state == "runs", point
            assert point.number in NUMBERS


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: str(claim.number))
def test_growing_or_falling_numbers_refute_a_statement(claim):
    """Growing or falling numbers decide every statement and refute at least one."""
    growing = {name: 3.0 * place for place, name in enumerate(claim.points)}
    falling = {name: -value for name, value in growing.items()}
    found = [bool(check(numbers)) for numbers in (growing, falling) for check in claim.statements.values()]
    assert not all(found)


def results(ce, gr):
    """Finished runs of claim 4 with these final and best accuracies."""
    found = {}
    for name, point in FOURTH.points.items():
        final, best = ce if name.startswith("CE") else gr
        for key in plan(get(point.table).select([point.row], [point.cell.column])):
            numbers = {**dict.fromkeys(NUMBERS), "final": final, "best": best}
            found[key] = Result(key, 0, numbers)
    return found


@pytest.mark.parametrize(
    ("ce", "gr", "words"),
    [
        ((0.60, 0.85), (0.80, 0.83), "holds"),
        ((0.84, 0.85), (0.80, 0.83), "holds in part"),
        ((0.84, 0.85), (0.60, 0.83), "does not hold"),
    ],
)
def test_verdict_of_finished_runs(ce, gr, words):
    verdict = judge(FOURTH, results(ce, gr))
    assert verdict.words == words
    assert verdict.numbers["CE best"] == pytest.approx(100 * ce[1])
    assert not verdict.commands


def test_runs_of_fewer_epochs_do_not_decide():
    cell = FOURTH.points["CE final"].cell
    keys = plan(replace(get("gr.table3"), cells=(cell,)), Changes(epochs=2))
    numbers = {**dict.fromkeys(NUMBERS), "final": 0.6, "best": 0.85}
    assert judge(FOURTH, {key: Result(key, 0, numbers) for key in keys}).numbers == {}


def test_verdict_lists_commands_for_missing_runs():
    verdict = judge(FOURTH, {})
    assert (verdict.words, verdict.numbers) == ("not run", {})
    assert verdict.commands[0].startswith(
        "noiseproof papers run gr.table3 --rows 'CCE' --columns 'symmetric 0.4"
    )
    some = results((0.60, 0.85), (0.80, 0.83))
    first = {key: some[key] for key in list(some)[:1]}
    assert judge(FOURTH, first).words == "holds so far"


def test_markdown_and_dict_contain_the_verdict():
    verdict = judge(FOURTH, results((0.60, 0.85), (0.80, 0.83)))
    assert f"| 4 | {FOURTH.words} | holds |" in to_markdown([verdict])
    assert to_dict(verdict)["statements"] == dict.fromkeys(FOURTH.statements, True)


@pytest.mark.slow
def test_committed_claims_page_matches_the_results():
    results, _ = read_results([TABLES / "results"])
    verdicts = [judge(claim, results) for claim in CLAIMS]
    assert (TABLES / "claims.md").read_text(encoding="utf-8") == to_markdown(verdicts)
