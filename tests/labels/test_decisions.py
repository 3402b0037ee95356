"""The file of decisions: confirmed ones are kept, truncated lines are skipped, reviewers are merged."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

from noiseproof.labels import Decision, DecisionLog
from noiseproof.labels.decisions import NAME, current_states, from_mapping, read_decisions


def decision(sample, kind, time="", **more):
    return Decision(sample, kind, time=time, **more)


def test_appended_decisions_round_trip(tmp_path):
    log = DecisionLog(tmp_path / NAME)
    log.append([decision(3, "relabel", label="cat\n</script>\u202e", reviewer="anna"), decision(4, "keep")])
    again = DecisionLog(tmp_path / NAME)
    assert [(one.sample, one.decision, one.label) for one in again.decisions] == [
        (3, "relabel", "cat\n</script>\u202e"),
        (4, "keep", None),
    ]
    assert all(one.time and one.id for one in again.decisions)
    lines = (tmp_path / NAME).read_text().splitlines()
    assert {"sample", "decision", "label", "time", "reviewer"} <= set(json.loads(lines[0]))


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_truncated_last_line_is_skipped(tmp_path, cut):
    log = DecisionLog(tmp_path / NAME)
    log.append([decision(1, "keep")])
    log.append([decision(2, "drop")])
    content = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(content[:-cut])
    again = DecisionLog(tmp_path / NAME)
    assert [one.sample for one in again.decisions] == [1]
    again.append([decision(5, "unsure")])
    third = DecisionLog(tmp_path / NAME)
    expected = [1, 2, 5] if cut == 1 else [1, 5]
    assert [one.sample for one in third.decisions] == expected
    assert third.damaged == (0 if cut == 1 else 1)


def test_two_logs_of_one_file_read_each_others_decisions(tmp_path):
    one, other = DecisionLog(tmp_path / NAME), DecisionLog(tmp_path / NAME)
    one.append([decision(1, "keep")])
    assert [found.sample for found in other.refresh()] == [1]
    other.append([decision(2, "keep")])
    one.append([decision(3, "keep")])
    assert [found.sample for found in one.decisions] == [1, 2, 3]
    assert one.decisions[0].time < one.decisions[1].time < one.decisions[2].time


def test_replaced_file_is_read_from_the_start(tmp_path):
    log = DecisionLog(tmp_path / NAME)
    log.append([decision(sample, "keep") for sample in range(9)])
    (tmp_path / NAME).write_bytes(Decision(77, "drop", id="x").line())
    log.refresh()
    assert [found.sample for found in log.decisions] == [77]


def test_latest_decision_applies_regardless_of_line_order():
    lines = [decision(1, "drop", "3"), decision(1, "keep", "1"), decision(1, "unsure", "2")]
    assert current_states(lines)[1].current.decision == "drop"


def test_undo_reverts_the_decision_it_refers_to():
    first, second = decision(1, "drop", "1", id="a"), decision(1, "keep", "2", id="b", seen="a")
    assert current_states([first, second, decision(1, "undo", "3", seen="b")])[1].current.decision == "drop"
    assert current_states([first, decision(1, "undo", "3", seen="a")]) == {}
    assert current_states([first, decision(1, "undo", "3", seen="gone")])[1].current.decision == "drop"


def test_other_outcome_by_reviewer_who_had_not_read_the_decision_is_a_conflict():
    first = decision(1, "keep", "1", id="a", seen=None, reviewer="anna")
    unaware = decision(1, "drop", "2", id="b", seen=None, reviewer="ben")
    aware = decision(1, "drop", "2", id="b", seen="a", reviewer="ben")
    same = decision(1, "keep", "2", id="b", seen=None, reviewer="ben")
    assert current_states([first, unaware])[1].conflict == first
    assert current_states([first, aware])[1].conflict is None
    assert current_states([first, same])[1].conflict is None
    settled = decision(1, "keep", "3", id="c", seen="b", reviewer="anna")
    assert current_states([first, unaware, settled])[1].conflict is None


def test_handwritten_decisions_need_only_sample_and_decision(tmp_path):
    (tmp_path / NAME).write_text('{"sample": 4, "decision": "drop"}\n{"sample": "4"}\n[]\n')
    assert read_decisions(tmp_path) == [Decision(4, "drop")]
    row = pandas.DataFrame({"sample": [4], "decision": ["relabel"], "label": [2]}).to_dict("records")[0]
    assert from_mapping(row).label == 2


def test_invalid_decisions_and_files_raise(tmp_path):
    with pytest.raises(ValueError, match="decision='remove' of sample 3 must be one of keep"):
        Decision(3, "remove")
    with pytest.raises(ValueError, match="sample 3: relabel needs label"):
        Decision(3, "relabel")
    with pytest.raises(FileNotFoundError, match="no decisions about labels"):
        read_decisions(tmp_path)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        DecisionLog(tmp_path / "link.jsonl").append([Decision(1, "keep")])


WRITER = """
import sys
from noiseproof.labels import Decision, DecisionLog
log = DecisionLog(sys.argv[1])
for sample in range(100_000):
    log.append([Decision(sample, "keep")])
    print(sample, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.2])
def test_confirmed_decisions_survive_sigkill(tmp_path, seconds):
    place = tmp_path / NAME
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(place)], stdout=subprocess.PIPE, text=True)  # noqa: S603
    writer.stdout.readline()
    time.sleep(seconds)
    os.kill(writer.pid, signal.SIGKILL)
    confirmed = [int(line) for line in writer.stdout.read().splitlines()]
    writer.wait()
    writer.stdout.close()
    kept = {one.sample for one in DecisionLog(place).decisions}
    assert set(confirmed) <= kept
    assert len(kept) <= len(confirmed) + 3


def test_sample_may_be_an_integer_of_numpy():
    assert type(Decision(np.int64(3), "drop").sample) is int
