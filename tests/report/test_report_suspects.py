"""Cards of suspects and their inputs."""

import base64
import dataclasses
import io

import numpy as np
import pytest
import torch
from PIL import Image

from noiseproof.data import ImageFiles, LabelledData
from noiseproof.report import NotAvailableError
from noiseproof.report.evidence import Evidence
from noiseproof.report.inputs import Inputs, inputs_of, pixels
from noiseproof.report.markup import _environment, spark_points, thumbnail
from noiseproof.report.suspects import UNKNOWN, Suspect, suspects_of
from noiseproof.testing import example_record
from noiseproof.train import Config, fit


def numbered_images(record, order):
    """Images in this order; the image of sample k has grey value k."""
    grey = record.index[order].to(torch.uint8)[:, None, None, None].expand(-1, 1, 8, 8)
    return LabelledData(grey.contiguous(), record.label[order], index=record.index[order])


def decoded_image(uri):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


def test_cards_show_the_image_of_their_sample():
    record = example_record(200, 8)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(3))
    found = suspects_of(Evidence(record), numbered_images(record, order))
    assert len(found.worst) == min(60, found.total)
    assert found.why_no_inputs is None
    for card in found.worst:
        assert (decoded_image(card.image) == card.number).all()
        assert card.given == f"class {record.label[card.number]}"
        assert card.truth == f"class {record.clean_label[card.number]}"
        assert card.is_wrong == bool(record.flipped[card.number])


def test_cards_are_the_suspects_of_find_worst_first():
    evidence = Evidence(example_record(300))
    frame = evidence.suspects
    cards = suspects_of(evidence, max_suspects=1000).worst
    chances = [card.chance for card in cards]
    assert chances == sorted(chances, reverse=True)
    assert {card.number for card in cards} == set(frame["index"][frame["is_label_issue"]])


def test_pairs_are_sorted_by_count():
    record = example_record(400)
    record.label[:], record.clean_label[:] = 0, 0
    found = suspects_of(Evidence(example_record(400))).pairs
    assert [times for *_, times in found] == sorted((times for *_, times in found), reverse=True)
    assert all(given != suggested for given, suggested, _ in found)


def test_given_label_is_not_suggested():
    evidence = Evidence(example_record(200))
    frame = evidence.suspects
    frame["predicted_label"] = frame["given_label"]
    found = suspects_of(evidence)
    assert {card.suggested for card in found.worst} == {UNKNOWN}
    assert found.pairs == ()


def test_cards_of_numeric_rows_show_the_first_values():
    record = example_record(50)
    data = LabelledData(torch.arange(500.0).reshape(50, 10), record.label)
    card = suspects_of(Evidence(record), data).worst[0]
    assert card.image is None
    assert card.values == ", ".join(f"{10 * card.number + k:.4g}" for k in range(8)) + ", …"


def test_cards_of_table_rows_show_their_columns():
    record = example_record(50)
    names = ("area", "n" * 100, *"cdefghij")
    data = LabelledData(torch.arange(500.0).reshape(50, 10) + 1000, record.label, columns=names)
    card = suspects_of(Evidence(record), data).worst[0]
    assert card.values is None
    assert [name for name, _ in card.columns] == ["area", "n" * 59 + "…", *"cdefgh"]
    assert [int(value) for _, value in card.columns] == list(
        range(10 * card.number + 1000, 10 * card.number + 1008)
    )


def test_clean_label_equal_to_the_label_is_not_shown():
    record = example_record(200, known=True)
    told = suspects_of(Evidence(record)).worst
    assert any(card.is_wrong for card in told)
    same = dataclasses.replace(record, clean_label=record.label)
    cards = suspects_of(Evidence(same)).worst
    assert cards
    assert {(card.truth, card.is_wrong) for card in cards} == {(None, None)}


def test_missing_inputs_are_explained():
    found = suspects_of(Evidence(example_record(50)))
    assert found.why_no_inputs == "the source of the inputs is not known: pass data=..."
    assert found.worst[0].image is None
    less = numbered_images(example_record(50), torch.arange(20))
    assert (
        "is not in the data: they have changed since training"
        in suspects_of(Evidence(example_record(50)), less).why_no_inputs
    )
    assert "unknown source 'nothing'" in suspects_of(Evidence(example_record(50)), "nothing").why_no_inputs


def test_changed_data_are_not_shown(tmp_path):
    place = tmp_path / "p.npz"
    inputs, label = np.arange(120.0).reshape(60, 2), np.arange(60) % 3
    np.savez(place, x_train=inputs, y_train=label)
    settings = {"noise": "symmetric(0.3)", "validation": 0.2, "epochs": 1, "device": "cpu"}
    run = fit(
        Config(data=f'npz(path="{place}")', model="mlp(hidden=8)", out=str(tmp_path / "run"), **settings)
    )
    shown = run.record.index[[7, 3]].tolist()
    assert inputs_of(Evidence.of(run)).read(shown).tolist() == inputs[shown].tolist()
    np.savez(place, x_train=inputs[::-1], y_train=label[::-1])
    with pytest.raises(NotAvailableError, match=r"cannot be loaded: the data of \S+ have changed since"):
        inputs_of(Evidence.of(run))


def test_file_names_of_a_subset(tmp_path):
    paths = []
    for number in range(6):
        paths.append(tmp_path / f"photo {number}.png")
        Image.new("RGB", (9, 8), (number, 0, 0)).save(paths[-1])
    data = LabelledData(ImageFiles(paths), [0, 1, 0, 1, 0, 1])
    inputs = Inputs(data.subset([5, 2, 0]))
    assert inputs.file(2) == str(paths[2])
    assert int(inputs.read([2])[0, 0, 0, 0]) == 2
    assert Inputs(LabelledData(torch.ones(2, 3), [0, 1])).file(0) is None


def test_run_without_data_source_needs_data():
    with pytest.raises(NotAvailableError, match="pass data="):
        inputs_of(Evidence(example_record(20)))


def test_pixels_keep_uint8_and_scale_other_ranges():
    grey = torch.arange(16, dtype=torch.uint8).reshape(1, 4, 4)
    np.testing.assert_array_equal(pixels(grey)[..., 0], grey[0])
    np.testing.assert_array_equal(pixels(grey / 255)[..., 2], grey[0])
    wide = pixels(torch.linspace(-3, 5, 16).reshape(4, 4))
    assert (wide.min(), wide.max(), wide.shape) == (0, 255, (4, 4, 3))
    assert (pixels(torch.full((1, 4, 4), 7.0)) == 0).all()


def test_thumbnails_are_small_and_exact_for_small_images():
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    np.testing.assert_array_equal(decoded_image(thumbnail(image)), image)
    large = thumbnail(np.zeros((3000, 1000, 3), np.uint8))
    assert decoded_image(large).shape[:2] == (96, 32)
    assert len(large) < 4000


def test_spark_points_are_clipped_to_the_frame():
    found = spark_points(torch.tensor([-1e4, 0.0, 1e4, torch.nan]), 10.0)
    assert found == "0.0,24.0 33.3,12.0 66.7,0.0"


@pytest.mark.parametrize(
    ("chance", "words"), [(0.5, "50%"), (0.994, "99%"), (0.9996, "&gt;99%"), (1.0, "100%")]
)
def test_only_certainty_is_shown_as_100_percent(chance, words):
    card = Suspect(3, "cat", "dog", None, None, chance, spark="0,0")
    template = _environment().get_template("parts.html")
    assert f"wrong: {words}" in str(template.module.card(card))
