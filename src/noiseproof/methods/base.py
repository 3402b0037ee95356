"""``Method``: the interface between the training loop and training methods."""

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
    """The spec of a method, without options whose value and default are None."""
    defaults = hyperparameters(type(method))  # type: ignore[arg-type]
    values = {option: getattr(method, option) for option in defaults if option != "loss"}
    shown = [f"{o}={literal(v)}" for o, v in values.items() if not (v is None and defaults[o] is None)]
    return f"{method.name}({', '.join(shown)})" if shown else method.name


class Outputs(NamedTuple):
    """Outputs of one network for a batch.

    Shape:
        logits (B, C) float32; features (B, D), None unless the method ``needs_features``; extra: additional
        outputs of a network of the user, or a ``Mixed`` if inputs are mixed
    """

    logits: Tensor
    features: Tensor | None = None
    extra: object = None


class TrainingInfo(NamedTuple):
    """Facts about a training run for ``prepare``: given labels, never clean ones.

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
    """Number of validation samples."""


class Evaluation(Protocol):
    """Access to the networks between two epochs, in evaluation mode and without random augmentation."""

    @property
    def is_best(self) -> bool:
        """Whether the validation accuracy is the highest so far; False without validation data."""

    @property
    def validation_accuracy(self) -> float | None:
        """Accuracy on validation data with given labels after this epoch; None without such data."""

    def outputs(self, positions: Tensor | None = None, *, features: bool = False) -> tuple[Outputs, ...]:
        """Outputs of each network for training samples, without gradients, computed on request.

        Args:
            positions: of samples in the order of ``TrainingInfo``; by default all samples.
            features: whether to compute features too.
        """


class Method(nn.Module):
    """Base class of training methods.

    Parameters of a method are trained with the network, buffers are its memory; both are in its
    ``state_dict`` and hence in every checkpoint. Per-sample memory is keyed by the permanent index.

    The loop calls ``prepare`` once, ``loss`` for every batch, ``between_epochs`` and ``epoch_end`` after
    each epoch. For your own loop, methods with one network that do not need features also have ``step``.
    """

    name: ClassVar[str]
    networks: ClassVar[int] = 1
    """Number of networks; ``loss`` returns the sum of their mean losses."""
    needs_features: ClassVar[bool] = False
    mixup: ClassVar[str | None] = None
    """Support of mixed inputs: "labels": the loss is linear in the labels, so that the loop takes the mean
    over both; "own": ``loss`` uses ``Outputs.extra``; None: not supported."""
    default_mixup: ClassVar[float] = 0.0
    default_average: ClassVar[float] = 0.0
    """Defaults of ``mixup`` and ``weight_average`` of the config."""
    needs_unmixed: ClassVar[bool] = False
    """Whether ``Outputs.extra.unmixed`` is needed in epochs for which ``mixes`` is true."""
    same_every_epoch: ClassVar[bool] = False
    """Whether ``loss`` does not depend on the epoch and never synchronises with the device."""
    accepts_ignored: ClassVar[bool] = False
    """Whether labels may be ``ignore_index``, or other values that ``loss`` checks itself."""
    one_process: ClassVar[bool] = False
    """Whether it has state that processes of torch.distributed would have to share."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Names of the values of ``observed``: additional columns of the record."""

    def prepare(self, info: TrainingInfo) -> None:
        """Create memory and heads; called once, also before a checkpoint is restored."""

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        """The mean loss of a batch, of two networks the sum of both; ``epoch`` counts from 1."""
        raise NotImplementedError

    def phase(self, epoch: int) -> Hashable | None:
        """The phase of an epoch; in all epochs of a phase ``loss`` executes the same operations.

        A step is captured once per phase and replayed as a CUDA graph (see ``train.graph``). None means that
        steps cannot be captured.
        """
        return "always" if self.same_every_epoch else None

    def mixes(self, epoch: int) -> bool:
        """Whether inputs are mixed in this epoch, if mixup is used."""
        return True

    def observed(self) -> dict[str, Tensor]:
        """``columns`` for the samples of the last batch, (B,) each."""
        return {}

    def final_outputs(self) -> dict[str, Tensor]:
        """Matrices that are stored with the outputs of a finished run, such as the target of every sample."""
        return {}

    def between_epochs(self, evaluation: Evaluation, epoch: int) -> None:
        """Called after the evaluation of an epoch, with access to the networks."""

    def epoch_end(self, record: Record) -> None:
        """Called after each epoch with the record of that epoch."""

    def step(self, logits: Tensor, target: Tensor, index: Tensor, epoch: int) -> Tensor:
        """The mean loss of a batch, for your own loop."""
        if self.networks != 1 or self.needs_features:
            raise TypeError(
                f"{self.name} needs more than logits: call loss((Outputs(logits, features),), batch, epoch)"
            )
        check_one_process(self)
        if not self.accepts_ignored and values_can_be_checked(target):
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
    """An operation for one process was called in several processes."""


def check_one_process(method: Method) -> None:
    """OneProcessError if several processes would each have their own, incomplete memory."""
    size = processes.count()
    if method.one_process and size > 1:
        raise OneProcessError(
            f"{method.name} cannot be used in {size} processes of torch.distributed in your own loop, as each"
            " would have a memory of its own samples only: use train.fit or noiseproof train, which exchange"
            " samples, or a loss such as gce, which has no memory"
        )


def not_prepared(method: Method) -> RuntimeError:
    """The error for a method that is used before ``prepare``."""
    return RuntimeError(
        f"{method.name} is not prepared: call prepare(TrainingInfo(...)) before the first batch"
    )
