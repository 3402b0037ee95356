"""The interface between the one loop and everything that is more than a loss."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from torch import Tensor, nn

from .. import processes
from ..data import Batch
from ..kernels import values_can_be_checked
from ..losses.printing import hyperparameters, literal
from ..losses.rows import raise_for_invalid

if TYPE_CHECKING:
    from ..dynamics import Record


def spec_of(method: Method) -> str:
    """The spec that makes a method again; a None that is the default is left out."""
    defaults = hyperparameters(type(method))  # type: ignore[arg-type]
    values = {option: getattr(method, option) for option in defaults if option != "loss"}
    shown = [f"{o}={literal(v)}" for o, v in values.items() if not (v is None and defaults[o] is None)]
    return f"{method.name}({', '.join(shown)})" if shown else method.name


class Outputs(NamedTuple):
    """What one network returned for a batch.

    Shape:
        logits (B, C) float32; features (B, D), None unless the method ``needs_features``; extra: whatever
        a network of the user returns beside its logits, or a ``Mixed`` where inputs are mixed
    """

    logits: Tensor
    features: Tensor | None = None
    extra: object = None


class Situation(NamedTuple):
    """What a method may know before training: given labels, never clean ones.

    Shape:
        label, index (N,) int64 on the device of the training
    """

    label: Tensor
    index: Tensor  # type: ignore[assignment]
    num_classes: int
    num_features: int | None
    """Width of the features; None unless the method ``needs_features``."""
    epochs: int
    seed: int
    validation: int = 0
    """Samples put aside to choose the best epoch."""


class Evaluation(Protocol):
    """The networks between two epochs, in evaluation mode, on the training data without random views."""

    @property
    def is_best(self) -> bool:
        """Whether the validation accuracy is the highest so far; False without validation data."""

    @property
    def validation_accuracy(self) -> float | None:
        """Accuracy on validation data with given labels after this epoch; None without such data."""

    def outputs(self, positions: Tensor | None = None, *, features: bool = False) -> tuple[Outputs, ...]:
        """What each network says of the training samples, without a gradient, computed when asked for.

        Args:
            positions: of samples in the order of ``Situation``; all of them if left out.
            features: whether features are wanted beside the logits.
        """


class Method(nn.Module):
    """What is minimised, when that is more than a loss.

    Parameters of a method are trained with the network, its buffers are its memory: both are in its
    ``state_dict`` and hence in every checkpoint. Per-sample memory is keyed by the permanent index.

    The loop calls ``prepare`` once, ``loss`` for every batch, ``between_epochs`` and ``epoch_end`` after
    each epoch. For a loop of your own, methods with one network and no need of features also have ``step``.
    """

    name: ClassVar[str]
    networks: ClassVar[int] = 1
    """How many networks are trained; ``loss`` returns the sum of the mean losses of each."""
    needs_features: ClassVar[bool] = False
    mixup: ClassVar[str | None] = None
    """What it does with mixed inputs: "labels", its loss is linear in the labels, so that the loop takes the
    mean over both; "own", ``loss`` looks at ``Outputs.extra`` itself; None, it cannot use them."""
    usual_mixup: ClassVar[float] = 0.0
    usual_average: ClassVar[float] = 0.0
    """``mixup`` and ``weight_average`` of the config where that does not say."""
    needs_unmixed: ClassVar[bool] = False
    """Whether ``Outputs.extra.unmixed`` is wanted in epochs that ``mixes`` names."""
    same_every_epoch: ClassVar[bool] = False
    """Whether ``loss`` does not look at the epoch and never waits for the device."""
    ignores: ClassVar[bool] = False
    """Whether labels may be ``ignore_index``, or anything else that ``loss`` checks itself."""
    one_process: ClassVar[bool] = False
    """Whether it keeps a memory or weights that processes of torch.distributed would have to share."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Names of what ``observed`` returns: columns of the record beside margin and prediction."""

    def prepare(self, situation: Situation) -> None:
        """Make room for memory and heads; called once, also before a checkpoint is restored."""

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        """The mean loss of a batch, of two networks the sum of both; ``epoch`` counts from 1."""
        raise NotImplementedError

    def phase(self, epoch: int) -> Hashable | None:
        """What ``loss`` decides by the epoch: in epochs of one phase it does the same to every batch.

        A step is then captured once per phase and replayed (see ``train.graph``). None promises nothing,
        also not that ``loss`` never waits for the device.
        """
        return "always" if self.same_every_epoch else None

    def mixes(self, epoch: int) -> bool:
        """Whether inputs are mixed in this epoch, if they are at all."""
        return True

    def observed(self) -> dict[str, Tensor]:
        """``columns`` for the samples of the last batch, (B,) each."""
        return {}

    def final_outputs(self) -> dict[str, Tensor]:
        """Matrices that a finished run keeps beside its outputs, such as the target of every sample."""
        return {}

    def between_epochs(self, evaluation: Evaluation, epoch: int) -> None:
        """Called after epoch ``epoch`` was evaluated, with the networks as they are now."""

    def epoch_end(self, record: Record) -> None:
        """After each epoch, with the record of that epoch alone."""

    def step(self, logits: Tensor, target: Tensor, index: Tensor, epoch: int) -> Tensor:
        """The mean loss, in a user's own loop."""
        if self.networks != 1 or self.needs_features:
            raise TypeError(
                f"{self.name} needs more than logits: call loss((Outputs(logits, features),), batch, epoch)"
            )
        check_one_process(self)
        if not self.ignores and values_can_be_checked(target):
            raise_for_invalid(target, None, logits.shape[1], "a method skips none")
        return self.loss((Outputs(logits),), Batch(logits, target.long(), index.long()), epoch)

    @property
    def emphasis_follows_margin(self) -> bool:
        """Whether the emphasis of a sample is a function of its margin, so that it need not be recorded."""
        return False

    def __str__(self) -> str:
        return spec_of(self)

    def __repr__(self) -> str:
        return str(self)


class OneProcessError(RuntimeError):
    """An operation for one process was requested in several."""


def check_one_process(method: Method) -> None:
    """OneProcessError where several processes would each keep a memory of their own, and be wrong.

    Each sees a part of the samples, so that what it remembers of the others is out of date.
    """
    size = processes.count()
    if method.one_process and size > 1:
        raise OneProcessError(
            f"{method.name} cannot be used in {size} processes of torch.distributed in your own loop: each"
            " would remember only the samples it has seen; use train.fit or noiseproof train, which exchange"
            " them, or a loss such as gce, which remembers nothing"
        )


def unprepared(method: Method) -> RuntimeError:
    """What to raise where memory is used that ``prepare`` would have made."""
    return RuntimeError(
        f"{method.name} knows no training data yet: call prepare(Situation(...)) before the first batch"
    )
