"""Parts of a page: figures as SVG in the colours of the page, thumbnails, and templates."""

from __future__ import annotations

import base64
import io
import re
import warnings
from functools import cache
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from .palette import CLEAN, FAINT, INK, PAPER, RECOVERED, SUSPECTED, WRONG

MAX_SVG_CHARACTERS = 250_000
"""Maximum number of characters of an SVG figure; a larger figure is embedded as PNG."""
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
NAMES = {CLEAN: "clean", WRONG: "wrong", RECOVERED: "recovered", SUSPECTED: "suspected"} | {
    FAINT: "faint",
    PAPER: "paper",
}
ON_PAGE = {colour.lower(): f"var(--{name}, {colour})" for colour, name in NAMES.items()} | {
    INK: "currentColor"
}
"""CSS variables of colours, which are lighter on a dark page."""
UNWANTED = (f"{{{SVG}}}metadata", f"{{{SVG}}}title")
SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "noiseproof", "axes.unicode_minus": True}


def embed(ax: Axes, name: str, description: str) -> Markup:
    """The figure of these axes as markup; ``name`` must be unique on the page.

    Text of the user is escaped by the SVG writer of matplotlib and again when the tree is serialised.
    """
    figure = ax.figure
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    root = ElementTree.fromstring(_saved(ax, "svg"))  # noqa: S314 - written by matplotlib
    _adapt(root, name, description)
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    text = ElementTree.tostring(root, encoding="unicode")
    return Markup(text) if len(text) <= MAX_SVG_CHARACTERS else _png(ax, description)  # noqa: S704 - escaped above


def data_uri(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _saved(ax: Axes, kind: str) -> bytes:
    memory = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {}
    with mpl.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # browsers have more glyphs
        ax.figure.savefig(memory, format=kind, dpi=110, metadata=metadata, transparent=kind == "svg")  # type: ignore[union-attr]
    return memory.getvalue()


def _png(ax: Axes, description: str) -> Markup:
    """The figure as PNG with a white background, as its colours cannot follow the page."""
    ax.figure.patch.set_visible(True)
    ax.figure.patch.set_facecolor("white")
    uri = data_uri(_saved(ax, "png"), "png")
    return Markup('<img class="onwhite" src="{}" alt="{}">').format(uri, description)


def _adapt(root: ElementTree.Element, name: str, description: str) -> None:
    """Set accessible name, unique ids, colours of the page, and a width relative to the page."""
    for parent in root.iter():
        for child in [child for child in parent if child.tag in UNWANTED]:
            parent.remove(child)
        for attribute, value in list(parent.attrib.items()):
            parent.set(attribute, _adapted(attribute, value, name))
    width = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height")
    root.set("style", f"max-width: {width * 1.33:.0f}px")
    root.set("fill", "currentColor")
    root.set("role", "img")
    root.set("aria-label", description)


def _adapted(attribute: str, value: str, name: str) -> str:
    if attribute == "id":
        return f"{name}-{value}"
    if attribute in ("href", f"{{{XLINK}}}href") and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    value = value.replace("url(#", f"url(#{name}-")
    if attribute != "style":
        return value
    return re.sub(r"#[0-9a-f]{6}", lambda found: ON_PAGE.get(found.group(), found.group()), value)


MAX_THUMBNAIL_SIDE = 96
SMALL = 48
"""Largest side in pixels of thumbnails stored as PNG, which is smaller than JPEG for these."""
SPARK = (100.0, 24.0)


def thumbnail(image: NDArray[np.uint8]) -> str:
    """A data URI of an image (H, W, 3), scaled to at most 96 pixels.

    Example:
        >>> thumbnail(np.zeros((200, 100, 3), np.uint8))[:23]
        'data:image/jpeg;base64,'
    """
    picture = Image.fromarray(image)
    picture.thumbnail((MAX_THUMBNAIL_SIDE, MAX_THUMBNAIL_SIDE))
    kind = "png" if max(picture.size) <= SMALL else "jpeg"
    memory = io.BytesIO()
    picture.save(memory, kind, **({"optimize": True} if kind == "png" else {"quality": 80}))
    return data_uri(memory.getvalue(), kind)


def spark_points(margin: Tensor, limit: float) -> str:
    """Points of an SVG polyline of the margins (E,) of one sample; a margin of 0 is at half height.

    Example:
        >>> import torch
        >>> spark_points(torch.tensor([-10.0, torch.nan, 10.0]), 8.0)
        '0.0,24.0 100.0,0.0'
    """
    values = margin.float().tolist()
    width, height = SPARK
    step = width / max(1, len(values) - 1)
    kept = [(epoch * step, value) for epoch, value in enumerate(values) if value == value]
    heights = [0.5 - 0.5 * max(-1.0, min(1.0, value / limit)) for _, value in kept]
    return " ".join(f"{x:.1f},{height * share:.1f}" for (x, _), share in zip(kept, heights, strict=True))


@cache
def _environment() -> Environment:
    """The environment of templates; autoescape is always on, independent of file names."""
    loader = PackageLoader("noiseproof.report", "templates")
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def render(template: str, **values: Any) -> str:
    """Render a template."""
    return _environment().get_template(template).render(**values)
