"""Colours differ under colour blindness and have contrast on the light and the dark page."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import noiseproof.report
from noiseproof.losses.curves.drawing import COLOURS
from noiseproof.report.palette import CLEAN, FAINT, RECOVERED, SUSPECTED, WRONG, loss_lines

MEANINGS = (CLEAN, WRONG, RECOVERED, SUSPECTED)
STYLE = (Path(noiseproof.report.__file__).parent / "templates" / "style.css").read_text()
DARK = dict(re.findall(r"--(\w+): (#\w+)", STYLE.split("prefers-color-scheme: dark")[1].split("}")[0]))
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""Machado, Oliveira & Fernandes, A Model for Simulation of Color Vision Deficiency, TVCG 2009."""


def linear(colour):
    value = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    white = np.array([0.9505, 1.0, 1.089])
    ratio = np.clip(matrix @ np.clip(rgb, 0, 1), 0, None) / white
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    light = sorted(
        (float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other)), reverse=True
    )
    return (light[0] + 0.05) / (light[1] + 0.05)


@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_differ_under_colour_blindness(kind, theme):
    names = ("clean", "wrong", "recovered", "suspected")
    colours = MEANINGS if theme == "light" else tuple(DARK[name] for name in names)
    seen = [lab(np.array(BLINDNESS[kind]) @ linear(colour)) for colour in colours]
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(one - other) > 15


def test_marks_have_contrast_to_the_background():
    for name, colour in zip(("clean", "wrong", "recovered", "suspected"), MEANINGS, strict=True):
        assert contrast(colour, "#ffffff") > 2.9
        assert contrast(DARK[name], DARK["paper"]) > 4.5
    assert contrast(FAINT, "#ffffff") > 4.5


def test_text_has_contrast_to_the_background():
    light = dict(re.findall(r"--(\w+): (#\w+)", STYLE.split("@media")[0]))
    for theme in (light, DARK):
        for ink, paper in itertools.product(("ink", "faint", "link"), ("paper", "card")):
            assert contrast(theme[ink], theme[paper]) > 4.5


def test_loss_colour_does_not_depend_on_other_losses():
    for company in (["mae"], ["gce(q=0.7)", "sl"], ["nce + mae", "gr", "imae"]):
        assert loss_lines([*company, "ce"])["ce"]["color"] == COLOURS[0]


def test_eight_losses_have_eight_colours_and_line_styles():
    lines = loss_lines(["ce", "gce(q=0.1)", "gce(q=0.2)", "gce(q=0.3)", "mae", "peer(ce)", "x", "y"]).values()
    assert len({line["color"] for line in lines}) == 8
    assert len({str(line["linestyle"]) for line in lines}) == 8
