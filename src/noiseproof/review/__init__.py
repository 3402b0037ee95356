"""A local web page for people who look at labels: decide about suspects, one by one or many at once."""

from .server import review
from .subject import Subject

__all__ = ["Subject", "review"]
