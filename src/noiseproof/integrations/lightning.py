"""Lightning: a callback that records training dynamics. Needs the extra ``lightning``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..dynamics import Record, Recorder
from ..labels import find

try:
    from lightning.pytorch import Callback  # type: ignore[import-not-found, import-untyped]
except ImportError:
    try:
        from pytorch_lightning import Callback  # type: ignore[import-not-found, import-untyped]
    except ImportError as problem:
        raise ImportError("lightning is not installed: pip install 'noiseproof[lightning]'") from problem

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

Read = Callable[[Any, Any], tuple[Any, Any, Any]]
KEYS = ("index", "logits", "label")


class RecordCallback(Callback):  # type: ignore[misc]
    """Records every training batch; ``find()`` finds wrong labels by the record.

    ``training_step`` returns a dict with ``loss``, and with ``index`` (permanent numbers of the samples),
    ``logits`` and ``label``. Under DDP each process records its part, and the parts are merged at the end
    of each epoch. The record is in the checkpoints; under DDP save them at the end of an epoch, as
    Lightning does by default.

    Args:
        num_samples: size of the training data, or a tuple of sizes, as for ``dynamics.Recorder``.
        read: a function from the result of ``training_step`` and its batch to (index, logits, label), if the
            result has other keys.
        options: of ``dynamics.Recorder``.

    Example::

        def training_step(self, batch, batch_idx):
            input, label, index = batch
            logits = self(input)
            return {"loss": self.loss(logits, label), "index": index, "logits": logits, "label": label}

        callback = RecordCallback(len(dataset))
        Trainer(callbacks=[callback], max_epochs=20).fit(module, loader)
        suspects = callback.find()
    """

    def __init__(
        self,
        num_samples: int | Sequence[int],
        *,
        read: Read | None = None,
        class_names: Sequence[str] | None = None,
        ignore_index: int = -100,
        binary: bool = False,
    ) -> None:
        super().__init__()
        self.recorder = Recorder(
            num_samples, class_names=class_names, ignore_index=ignore_index, binary=binary
        )
        self._read = read or _by_key

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.recorder.write(*self._read(outputs, batch))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self.recorder.end_epoch()

    def state_dict(self) -> dict[str, Any]:
        return dict(self.recorder.state_dict())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.recorder.load_state_dict(state_dict)

    def record(self) -> Record:
        """The record of the completed epochs, equal in all processes."""
        return self.recorder.record()

    def find(self, **options: Any) -> DataFrame:
        """``labels.find`` for the record."""
        return find(self.record(), **options)


def _by_key(outputs: Any, batch: Any) -> tuple[Any, Any, Any]:
    if not isinstance(outputs, Mapping) or not set(KEYS) <= set(outputs):
        got = sorted(outputs) if isinstance(outputs, Mapping) else type(outputs).__name__
        raise ValueError(
            f"training_step must return a dict with loss, {', '.join(KEYS)}, but returned {got}: add them, or"
            " pass RecordCallback(..., read=lambda outputs, batch: (index, logits, label))"
        )
    return tuple(outputs[key] for key in KEYS)  # type: ignore[return-value]
