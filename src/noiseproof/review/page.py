"""The page: one HTML file with inline style and scripts, which loads no other resources."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy: only scripts and styles with the nonce of this response are used."""
SCRIPTS = ("elements", "server", "suspects", "sample", "list", "pairs", "chooser", "progress", "main")
"""Files in order of dependency: each uses only names of the files before it."""


def page(nonce: str) -> str:
    """The HTML with the nonce of its response."""
    return Template(_parts()).substitute(nonce=nonce)


@cache
def _parts() -> str:
    folder = files("noiseproof.review") / "templates"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8").replace("$", "$$")

    script = "\n".join(read(f"{name}.js") for name in SCRIPTS)
    frame = (folder / "page.html").read_text(encoding="utf-8")
    return Template(frame).safe_substitute(style=read("page.css"), script=script)
