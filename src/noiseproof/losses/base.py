"""Base class of all losses: input layouts, soft targets, ignored rows, weights, reduction, sums and specs."""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from typing_extensions import Self, TypedDict, Unpack

from .. import kernels
from ..kernels import RowFunction
from ..kernels.linear.projection import Projection, outside_graphs
from ..kernels.linear.total import (
    BlockLoss,
    ExpressionBlockLoss,
    RowFunctionBlockLoss,
    linear_rows,
    linear_total,
    total_over_mean,
)
from .checks import CLASSES, choice, class_weights, depends_on_batch, no_unknown_options, number
from .printing import give_name, hyperparameters, is_of_library, spec_of
from .rows import LinearBatch, Rows, as_rows, linear_batch, not_zero, row_weights

REDUCTIONS = ("mean", "sum", "none")
MIN_FACTOR = 1e-35


class Outer(TypedDict, total=False):
    """Settings of the outermost loss."""

    reduction: str
    ignore_index: int
    weight: Tensor | None


def _freezing(init: Callable[..., None]) -> Callable[..., None]:
    """An ``__init__`` after which attributes cannot be set; the ``__init__`` of a subclass still can."""

    @functools.wraps(init)
    def freezing(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if type(self).__init__ is freezing:
            self.__dict__["_is_made"] = True

    return freezing


class Loss(nn.Module):
    r"""Base of all losses.

    Only the outermost loss applies reduction, ignore_index and weight. For hard targets ``mean`` is
    :math:`\sum_i w_{y_i} s_i \ell_i / \sum_i w_{y_i} s_i` over the rows that are not ignored, where w
    are class weights and s sample weights; with soft targets :math:`\ell_i = \sum_k w_k t_{ik} L(z_i, k)`
    and the mean is over rows. An empty or wholly ignored batch gives 0 with zero gradient.

    Hyper-parameters cannot be changed after construction: setting an attribute raises AttributeError. Buffers
    (class weights, the prior of ``cr``, the step of ``peer``) may be replaced.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        ignore_index: hard targets with this value are ignored.
        weight: class weights of shape (C,).

    Shape:
        logits (N, C), (C,) or (N, C, d1, ...); target without the class dimension, or soft with it.
    """

    name: ClassVar[str]
    has_class_name: ClassVar[bool] = False
    takes_class_targets: ClassVar[bool] = True
    defined_per_class: ClassVar[bool] = True
    """False for losses that compare rows, whose value for one class of one row is not defined."""
    why_no_row_function: ClassVar[str] = "it is not a function of a few statistics of a row"
    sum_type: ClassVar[type[Any]]
    """The class of a sum of such losses, see ``algebra``."""
    weight: Tensor | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        give_name(cls)
        if "__init__" in cls.__dict__:
            cls.__init__ = _freezing(cls.__init__)  # type: ignore[method-assign]

    @_freezing
    def __init__(self, **outer: Unpack[Outer]) -> None:
        super().__init__()
        known = [*hyperparameters(type(self)), *Outer.__annotations__]  # type: ignore[arg-type]
        no_unknown_options(self.name, outer, known)
        self.reduction = choice(self.name, "reduction", outer.get("reduction", "mean"), REDUCTIONS)
        self.ignore_index = operator.index(outer.get("ignore_index", -100))
        self.register_buffer("weight", class_weights(outer.get("weight")))
        self._row_functions: dict[int, RowFunction | None] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_made" in self.__dict__ and not self._may_change(name):
            raise AttributeError(
                f"{self.name}: {name} cannot be set, a loss cannot be changed: create a new one, or"
                " use losses.get(loss, reduction=..., ignore_index=..., weight=...)"
            )
        super().__setattr__(name, value)

    def _may_change(self, name: str) -> bool:
        return name == "training" or name[0] == "_" or name in self._buffers or name in self._parameters

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self.name}: {name} cannot be deleted, a loss cannot be changed")

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without the cached row functions."""
        return {**self.__dict__, "_row_functions": {}}

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        *,
        sample_weight: Tensor | None = None,
        index: Tensor | None = None,
    ) -> Tensor:
        """The reduced loss; ``index`` (permanent sample numbers) is for losses that keep state per sample."""
        if sample_weight is None and self._buffers.get("weight", self) is None:
            found = kernels.reduced(self, logits, target)
            if found is not None:
                return found
        rows = as_rows(logits, target, self.ignore_index)
        weight = self._class_weight(rows)
        if rows.is_soft:
            soft = rows.target if weight is None else rows.target * weight
            return self._reduce(self.soft_rows(rows.logits, soft), rows, None, sample_weight)
        return self._reduce(self.hard_rows(rows), rows, weight, sample_weight)

    # How the loss is computed ---------------------------------------------------------------------

    def row_function(self, num_classes: int) -> RowFunction | None:
        """The loss as a function of the statistics of a row, None if it is not one; cached."""
        if torch.compiler.is_compiling():
            return self.build_row_function(num_classes)
        try:
            return self._row_functions[num_classes]
        except KeyError:
            made = self.build_row_function(num_classes)
            if made is not None and self.runs_user_code:
                made.is_fixed = False
            self._row_functions[num_classes] = made
            return made

    def build_row_function(self, num_classes: int) -> RowFunction | None:
        """Build the result of ``row_function``, which caches it."""
        return None

    def prior_function(self) -> RowFunction | None:
        r"""The weighted sum :math:`\sum_k \pi_k L(z, k)` over all classes as a row function, if it is one."""
        return None

    def sum_weights(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor | None:
        """Class weights (C,) of the sum of z, of a loss whose row function is weighted."""
        return None

    def hard_rows(self, rows: Rows) -> Tensor:
        """Unreduced loss of class indices, (N,); 0 where ignored."""
        function = self.row_function(rows.logits.shape[1])
        if function is None:
            raise NotImplementedError(f"{type(self).__name__} must define hard_rows(rows)")
        weights = self.sum_weights(*rows[:3]) if function.weighted else None
        return kernels.rows(function, rows.logits, rows.target, rows.keep, weights)

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        """L(z, k) for every class k, (N, C); arbitrary where the soft target ``mass`` is 0."""
        function = self.row_function(logits.shape[1])
        if function is None:
            raise NotImplementedError(
                f"{type(self).__name__} must define class_rows(logits, mass) for soft targets"
            )
        kernels.check_logits_finite(logits)
        return kernels.class_rows(function, logits, mass)

    def soft_rows(self, logits: Tensor, soft: Tensor) -> Tensor:
        r""":math:`\sum_k t_k L(z, k)`, (N,)."""
        return (soft * self.class_rows(logits, soft)).sum(1)

    def compares_rows(self) -> bool:
        """Whether the loss of a row depends on the logits of other rows of the batch."""
        by_row = self.defined_per_class and not any(part.compares_rows() for part in self.inner)
        if not by_row or not self.runs_user_code:
            return not by_row
        function = self.row_function(CLASSES)
        return function is not None and depends_on_batch(function)

    @property
    def runs_user_code(self) -> bool:
        return not is_of_library(type(self)) or any(part.runs_user_code for part in self.inner)

    # Losses of logits that are never stored -----------------------------------------------------------------

    def linear(
        self,
        hidden: Tensor,
        weight: Tensor,
        target: Tensor,
        *,
        bias: Tensor | None = None,
        sample_weight: Tensor | None = None,
        chunk: int | None = None,
    ) -> Tensor:
        """``self(F.linear(hidden, weight, bias), target)`` without ever storing the logits.

        ``hidden`` (..., H), ``weight`` (V, H), ``target`` (...). Gradients are formed in the forward pass,
        ``chunk`` rows at a time; with ``reduction="none"`` in the backward pass. They cannot be
        differentiated again. ``torch.compile`` breaks the graph here; transforms of ``torch.func`` store the
        logits.

        Example:
            >>> from noiseproof import losses
            >>> losses.get("mae").linear(torch.eye(2), torch.zeros(4, 2), torch.tensor([0, 1]))
            tensor(1.5000)
        """
        if not self.takes_class_targets:
            raise TypeError(f"{self} takes targets of the logits' shape: use loss(F.linear(...), target)")
        batch = linear_batch(hidden, weight, target, bias, chunk)
        if kernels.in_transform():
            found: Tensor = self(*batch.stored(), sample_weight=sample_weight)
            return found
        return outside_graphs(self._linear)(batch, sample_weight)

    def _linear(self, batch: LinearBatch, sample_weight: Tensor | None) -> Tensor:
        rows, compares = batch.rows(self.ignore_index), self.compares_rows()
        if rows.is_soft and (compares or self.needs_labels_of_batch()):
            raise TypeError(f"{self} with soft targets needs all logits: use loss(F.linear(...), target)")
        projection, by_class = batch.projection(), self._class_weight(rows)
        if rows.is_soft and by_class is not None:
            rows, by_class = rows._replace(target=rows.target * by_class), None
        function = None if rows.is_soft else self.row_function(rows.logits.shape[1])
        single_pass = function is not None and function.divides_by_batch and _avoids_float16(projection)
        if self.reduction == "none" or not torch.is_grad_enabled() or (compares and not single_pass):
            return self._reduce(self.linear_rows(projection, rows), rows, by_class, sample_weight)
        dtype = kernels.accumulation_dtype(projection.dtype)
        share = self._shares(rows, by_class, sample_weight, dtype)
        if single_pass and function is not None:
            return total_over_mean(function, projection, rows.target, rows.keep, share)
        return linear_total(projection, self.linear_block_loss(rows), share)

    def linear_rows(self, projection: Projection, rows: Rows) -> Tensor:
        """The unreduced loss (N,) of logits that are computed again in the backward pass."""
        if self.compares_rows():
            raise TypeError(
                f"{self} compares rows in a way that needs all logits at once: use"
                " loss(F.linear(hidden, weight, bias), target)"
            )
        return linear_rows(projection, self.linear_block_loss(rows))

    def linear_block_loss(self, rows: Rows) -> BlockLoss:
        """The unreduced loss of any block of rows, given the targets of the whole batch."""
        if rows.is_soft:
            return ExpressionBlockLoss(lambda logits, part: self.soft_rows(logits, rows.target[part]))
        function = self.row_function(rows.logits.shape[1])
        if function is None:
            return ExpressionBlockLoss(lambda logits, part: self.hard_rows(rows.part(logits, part)))
        weights = self.sum_weights(*rows[:3]) if function.weighted else None
        return RowFunctionBlockLoss(function, rows.target, rows.keep, weights)

    def needs_labels_of_batch(self) -> bool:
        """Whether the loss of a row depends on the labels of other rows."""
        return any(part.needs_labels_of_batch() for part in self.inner)

    # Reduction ------------------------------------------------------------------------------------

    def _class_weight(self, rows: Rows) -> Tensor | None:
        if self.weight is None:
            return None
        if self.weight.shape[0] != rows.logits.shape[1]:
            raise ValueError(
                f"weight has {self.weight.shape[0]} entries but the logits have"
                f" {rows.logits.shape[1]} classes"
            )
        return self.weight if rows.is_soft else self.weight[rows.target]

    def _reduce(
        self, values: Tensor, rows: Rows, weight: Tensor | None, sample_weight: Tensor | None
    ) -> Tensor:
        count = None if weight is None else weight.to(values.dtype)
        if sample_weight is not None:
            share = row_weights(sample_weight, rows.shape).to(values.dtype)
            count = share if count is None else count * share
        weighted = values if count is None else values * count
        if self.reduction == "none":
            return weighted.reshape(rows.shape)
        if self.reduction == "sum" or values.numel() == 0:
            return weighted.sum()
        if count is None and rows.keep is None:
            return weighted.mean()
        if rows.keep is not None:
            count = rows.keep.to(values.dtype) if count is None else torch.where(rows.keep, count, 0.0)
        assert count is not None
        return weighted.sum() / not_zero(count.sum())

    def _shares(
        self, rows: Rows, weight: Tensor | None, sample_weight: Tensor | None, dtype: torch.dtype
    ) -> Tensor:
        """How much each row counts in the reduced loss, (N,): the derivative of the reduction."""
        with torch.enable_grad():
            probe = torch.zeros(len(rows.target), dtype=dtype, device=rows.target.device, requires_grad=True)
            reduced = self._reduce(probe, rows, weight, sample_weight)
            needs_graph = sample_weight is not None and sample_weight.requires_grad
            (share,) = torch.autograd.grad(reduced, probe, create_graph=needs_graph)
        return share

    # Settings, sums and spec ----------------------------------------------------------------------

    def outer(self) -> Outer:
        return {"reduction": self.reduction, "ignore_index": self.ignore_index, "weight": self.weight}

    def replace(self, **outer: Unpack[Outer]) -> Self:
        """A copy with another reduction, ignore_index or weight."""
        made = copy.deepcopy(self)
        for name, value in outer.items():
            if name == "weight":
                made.weight = class_weights(value)
            elif name == "reduction":
                made.__dict__[name] = choice(self.name, name, value, REDUCTIONS)
            else:
                made.__dict__[name] = operator.index(value)  # type: ignore[arg-type]
        return made

    @property
    def inner(self) -> tuple[Loss, ...]:
        """The losses this loss is composed of."""
        return ()

    @property
    def terms(self) -> Sequence[tuple[float, Loss]]:
        """Factors and parts of a sum."""
        return [(1, self)]

    def __str__(self) -> str:
        return spec_of(self)

    __repr__ = __str__

    def __add__(self, other: object) -> Loss:
        return add(self, other) if isinstance(other, Loss) else NotImplemented

    def __radd__(self, other: object) -> Loss:
        return self if other == 0 else NotImplemented

    def __mul__(self, factor: object) -> Loss:
        return multiply(factor, self) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__


def _avoids_float16(projection: Projection) -> bool:
    """Whether no dtype is float16, whose range is too small for gradients that still lack a factor."""
    return torch.float16 not in (projection.dtype, projection.hidden.dtype, projection.weight.dtype)


def add(left: Loss, right: Loss) -> Loss:
    """The sum; reduction, ignore_index and weight must agree."""
    return combine([*left.terms, *right.terms], _common_outer(left, right))


def multiply(factor: object, loss: Loss) -> Loss:
    """``factor`` times the loss."""
    scale = _checked_factor(factor)
    return combine([(_checked_factor(scale * f), part) for f, part in loss.terms], loss.outer())


def combine(terms: Sequence[tuple[float, Loss]], outer: Outer) -> Loss:
    """A MarginLoss if all parts are."""
    for _, loss in terms:
        if not loss.takes_class_targets:
            raise TypeError(f"{loss} takes targets of the logits' shape: add losses inside binary(...)")
    kinds = {loss.sum_type for _, loss in terms}
    made: Loss = (kinds.pop() if len(kinds) == 1 else Loss.sum_type)(terms, **outer)
    return made


def _checked_factor(factor: object) -> float:
    rule = f"{MIN_FACTOR:g} <= factor < inf"
    number("a sum of losses", "factor", factor, rule, lambda f: f >= MIN_FACTOR)
    assert isinstance(factor, (int, float))
    return factor


def _common_outer(left: Loss, right: Loss) -> Outer:
    ours, theirs = left.outer(), right.outer()
    one, other = ours["weight"], theirs["weight"]
    same = one is other if one is None or other is None else torch.equal(one, other)
    if not same or any(ours[name] != theirs[name] for name in ("reduction", "ignore_index")):  # type: ignore[literal-required]
        raise ValueError(
            f"{left} and {right} differ in reduction, ignore_index or weight: only the outermost loss"
            " has these, so build the sum first and pass them to losses.get"
        )
    return ours
