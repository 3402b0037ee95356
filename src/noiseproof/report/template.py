"""Templates in which every word is escaped unless it is markup made here."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    """Autoescape does not depend on a file's name: it is always on."""
    loader = PackageLoader("noiseproof.report", "templates")
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def render(template: str, **values: Any) -> str:
    """The page of a template."""
    return _environment().get_template(template).render(**values)
