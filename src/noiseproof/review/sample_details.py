"""Details of a sample for the page: image, text or row, margins over the epochs, and related samples."""

from __future__ import annotations

import io
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.images import read_image
from ..memory import on_the_cpu
from ..report.inputs import Inputs, pixels
from ..report.markup import SMALL, data_uri, spark_points, thumbnail
from ..report.text import one_line
from .columns import Columns
from .neighbours import Neighbours
from .review_data import ReviewData

MAX_IMAGE_SIDE = 640
BRIEF = 160
"""Characters in the short form of a related sample."""


class SampleDetails:
    """Details of samples, loaded on request."""

    def __init__(self, review_data: ReviewData) -> None:
        self.review_data = review_data
        self.neighbours = Neighbours(review_data)

    @cached_property
    def columns(self) -> Columns | None:
        table = self.review_data.table
        return None if table is None else Columns(table, self.neighbours.typical)

    def sample(self, number: int) -> dict[str, Any]:
        """All details of one sample."""
        row = self.review_data.row_of[number]
        given, suggested = int(self.review_data.given[row]), int(self.review_data.suggested[row])
        found: dict[str, Any] = {"number": number, "given": given, "suggested": suggested}
        found |= self._image(number, large=True)
        if self.columns is not None and number in self.columns.table.index:
            cells, total = self.columns.cells(number, given, suggested if suggested >= 0 else given)
            found["texts"] = self.columns.texts(number)
            found["cells"] = [
                [cell.name, cell.value, cell.usual_given, cell.usual_suggested, cell.weight >= 0.5]
                for cell in cells
            ]
            found["moreColumns"] = total - len(cells)
        record = self.review_data.record
        place = [] if record is None else (record.index == number).nonzero().flatten().tolist()
        if record is not None and place:  # not of validation
            margin = record.margin[:, place[0]]
            size = float(margin.float().nan_to_num().abs().max())
            found |= {"spark": spark_points(margin, max(1.0, size)), "epochs": record.epochs, "limit": size}
        return found

    def related(self, number: int, chosen: int) -> dict[str, Any]:
        """The nearest samples, and typical samples of the given class and of the class ``chosen``."""
        row = self.review_data.row_of[number]
        given = int(self.review_data.given[row])
        near, is_other = self.neighbours, chosen not in (given, -1)
        groups = {
            "nearest": near.nearest(number),
            "typicalGiven": near.typical_of(given, number),
            "typicalSuggested": near.typical_of(chosen, number) if is_other else [],
        }
        classes = given, chosen if is_other else given
        brief = {
            name: [self._brief(one, number, *classes) for one in samples] for name, samples in groups.items()
        }
        return {"number": number} | brief

    def _brief(self, number: int, reviewed: int, given: int, chosen: int) -> dict[str, Any]:
        row = self.review_data.row_of[number]
        found: dict[str, Any] = {"number": number, "given": int(self.review_data.given[row])}
        found["suspect"] = bool(self.review_data.is_issue[row])
        found |= self._image(number, large=False)
        if self.columns is not None and all(one in self.columns.table.index for one in (number, reviewed)):
            found["brief"] = one_line(self.columns.brief(number, reviewed, given, chosen), BRIEF)
        return found

    def _image(self, number: int, *, large: bool) -> dict[str, Any]:
        inputs = self.review_data.inputs_with(number)
        if inputs is None:
            return {}
        found: dict[str, Any] = {}
        if large and (file := inputs.file(number)) is not None:
            found["file"] = one_line(file, 300)
        if inputs.are_images:
            try:
                image = _read(inputs, number, whole=large)
            except (OSError, ValueError) as problem:
                return found | {"why": one_line(problem, 200)}
            found["image"] = _large(image) if large else thumbnail(image)
            found["size"] = [image.shape[1], image.shape[0]]
        return found


def _read(inputs: Inputs, number: int, *, whole: bool) -> NDArray[np.uint8]:
    """An image (H, W, 3): its file in original size if ``whole``, otherwise the input of the network."""
    file = inputs.file(number) if whole else None
    if file is not None:
        return np.ascontiguousarray(read_image(file, mode="RGB", size=None).transpose(1, 2, 0))
    with on_the_cpu():
        return pixels(inputs.read([number])[0])


def _large(image: NDArray[np.uint8]) -> str:
    from PIL import Image

    picture = Image.fromarray(image)
    picture.thumbnail((MAX_IMAGE_SIDE, MAX_IMAGE_SIDE))
    kind = "png" if max(picture.size) <= 2 * SMALL else "jpeg"
    memory = io.BytesIO()
    picture.save(memory, kind, **({} if kind == "png" else {"quality": 88}))
    return data_uri(memory.getvalue(), kind)
