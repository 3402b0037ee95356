"""What the page asks of the server."""

import errno
import json
from contextlib import ExitStack

import numpy as np
import pandas
import pytest
import torch
from review_samples import client_of, made_frame, review_data_of, small_run

from noiseproof.data import LabelledData
from noiseproof.labels import Decision, DecisionLog
from noiseproof.review.columns import Columns
from noiseproof.review.review_data import ReviewData


def decide(client, sample, kind, number, *, seen=None, session="s", **more):
    entry = {"sample": sample, "decision": kind, "id": f"{number:012x}", "seen": seen, **more}
    return client.post("/api/decide", json={"session": session, "decisions": [entry]})


@pytest.fixture
def opened():
    """A client of any review_data, closed in the end."""
    with ExitStack() as stack:
        yield lambda review_data: stack.enter_context(client_of(review_data))[1]


@pytest.fixture(scope="module")
def undecided(tmp_path_factory):
    """One server for decisions that are refused."""
    with client_of(review_data_of(made_frame(8), tmp_path_factory.mktemp("undecided"))) as found:
        yield found


@pytest.fixture
def pair(tmp_path):
    with client_of(review_data_of(made_frame(8), tmp_path)) as found:
        yield found


def test_suspects_come_worst_first_in_columns(pair):
    start = pair[1].get("/api/start?session=s").json()
    assert start["chance"] == sorted(start["chance"], reverse=True)
    assert len(start["number"]) == len(start["given"]) == len(start["suggested"]) == 8
    assert start["number"][0] == 0
    assert start["calibrated"]


def test_without_a_calibrated_probability_the_score_serves(tmp_path):
    with client_of(review_data_of(made_frame(8, calibrated=False), tmp_path)) as (_, client):
        start = client.get("/api/start").json()
    assert not start["calibrated"]
    assert start["chance"][0] > 0.5


def test_the_probability_of_the_suggested_class_is_sent_where_it_is_known(tmp_path):
    frame = made_frame(8)
    with client_of(review_data_of(frame, tmp_path / "without")) as (_, client):
        assert client.get("/api/start").json()["suggestionChance"] is None
    frame["predicted_probability"] = np.where(frame["index"] == 0, np.nan, 0.71234)
    with client_of(review_data_of(frame, tmp_path / "with")) as (_, client):
        start = client.get("/api/start").json()
    found = dict(zip(start["number"], start["suggestionChance"], strict=True))
    assert found[0] is None
    assert set(found.values()) == {None, 0.7123}


def test_a_decision_is_in_the_file_when_the_answer_comes(pair):
    app, client = pair
    answer = decide(client, 6, "relabel", 1, label=2)
    assert answer.json()["saved"][0]["decision"] == "relabel"
    line = json.loads(app.log.path.read_text().splitlines()[-1])
    assert (line["sample"], line["decision"], line["label"], line["reviewer"]) == (
        6,
        "relabel",
        "class 2",
        "anna",
    )


def test_a_full_disk_is_told_and_nothing_is_said_to_be_saved(pair, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("noiseproof.labels.decisions._append", full)
    answer = decide(pair[1], 6, "keep", 1)
    assert answer.status_code == 507
    assert "not saved" in answer.text
    assert "saved" not in answer.headers


@pytest.mark.parametrize(
    "entry",
    [
        {"sample": 1, "decision": "keep", "id": "0" * 12},
        {"sample": "3", "decision": "keep", "id": "0" * 12},
        {"sample": 3, "decision": "burn", "id": "0" * 12},
        {"sample": 3, "decision": "relabel", "id": "0" * 12},
        {"sample": 3, "decision": "relabel", "id": "0" * 12, "label": 4},
        {"sample": 3, "decision": "relabel", "id": "0" * 12, "label": True},
        {"sample": 3, "decision": "keep", "id": "../../x"},
        {"sample": 3, "decision": "keep"},
        [],
        None,
    ],
)
def test_what_is_no_decision_is_refused(undecided, entry):
    app, client = undecided
    answer = client.post("/api/decide", json={"session": "s", "decisions": [entry]})
    assert answer.status_code == 400
    assert not app.log.path.exists()


def test_a_decision_sent_twice_is_there_once(pair):
    app, client = pair
    decide(client, 6, "keep", 1)
    decide(client, 6, "keep", 1)
    assert len(DecisionLog(app.log.path).decisions) == 1


def test_a_second_page_is_detected_and_gets_updates(pair):
    client = pair[1]
    first = client.get("/api/start?session=one").json()
    assert first["pages"] == 0
    assert client.get("/api/start?session=two").json()["pages"] == 1
    decide(client, 6, "keep", 1, session="two")
    updates = client.get(f"/api/updates?session=one&after={first['count']}").json()
    assert updates["pages"] == 1
    assert [state["sample"] for state in updates["states"]] == [6]
    client.post("/api/leave", json={"session": "two"})
    assert client.get("/api/updates?session=one").json()["pages"] == 0


def test_a_reviewer_elsewhere_is_detected_merged_and_conflicts_are_shown(pair):
    app, client = pair
    client.get("/api/start?session=one")
    other = DecisionLog(app.log.path)
    other.append([Decision(6, "drop", reviewer="ben", seen=None, session="far")])
    answer = decide(client, 6, "keep", 1, session="one").json()
    assert answer["saved"][0]["conflict"]["by"] == "ben"
    updates = client.get("/api/updates?session=one").json()
    assert updates["elsewhere"] == ["ben"]
    latest = answer["saved"][0]["id"]
    settled = decide(client, 6, "keep", 2, seen=latest, session="one").json()
    assert "conflict" not in settled["saved"][0]


def test_another_server_of_the_same_labels_is_told_before_it_decides(tmp_path):
    with client_of(review_data_of(made_frame(8), tmp_path)) as (_, client):
        assert client.get("/api/start?session=one").json()["servers"] == []
        with client_of(review_data_of(made_frame(8), tmp_path), "ben <b>") as (_, other):
            assert client.get("/api/updates?session=one").json()["servers"] == ["ben <b>"]
            assert other.get("/api/start?session=two").json()["servers"] == ["anna"]
        assert client.get("/api/updates?session=one").json()["servers"] == []
    assert not (tmp_path / "decisions.jsonl.open").exists()


def test_reopening_resumes(tmp_path):
    for _ in range(2):
        with client_of(review_data_of(made_frame(8), tmp_path)) as (_, client):
            start = client.get("/api/start").json()
            decide(client, 6, "drop", 1)
    assert [(state["sample"], state["decision"]) for state in start["states"]] == [(6, "drop")]


def test_a_sample_of_a_run_has_a_picture_its_margins_and_neighbours(tmp_path, opened):
    run = small_run(tmp_path / "run")
    client = opened(ReviewData(run))
    start = client.get("/api/start").json()
    number = start["number"][0]
    sample = client.get(f"/api/sample/{number}").json()
    assert sample["image"].startswith("data:image/png;base64,")
    assert len(sample["spark"].split()) == sample["epochs"] == 12
    related = client.get(f"/api/related/{number}?class={start['suggested'][0]}").json()
    assert len(related["nearest"]) == 4
    assert number not in [one["number"] for one in related["nearest"]]
    assert {one["given"] for one in related["typicalGiven"]} == {start["given"][0]}
    assert {one["given"] for one in related["typicalSuggested"]} == {start["suggested"][0]}
    assert not any(one["suspect"] for one in related["typicalGiven"])
    assert client.get("/api/sample/99999").status_code == 404


def test_of_a_row_the_columns_that_tell_come_first(tmp_path, opened):
    rng = np.random.default_rng(0)
    label = np.arange(60) % 2
    telling = 10.0 * label + rng.normal(size=60)
    inputs = np.stack([rng.normal(size=60), telling], 1).astype(np.float32)
    inputs[0, 1] = 10.0
    data = LabelledData(
        torch.from_numpy(inputs), label, class_names=["low", "high"], columns=["noise", "height"]
    )
    frame = made_frame(60, 2, names=["low", "high"])
    frame["index"], frame["given_label"], frame["predicted_label"] = np.arange(60), label, 1 - label
    frame["is_label_issue"] = np.arange(60) == 0
    client = opened(review_data_of(frame, tmp_path, data=data))
    cells = client.get("/api/sample/0").json()["cells"]
    assert [cell[0] for cell in cells] == ["height", "noise"]
    assert cells[0][1] == "10"
    assert cells[0][4]
    assert float(cells[0][2]) == pytest.approx(0, abs=1)
    assert float(cells[0][3]) == pytest.approx(10, abs=1)
    for one in client.get("/api/related/0?class=1").json()["typicalSuggested"]:
        assert one["brief"].startswith("height ")


def test_an_identifier_says_nothing_about_a_class():
    table = pandas.DataFrame({"id": [f"P{row}" for row in range(12)], "kind": ["x"] * 6 + ["y"] * 6})
    columns = Columns(table, {0: list(range(6)), 1: list(range(7, 12))})
    cells = {cell.name: cell for cell in columns.cells(6, 0, 1)[0]}
    assert list(cells) == ["kind", "id"]
    assert (cells["id"].weight, cells["id"].usual_given) == (0, "")
    assert (cells["kind"].usual_given, cells["kind"].usual_suggested) == ("x", "y")


def test_a_text_keeps_its_line_breaks_and_loses_control_characters(tmp_path, opened):
    place = tmp_path / "mails.csv"
    rows = [
        f'"Dear {row},\n\nsecond \x1b[31mline, long enough to be shown as text",{row},{"ab"[row % 2]}'
        for row in range(8)
    ]
    place.write_text("\n".join(["text,x,label", *rows]) + "\n")
    frame = made_frame(8, 2, names=["a", "b"])
    frame["index"] = np.arange(8)
    spec = f'csv(path="{place}", features="x")'
    client = opened(review_data_of(frame, tmp_path, data=spec))
    sample = client.get("/api/sample/3").json()
    assert sample["texts"] == [["text", "Dear 3,\n\nsecond [31mline, long enough to be shown as text"]]
    assert [cell[0] for cell in sample["cells"]] == ["x"]


def test_inputs_that_are_gone_are_explained(tmp_path, opened):
    run = small_run(tmp_path / "run", settings={"data": 'csv(path="/nowhere.csv")', "loss": "ce"})
    client = opened(ReviewData(run))
    start = client.get("/api/start").json()
    assert "cannot be loaded" in start["whyNoInputs"]
    assert client.get(f"/api/sample/{start['number'][0]}").status_code == 200


def test_a_frame_needs_a_place_for_decisions():
    with pytest.raises(ValueError, match="pass the file of decisions"):
        ReviewData(made_frame(3))
