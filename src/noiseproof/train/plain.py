"""Steps one by one, as they are written."""

from __future__ import annotations

from collections.abc import Iterator

from .batches import batches
from .capture import alone
from .order import epoch_order
from .session import Session
from .step import train_step


class PlainSteps:
    """Runs every step anew: works everywhere."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def epoch(self) -> Iterator[None]:
        """The rest of the current epoch, a step at a time."""
        session = self.session
        order = epoch_order(session.train.index, seed=session.config.seed, epoch=session.epoch)
        parts = [order[start:stop] for start, stop in session.bounds_left()]
        for batch in batches(session.train, parts, session.device):
            lr = session.learning_rate()
            session.set_learning_rate(lr)
            with alone:
                train_step(session, batch, session.views.train(batch, session.epoch), lr, session.batch)
            session.count_step()
            yield
