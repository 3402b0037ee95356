"""Requests of the page to the server."""

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
from noiseproof.train import Config, fit


def decide(client, sample, kind, number, *, seen=None, session="s", **more):
    entry = {"sample": sample, "decision": kind, "id": f"{number:012x}", "seen": seen, **more}
    return client.post("/api/decide", json={"session": session, "decisions": [entry]})


@pytest.fixture
def open_client():
    """Return a client of a review_data; it is closed after the test."""
    with ExitStack() as stack:
        yield lambda review_data: stack.enter_context(client_of(review_data))[1]


@pytest.fixture(scope="module")
def client_without_decisions(tmp_path_factory):
    """One server for tests that save no decision."""
    with client_of(review_data_of(made_frame(8), tmp_path_factory.mktemp("undecided"))) as found:
        yield found


@pytest.fixture
def app_and_client(tmp_path):
    with client_of(review_data_of(made_frame(8), tmp_path)) as found:
        yield found


def test_start_lists_suspects_worst_first(app_and_client):
    start = app_and_client[1].get("/api/start?session=s").json()
    assert start["chance"] == sorted(start["chance"], reverse=True)
    assert len(start["number"]) == len(start["given"]) == len(start["suggested"]) == 8
    assert start["number"][0] == 0
    assert start["calibrated"]


def test_start_uses_scores_without_calibrated_probabilities(tmp_path):
    with client_of(review_data_of(made_frame(8, calibrated=False), tmp_path)) as (_, client):
        start = client.get("/api/start").json()
    assert not start["calibrated"]
    assert start["chance"][0] > 0.5


def test_start_contains_the_probability_of_the_suggested_class(tmp_path):
    frame = made_frame(8)
    with client_of(review_data_of(frame, tmp_path / "without")) as (_, client):
        assert client.get("/api/start").json()["suggestionChance"] is None
    frame["predicted_probability"] = np.where(frame["index"] == 0, np.nan, 0.71234)
    with client_of(review_data_of(frame, tmp_path / "with")) as (_, client):
        start = client.get("/api/start").json()
    found = dict(zip(start["number"], start["suggestionChance"], strict=True))
    assert found[0] is None
    assert set(found.values()) == {None, 0.7123}


def test_decision_is_written_before_the_response(app_and_client):
    app, client = app_and_client
    answer = decide(client, 6, "relabel", 1, label=2)
    assert answer.json()["saved"][0]["decision"] == "relabel"
    line = json.loads(app.log.path.read_text().splitlines()[-1])
    assert (line["sample"], line["decision"], line["label"], line["reviewer"]) == (
        6,
        "relabel",
        "class 2",
        "anna",
    )


def test_full_disk_returns_status_507(app_and_client, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("noiseproof.labels.decisions._append", full)
    answer = decide(app_and_client[1], 6, "keep", 1)
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
def test_invalid_decisions_are_refused(client_without_decisions, entry):
    app, client = client_without_decisions
    answer = client.post("/api/decide", json={"session": "s", "decisions": [entry]})
    assert answer.status_code == 400
    assert not app.log.path.exists()


def test_repeated_decision_is_saved_once(app_and_client):
    app, client = app_and_client
    decide(client, 6, "keep", 1)
    decide(client, 6, "keep", 1)
    assert len(DecisionLog(app.log.path).decisions) == 1


def test_second_page_is_detected_and_gets_updates(app_and_client):
    client = app_and_client[1]
    first = client.get("/api/start?session=one").json()
    assert first["pages"] == 0
    assert client.get("/api/start?session=two").json()["pages"] == 1
    decide(client, 6, "keep", 1, session="two")
    updates = client.get(f"/api/updates?session=one&after={first['count']}").json()
    assert updates["pages"] == 1
    assert [state["sample"] for state in updates["states"]] == [6]
    client.post("/api/leave", json={"session": "two"})
    assert client.get("/api/updates?session=one").json()["pages"] == 0


def test_decisions_of_another_reviewer_are_merged_with_conflicts(app_and_client):
    app, client = app_and_client
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


def test_servers_of_the_same_labels_list_each_other(tmp_path):
    with client_of(review_data_of(made_frame(8), tmp_path)) as (_, client):
        assert client.get("/api/start?session=one").json()["servers"] == []
        with client_of(review_data_of(made_frame(8), tmp_path), "ben <b>") as (_, other):
            assert client.get("/api/updates?session=one").json()["servers"] == ["ben <b>"]
            assert other.get("/api/start?session=two").json()["servers"] == ["anna"]
        assert client.get("/api/updates?session=one").json()["servers"] == []
    assert not (tmp_path / "decisions.jsonl.open").exists()


def test_restarted_server_shows_earlier_decisions(tmp_path):
    for _ in range(2):
        with client_of(review_data_of(made_frame(8), tmp_path)) as (_, client):
            start = client.get("/api/start").json()
            decide(client, 6, "drop", 1)
    assert [(state["sample"], state["decision"]) for state in start["states"]] == [(6, "drop")]


def test_sample_of_a_run_has_image_margins_and_neighbours(tmp_path, open_client):
    run = small_run(tmp_path / "run")
    client = open_client(ReviewData(run))
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


def test_validation_samples_have_images_and_no_margins(tmp_path, open_client):
    settings = {"data": "digits(samples=60)", "validation": 0.3, "epochs": 1, "device": "cpu"}
    run = fit(Config(model="mlp(hidden=8)", out=str(tmp_path / "run"), **settings))
    client = open_client(ReviewData(run, everything=True))
    for number, has_margins in ((run.outputs["validation_index"][0], False), (run.record.index[0], True)):
        sample = client.get(f"/api/sample/{int(number)}").json()
        assert sample["image"].startswith("data:image/png;base64,")
        assert ("spark" in sample) == has_margins


def test_columns_are_sorted_by_how_well_they_separate_the_classes(tmp_path, open_client):
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
    client = open_client(review_data_of(frame, tmp_path, data=data))
    cells = client.get("/api/sample/0").json()["cells"]
    assert [cell[0] for cell in cells] == ["height", "noise"]
    assert cells[0][1] == "10"
    assert cells[0][4]
    assert float(cells[0][2]) == pytest.approx(0, abs=1)
    assert float(cells[0][3]) == pytest.approx(10, abs=1)
    for one in client.get("/api/related/0?class=1").json()["typicalSuggested"]:
        assert one["brief"].startswith("height ")


def test_identifier_column_has_weight_zero():
    table = pandas.DataFrame({"id": [f"P{row}" for row in range(12)], "kind": ["x"] * 6 + ["y"] * 6})
    columns = Columns(table, {0: list(range(6)), 1: list(range(7, 12))})
    cells = {cell.name: cell for cell in columns.cells(6, 0, 1)[0]}
    assert list(cells) == ["kind", "id"]
    assert (cells["id"].weight, cells["id"].usual_given) == (0, "")
    assert (cells["kind"].usual_given, cells["kind"].usual_suggested) == ("x", "y")


def test_texts_keep_line_breaks_and_lose_control_characters(tmp_path, open_client):
    place = tmp_path / "mails.csv"
    rows = [
        f'"Dear {row},\n\nsecond \x1b[31mline, long enough to be shown as text",{row},{"ab"[row % 2]}'
        for row in range(8)
    ]
    place.write_text("\n".join(["text,x,label", *rows]) + "\n")
    frame = made_frame(8, 2, names=["a", "b"])
    frame["index"] = np.arange(8)
    spec = f'csv(path="{place}", features="x")'
    client = open_client(review_data_of(frame, tmp_path, data=spec))
    sample = client.get("/api/sample/3").json()
    assert sample["texts"] == [["text", "Dear 3,\n\nsecond [31mline, long enough to be shown as text"]]
    assert [cell[0] for cell in sample["cells"]] == ["x"]


def test_missing_inputs_are_explained(tmp_path, open_client):
    run = small_run(tmp_path / "run", settings={"data": 'csv(path="/nowhere.csv")', "loss": "ce"})
    client = open_client(ReviewData(run))
    start = client.get("/api/start").json()
    assert "cannot be loaded" in start["whyNoInputs"]
    assert client.get(f"/api/sample/{start['number'][0]}").status_code == 200


def test_frame_needs_a_decisions_file():
    with pytest.raises(ValueError, match="pass the file of decisions"):
        ReviewData(made_frame(3))
