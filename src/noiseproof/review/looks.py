"""A sample as the page shows it: a picture, a text or a row, and its margin over the epochs."""

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
from ..report.wording import shown
from .columns import Columns
from .neighbours import Neighbours
from .subject import Subject

LARGEST_SIDE = 640
BRIEF = 160
"""Characters of a sample that stands beside the one looked at."""


class Looks:
    """Everything that can be seen of one sample, read when asked for."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.neighbours = Neighbours(subject)

    @cached_property
    def columns(self) -> Columns | None:
        table = self.subject.table
        return None if table is None else Columns(table, self.neighbours.typical)

    def sample(self, number: int) -> dict[str, Any]:
        """The sample in full."""
        row = self.subject.place[number]
        given, suggested = int(self.subject.given[row]), int(self.subject.suggested[row])
        found: dict[str, Any] = {"number": number, "given": given, "suggested": suggested}
        found |= self._picture(number, large=True)
        if self.columns is not None and number in self.columns.table.index:
            cells, total = self.columns.cells(number, given, suggested if suggested >= 0 else given)
            found["texts"] = self.columns.texts(number)
            found["cells"] = [
                [cell.name, cell.value, cell.usual_given, cell.usual_suggested, cell.weight >= 0.5]
                for cell in cells
            ]
            found["moreColumns"] = total - len(cells)
        record = self.subject.record
        if record is not None:
            margin = record.margin[:, row]
            size = float(margin.float().nan_to_num().abs().max())
            found |= {"spark": spark_points(margin, max(1.0, size)), "epochs": record.epochs, "limit": size}
        return found

    def beside(self, number: int, chosen: int) -> dict[str, Any]:
        """Nearest samples, and typical ones of the given class and of the class ``chosen``."""
        row = self.subject.place[number]
        given = int(self.subject.given[row])
        near, is_other = self.neighbours, chosen not in (given, -1)
        groups = {
            "nearest": near.nearest(number),
            "typicalGiven": near.typical_of(given, number),
            "typicalSuggested": near.typical_of(chosen, number) if is_other else [],
        }
        classes = given, chosen if is_other else given
        told = {
            name: [self._brief(one, number, *classes) for one in samples] for name, samples in groups.items()
        }
        return {"number": number} | told

    def _brief(self, number: int, beside: int, given: int, chosen: int) -> dict[str, Any]:
        row = self.subject.place[number]
        found: dict[str, Any] = {"number": number, "given": int(self.subject.given[row])}
        found["suspect"] = bool(self.subject.is_issue[row])
        found |= self._picture(number, large=False)
        if self.columns is not None and all(one in self.columns.table.index for one in (number, beside)):
            found["brief"] = shown(self.columns.brief(number, beside, given, chosen), BRIEF)
        return found

    def _picture(self, number: int, *, large: bool) -> dict[str, Any]:
        inputs = self.subject.inputs
        if inputs is None or number not in inputs.place:
            return {}
        found: dict[str, Any] = {}
        if large and (file := inputs.file(number)) is not None:
            found["file"] = shown(file, 300)
        if inputs.are_images:
            try:
                image = _read(inputs, number, whole=large)
            except (OSError, ValueError) as problem:
                return found | {"why": shown(problem, 200)}
            found["image"] = _large(image) if large else thumbnail(image)
            found["size"] = [image.shape[1], image.shape[0]]
        return found


def _read(inputs: Inputs, number: int, *, whole: bool) -> NDArray[np.uint8]:
    """An image (H, W, 3): from its file in its own size if ``whole``, else as the network sees it."""
    file = inputs.file(number) if whole else None
    if file is not None:
        return np.ascontiguousarray(read_image(file, mode="RGB", size=None).transpose(1, 2, 0))
    with on_the_cpu():
        return pixels(inputs.read([number])[0])


def _large(image: NDArray[np.uint8]) -> str:
    from PIL import Image

    picture = Image.fromarray(image)
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    kind = "png" if max(picture.size) <= 2 * SMALL else "jpeg"
    memory = io.BytesIO()
    picture.save(memory, kind, **({} if kind == "png" else {"quality": 88}))
    return data_uri(memory.getvalue(), kind)
