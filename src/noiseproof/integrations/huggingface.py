"""Hugging Face Trainer: robust losses, records, and fused losses of language models. Extra: ``hf``."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from .. import losses, processes
from ..dynamics import Record, Recorder
from ..labels import find
from ..losses import Loss

try:
    from transformers import TrainerCallback  # type: ignore[import-not-found, import-untyped]
    from transformers.modeling_outputs import (  # type: ignore[import-not-found, import-untyped]
        CausalLMOutput,
    )
except ImportError as problem:
    raise ImportError("transformers is not installed: pip install 'noiseproof[hf]'") from problem

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

SAVED = "noiseproof-{}.safetensors"
"""File in each checkpoint, one per process."""


class compute_loss:  # noqa: N801  (used as a function)
    """A loss for ``Trainer(compute_loss_func=...)``.

    Trainer sums the losses of the accumulated batches of a step, so they must be divided by the total number
    of labels, ``num_items_in_batch``; means over batches would be too large by the number of accumulated
    batches. The sum over labels that are not -100 is divided by it.

    Args:
        loss: spec of a loss, or a Loss; class weights multiply losses, but not the number of labels.
        causal: for language models, whose logits at one position are for the label at the next.

    Shape:
        logits (B, C) or (B, T, C), labels (B,) or (B, T); for ``binary(...)`` labels of the logits' shape
    Example::

        trainer = Trainer(model, args, train_dataset=data, compute_loss_func=compute_loss("gce(q=0.7)"))
    """

    def __init__(self, loss: str | Loss = "ce", *, causal: bool = False) -> None:
        self.loss, self.causal = losses.get(loss).replace(reduction="sum"), causal

    def __call__(self, outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Tensor:
        logits, label = self.rows(outputs, labels)
        items = self._items(logits, label, num_items_in_batch)
        found: Tensor = self.loss(logits, label) / items
        return found

    def rows(self, outputs: Any, labels: Any) -> tuple[Tensor, Tensor]:
        """Logits (N, C) and labels (N,) of a batch, or (N, C) for ``binary`` and soft labels."""
        logits, label = self.aligned(outputs, labels)
        flat = label.reshape(-1, label.shape[-1]) if label.is_floating_point() else label.reshape(-1)
        return logits.reshape(-1, logits.shape[-1]), flat

    def aligned(self, outputs: Any, labels: Any) -> tuple[Tensor, Tensor]:
        """Logits (B, ..., C) and their labels."""
        if labels is None:
            raise ValueError("the batch has no labels: give the dataset a column 'labels'")
        logits: Tensor = outputs["logits"] if isinstance(outputs, Mapping) else outputs[0]
        if logits.shape[-1] == 1 and labels.is_floating_point():
            raise ValueError("the model has one output and labels are numbers: regression is not supported")
        return (logits[:, :-1], labels[:, 1:]) if self.causal else (logits, labels)

    def _items(self, logits: Tensor, label: Tensor, counted: Any) -> Any:
        soft = label.is_floating_point() and self.loss.takes_class_targets
        if counted is not None:  # Trainer counts the entries of soft labels
            return counted / logits.shape[1] if soft else counted
        return (len(label) if soft else (label != self.loss.ignore_index).sum()) or 1


class RecordCallback(TrainerCallback):  # type: ignore[misc]
    """Records every training batch of Trainer; ``find()`` finds wrong labels by the record.

    The dataset needs a column with the permanent number of each sample:
    ``data.add_column("index", range(len(data)))``. It is not passed to the model. Checkpoints of Trainer
    contain the record, so that ``resume_from_checkpoint`` continues it.

    Args:
        num_samples: size of the training data; for tokens ``(len(data), longest)``.
        loss, causal: of ``callback.compute_loss``, see ``compute_loss``.
        column: name of the column of numbers.
        binary: labels have the shape of the logits.
    Example::

        callback = RecordCallback(len(data), "gce(q=0.7)")
        trainer = Trainer(
            model, args, train_dataset=data, compute_loss_func=callback.compute_loss, callbacks=[callback]
        )
        trainer.train()
        suspects = callback.find()
    """

    def __init__(
        self,
        num_samples: int | Sequence[int],
        loss: str | Loss = "ce",
        *,
        causal: bool = False,
        column: str = "index",
        class_names: Sequence[str] | None = None,
        binary: bool = False,
    ) -> None:
        self.recorder = Recorder(num_samples, class_names=class_names, binary=binary)
        self.column, self._loss = column, compute_loss(loss, causal=causal)
        self._forward: _IndexedForward | None = None

    def compute_loss(self, outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Tensor:
        """Record the batch and return its loss, for ``compute_loss_func``."""
        if self._forward is None:
            raise RuntimeError("pass the RecordCallback to Trainer as well: callbacks=[callback]")
        if self._forward.training:
            if self._forward.index is None:
                raise ValueError(
                    f"the batch has no column {self.column!r}: data.add_column({self.column!r},"
                    " range(len(data)))"
                )
            logits, label = self._loss.aligned(outputs, labels)
            classes = logits if self.recorder.binary else logits.movedim(-1, 1)
            self.recorder.write(self._forward.index, classes, label)
        return self._loss(outputs, labels, num_items_in_batch)

    def on_init_end(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._forward = _IndexedForward(inner, self.column)
        names = getattr(getattr(inner, "config", None), "id2label", None)
        if self.recorder.class_names is None and not self._loss.causal and not self.recorder.binary and names:
            self.recorder.class_names = tuple(str(names[number]) for number in sorted(names))

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if not state.global_step:
            return
        path = self._saved(args, state)
        if path.is_file():
            self.recorder.load_state_dict(load_file(path))
        else:
            warnings.warn(f"{path} is missing: the record starts at step {state.global_step}", stacklevel=2)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.recorder.end_epoch()

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        path = self._saved(args, state)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(self.recorder.state_dict(), path)

    def _saved(self, args: Any, state: Any) -> Path:
        return Path(args.output_dir, f"checkpoint-{state.global_step}", SAVED.format(processes.rank()))

    def record(self) -> Record:
        """The record of the completed epochs, equal in all processes."""
        return self.recorder.record()

    def find(self, **options: Any) -> DataFrame:
        """``labels.find`` for the record."""
        return find(self.record(), **options)


class _IndexedForward:
    """A ``forward`` with an additional column, which it stores; Trainer removes unknown columns."""

    def __init__(self, model: nn.Module, column: str) -> None:
        self.model, self.column = [model], column  # in a list, so that it is not a submodule
        self.index: Tensor | None = None
        self.inner: Callable[..., Any] = model.forward
        before = inspect.signature(self.inner)
        own = inspect.Parameter(column, inspect.Parameter.KEYWORD_ONLY, default=None)
        names = [p for p in before.parameters.values() if p.kind is not p.VAR_KEYWORD]
        rest = [p for p in before.parameters.values() if p.kind is p.VAR_KEYWORD]
        self.__signature__ = before.replace(parameters=[*names, own, *rest])
        model.forward = self

    @property
    def training(self) -> bool:
        return self.model[0].training

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        self.index = inputs.pop(self.column, None)
        return self.inner(*args, **inputs)


def fuse_loss(model: Any, loss: str | Loss) -> Any:
    """Make a causal language model train with ``loss.linear``, which does not store logits.

    Call it before Trainer is created; ``compute_loss_func`` is not needed. Evaluation and generation are not
    changed. ValueError for models whose logits are not the product of hidden states and output weights.

    Example::

        model = fuse_loss(AutoModelForCausalLM.from_pretrained(path), "gce(q=0.7)")
        Trainer(model, args, train_dataset=data).train()
    """
    _check_head(model)
    model.forward = _LinearForward(model, losses.get(loss).replace(reduction="sum"))
    return model


class _LinearForward:
    def __init__(self, model: nn.Module, loss: Loss) -> None:
        self.model, self.loss, self.inner = [model], loss, model.forward
        self.__signature__ = inspect.signature(self.inner)

    def __call__(self, *args: Any, labels: Any = None, num_items_in_batch: Any = None, **inputs: Any) -> Any:
        model: Any = self.model[0]
        if labels is None or not model.training:
            extra = {"labels": labels, "num_items_in_batch": num_items_in_batch}
            return self.inner(*args, **inputs, **{n: v for n, v in extra.items() if v is not None})
        hidden, head = model.base_model(*args, **inputs).last_hidden_state, model.get_output_embeddings()
        label = labels[:, 1:]
        total = self.loss.linear(hidden[:, :-1], head.weight, label, bias=head.bias)
        items = (label != self.loss.ignore_index).sum() if num_items_in_batch is None else num_items_in_batch
        return CausalLMOutput(loss=total / items)


@torch.no_grad()
def _check_head(model: Any) -> None:
    head, training = model.get_output_embeddings(), model.training
    if not isinstance(head, nn.Linear):
        raise ValueError(f"fuse_loss: the output layer is {type(head).__name__}, expected a linear one")
    tokens = torch.arange(4, device=head.weight.device).unsqueeze(0) % head.weight.shape[0]
    model.eval()
    try:
        logits, hidden = model(input_ids=tokens).logits, model.base_model(input_ids=tokens).last_hidden_state
    finally:
        model.train(training)
    if not torch.allclose(logits.float(), head(hidden).float(), rtol=1e-2, atol=1e-2):
        raise ValueError(
            f"fuse_loss: {type(model).__name__} changes its logits after the output layer (a scale or a soft"
            " cap): use compute_loss(..., causal=True)"
        )
