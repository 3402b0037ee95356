"""All pages on the papers as one self-contained HTML file, for ``noiseproof papers report``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from .. import __version__
from ..report.markup import data_uri, render

PAGES: Mapping[str, str] = {
    "README.md": "Overview",
    "claims.md": "Claims",
    "gr.md": "GR",
    "imae.md": "IMAE",
    "sl.md": "SL",
    "nal.md": "NAL",
    "curriculum.md": "Curriculum",
    "gr_defaults/README.md": "Defaults of gr",
    "methods/README.md": "Methods",
    "small_scale/README.md": "Small scale",
    "../docs/errata.md": "Errata",
    "cells.md": "All cells",
}
"""File below the folder of the tables -> title, in order; missing files are left out."""
KINDS = {".png": "png", ".svg": "svg+xml"}


class Page(NamedTuple):
    """A section of the HTML file."""

    anchor: str
    title: str
    markup: Markup


def page(folder: Path) -> str:
    """The HTML of all pages below a folder such as ``tables``.

    Raises:
        FileNotFoundError: if the folder has no page.
    """
    found = {name: folder / name for name in PAGES if (folder / name).is_file()}
    if not found:
        raise FileNotFoundError(f"{folder} has no page such as gr.md: give the folder of the tables")
    links = {path.resolve(): anchor(name) for name, path in found.items()}
    pages = [Page(anchor(name), PAGES[name], to_html(path, links)) for name, path in found.items()]
    return render("papers.html", title="the papers", pages=pages, version=__version__)


def anchor(name: str) -> str:
    """
    >>> anchor("gr_defaults/README.md"), anchor("README.md")
    ('defaults-of-gr', 'overview')
    """
    return re.sub(r"\W+", "-", PAGES[name].lower())


def to_html(path: Path, links: Mapping[Path, str]) -> Markup:
    """A page with its pictures; links to other pages stay within the file, other local links are removed."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(path.read_text(encoding="utf-8"))
    for token in tokens:
        for child in token.children or ():
            _point(child, path.parent, links)
    html = str(reader.renderer.render(tokens, reader.options, {}))
    html = html.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    return Markup(html)  # noqa: S704 - markdown-it escapes every word, and html is off


def _point(token: Token, folder: Path, links: Mapping[Path, str]) -> None:
    if token.type == "image":
        picture = folder / str(token.attrs["src"])
        if picture.suffix not in KINDS:
            raise ValueError(f"{picture} is not a {' or '.join(KINDS)} picture")
        token.attrs["src"] = data_uri(picture.read_bytes(), KINDS[picture.suffix])
    elif token.type == "link_open":
        target = str(token.attrs.pop("href"))
        name = target.partition("#")[0]
        inside = links.get((folder / name).resolve()) if name else None
        if inside is not None:
            token.attrs["href"] = f"#{inside}"
        elif target.startswith("https://"):
            token.attrs["href"] = target
