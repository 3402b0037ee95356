"""A local web page to review suspected labels, one by one or many at once."""

from .review_data import ReviewData
from .server import review

__all__ = ["ReviewData", "review"]
