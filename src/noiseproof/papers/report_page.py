"""All pages on the papers as one self-contained HTML file: what ``noiseproof papers report`` writes."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

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
"""Below the folder of the tables, in order; a page that is not there is left out."""
TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
STYLE = """
:root { color-scheme: light dark; --text: #222; --soft: #666; --line: #ddd; --back: #fff; --mark: #f4f4f4; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --soft: #999; --line: #444; --back: #1b1b1b; --mark: #2a2a2a; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 0; }
main { max-width: 70rem; margin: 0 auto; padding: 0 1rem 4rem; }
nav { position: sticky; top: 0; background: var(--back); padding: .6rem 1rem; }
nav { border-bottom: 1px solid var(--line); }
nav a { margin-right: 1rem; color: inherit; } h1 { margin-top: 3rem; } h2 { margin-top: 2rem; }
section { border-bottom: 1px solid var(--line); scroll-margin-top: 4rem; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .9em; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
img { max-width: 100%; background: #fff; } code, pre { background: var(--mark); border-radius: 3px; }
code { padding: 0 .25em; } pre { padding: .8rem; overflow-x: auto; } blockquote { color: var(--soft); }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(folder: Path) -> str:
    """The HTML of all pages below a folder such as ``tables``.

    Raises:
        FileNotFoundError: if the folder has none of them.
    """
    found = {name: folder / name for name in PAGES if (folder / name).is_file()}
    if not found:
        raise FileNotFoundError(f"{folder} has no page such as gr.md: name the folder of the tables")
    links = {path.resolve(): anchor(name) for name, path in found.items()}
    sections = [
        f'<section id="{anchor(name)}">\n{to_html(path, links)}</section>' for name, path in found.items()
    ]
    menu = "".join(f'<a href="#{anchor(name)}">{escape(PAGES[name])}</a>' for name in found)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>noiseproof: the papers</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style></head>\n<body><nav>{menu}</nav>\n<main>\n"
        + "\n".join(sections)
        + "\n</main></body></html>\n"
    )


def anchor(name: str) -> str:
    """
    >>> anchor("gr_defaults/README.md"), anchor("README.md")
    ('defaults-of-gr', 'overview')
    """
    return re.sub(r"\W+", "-", PAGES[name].lower())


def to_html(path: Path, links: Mapping[Path, str]) -> str:
    """A page with its pictures in it; links to other pages lead within the file, to other files nowhere."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(path.read_text(encoding="utf-8"))
    for token in tokens:
        for child in token.children or ():
            _point(child, path.parent, links)
    html = str(reader.renderer.render(tokens, reader.options, {}))
    return html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


def _point(token: Token, folder: Path, links: Mapping[Path, str]) -> None:
    if token.type == "image":
        token.attrs["src"] = embedded(folder / str(token.attrs["src"]))
    elif token.type == "link_open":
        target = str(token.attrs.pop("href"))
        name = target.partition("#")[0]
        inside = links.get((folder / name).resolve()) if name else None
        if inside is not None:
            token.attrs["href"] = f"#{inside}"
        elif target.startswith("https://"):
            token.attrs["href"] = target


def embedded(picture: Path) -> Any:
    """A picture as a data URL."""
    if picture.suffix not in TYPES:
        raise ValueError(f"{picture} is not a {' or '.join(TYPES)} picture")
    data = base64.b64encode(picture.read_bytes()).decode()
    return f"data:{TYPES[picture.suffix]};base64,{data}"
