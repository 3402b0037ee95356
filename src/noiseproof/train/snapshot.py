"""The tensors of a session as they were, put back into the same memory."""

from __future__ import annotations

import torch
from torch import Tensor

from .nested import flatten
from .session import Session

PARTS = ("model", "method", "optimizer", "recorder", "meter")


class Snapshot:
    """A copy of all that training changes; ``restore`` writes into the tensors that are there.

    A captured step reads and writes fixed places, so tensors must not be replaced. What an optimiser has made
    since then becomes zero, as it is before a first step.

    Example:
        >>> from noiseproof.train import Config
        >>> from noiseproof.train.task import make_task
        >>> session = Session(config := Config(), make_task(config), torch.device("cpu"))
        >>> before = Snapshot(session)
        >>> _ = session.model.head.weight.data.zero_()
        >>> before.restore(session)
        >>> bool(session.model.head.weight.any())
        True
    """

    def __init__(self, session: Session) -> None:
        self._before = {name: values.clone() for name, values in _tensors(session).items()}

    def restore(self, session: Session) -> None:
        with torch.no_grad():
            for name, values in _tensors(session).items():
                values.copy_(self._before[name]) if name in self._before else values.zero_()


def _tensors(session: Session) -> dict[str, Tensor]:
    state = session.state()
    found, _ = flatten({part: state[part] for part in PARTS})
    return found | {"first_bad": session.first_bad}
