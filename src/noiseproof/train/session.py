"""The state of a training run, and how to save and restore it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .. import methods, models
from ..data import Batch
from ..data.inputs import streams
from ..devices.distributed import Ranks
from ..dynamics import EmphasisMeter, Record
from ..dynamics.epoch_table import EpochTable
from ..losses import margin
from ..methods import Outputs, TrainingInfo
from ..methods.mixed import WeightAverage, draw_mix, logits_without_gradient, mixup_of
from ..models import Ensemble, forward_with_features
from ..models.ensemble import mean_logits
from .advice import warn_of_scale, warn_of_steps
from .batches import Views, balanced_size, batch_bounds, epoch_order, network_seed
from .config import Config
from .optimizer import Moment, get_schedule, make_optimizer, restore_optimizer
from .record_buffer import RecordBuffer, Step
from .task import Task

NO_BATCH = 1 << 62
"""Value of ``Session.first_bad`` while no batch was bad."""
Forward = Callable[[Tensor], Any]
"""The network as a function that returns logits, or (logits, features) if the method needs features; a list
of these if there are two networks."""


class Session:
    """Network, method, optimiser, record and progress of a run.

    A method with two networks gets two of the same kind with different initial weights. ``model`` is their
    ``Ensemble``, which predicts the mean of their probabilities, and ``networks`` are the two. The recorded
    margin and prediction are those of the ensemble; emphasis and loss are means over both networks.

    ``epoch`` is the current epoch, counted from 1, ``batch`` the number of its finished batches and ``step``
    the number of all finished steps.
    """

    def __init__(
        self,
        config: Config,
        task: Task,
        device: torch.device,
        model: nn.Module | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        self.device, self.ranks = device, ranks or Ranks(device)
        layout = torch.channels_last if device.type == "cuda" and config.precision == "bf16" else None
        self.views = Views(config, task.train.sample_shape, layout)
        self.train = task.train if streams(task.train.inputs) else task.train.to(device)
        self.share = class_share(config, self.train.num_classes)
        self.bounds = batch_bounds(balanced_size(self.train.label, self.share), config.batch_size)
        self.config = config = config.with_enough_steps(len(self.bounds))
        self.method = methods.get(config.method, loss=config.loss)
        self.model = self._network(task, model).to(device)
        if layout is not None:
            self.model = self.model.to(memory_format=layout)  # type: ignore[call-overload]
        warn_of_steps(self.method, config)
        self._prepare_method(task)
        self.mixup = mixup_of(config.mixup, self.method)
        self.average = self._weight_average()
        self.forward: Forward = self.ranks.sharded(self._forward(), self._place)
        self.parameters = [*self.model.parameters(), *self.method.parameters()]
        self.optimizer = make_optimizer(
            config.optimizer,
            self.parameters,
            lr=config.lr,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
        )
        index, clean = self.train.index.to(device), task.train.clean_label
        emphasis = () if self.method.emphasis_follows_margin and not self.mixup else ("emphasis",)
        self._buffer = RecordBuffer(
            EpochTable(index, (*emphasis, *self.method.columns)),
            EmphasisMeter(index, None if clean is None else task.train.label != clean),
        )
        self.first_bad = torch.full((), NO_BATCH, dtype=torch.int64, device=device)
        self.schedule = get_schedule(config.schedule)
        self.epoch, self.batch, self.step = 1, 0, 0
        self.best: dict[str, Any] | None = None

    def _weight_average(self) -> WeightAverage | None:
        decay = self.config.weight_average
        decay = self.method.default_average if decay is None else decay
        return WeightAverage(self.model, decay) if decay else None

    def _forward(self) -> Forward:
        one = forward_with_features if self.method.needs_features else call
        if self.method.networks > 1:
            return partial(call_each, one, self.networks)
        return partial(one, self.model)

    def _place(self) -> tuple[int, int, int, int]:
        start, stop = self.bounds[self.batch]
        return self.config.seed, self.epoch, self.batch, stop - start

    @property
    def _mixes(self) -> bool:
        return self.method.mixes(self.epoch) and bool(self.mixup or self.method.needs_unmixed)

    def read_here(self, part: Tensor) -> Tensor:
        """The samples of a batch this process reads: its own share, or all if inputs are mixed."""
        return part if self._mixes else part[self.ranks.rows(len(part))]

    def whole(self, batch: Batch, part: Tensor) -> Batch:
        """The batch with all its labels, even if this process read only a part of the inputs."""
        if len(batch.label) == len(part):
            return batch
        label, index = (rows[part].to(self.device) for rows in (self.train.label, self.train.index))
        return Batch(batch.input, label, index)

    @property
    def networks(self) -> tuple[nn.Module, ...]:
        """The networks that the method trains, each with separate outputs."""
        return self._parts(self.model)

    def _parts(self, model: nn.Module) -> tuple[nn.Module, ...]:
        if self.method.networks > 1 and isinstance(model, Ensemble):
            return tuple(model.networks)
        return (model,)

    @property
    def predictor(self) -> nn.Module:
        """The network that is evaluated and saved: the trained one, or the running mean of its weights."""
        return self.model if self.average is None else self.average.model

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.config.iterations or (self.config.epochs or 0) * len(self.bounds)

    @property
    def epochs(self) -> int:
        return -(-self.steps // len(self.bounds))

    def order(self) -> Tensor:
        """Positions of the samples of the current epoch, in the order of its batches."""
        return epoch_order(
            self.train.index,
            seed=self.config.seed,
            epoch=self.epoch,
            label=self.train.label,
            share=self.share,
        )

    def bounds_left(self) -> list[tuple[int, int]]:
        """Start and end of the remaining batches of the current epoch."""
        return self.bounds[self.batch : self.batch + self.steps - self.step]

    def _network(self, task: Task, model: nn.Module | None) -> nn.Module:
        shape, config = self.views.model_shape(task.train), self.config
        if model is not None:
            return self._check_given(models.get(model, num_classes=shape["num_classes"]))
        warn_of_scale(task.train, config.model)
        shape |= {"dropout": config.dropout, "weights": config.weights}
        seeds = [network_seed(config.seed, number) for number in range(self.method.networks)]
        networks = [models.get(config.model, seed=seed, **shape) for seed in seeds]
        return networks[0] if len(networks) == 1 else _checked(Ensemble(*networks))

    def _check_given(self, model: nn.Module) -> nn.Module:
        """The network of the user, which must be an Ensemble if the method trains several networks."""
        needed = self.method.networks
        if needed == 1:
            return model
        if not isinstance(model, Ensemble) or len(model.networks) != needed:
            raise ValueError(
                f"{self.method.name} trains {needed} networks: give model=models.Ensemble(one, two), two"
                " networks with different weights"
            )
        return _checked(model)

    def _prepare_method(self, task: Task) -> None:
        width = None
        if self.method.needs_features:
            probe = self.views.evaluation(task.train.batch([0, 0][: len(task.train)]).input.to(self.device))
            with torch.inference_mode():
                self.model.eval()
                width = forward_with_features(self.networks[0], probe)[1].shape[1]
        self.method.prepare(
            TrainingInfo(
                label=task.train.label.to(self.device),
                index=task.train.index.to(self.device),
                num_classes=task.train.num_classes,
                num_features=width,
                epochs=self.epochs,
                seed=self.config.seed,
                validation=0 if task.validation is None else len(task.validation),
            )
        )
        self.method.to(self.device)
        self.ranks.copy_first(self.model, self.method)

    def learning_rate(self, ahead: int = 0) -> float:
        """The learning rate of the next step, or of the one ``ahead`` steps later in the same epoch."""
        now = Moment(step=self.step + ahead, steps=self.steps, epoch=self.epoch - 1, epochs=self.epochs)
        return self.schedule(now, self.config.lr)

    def set_learning_rate(self, rate: float | Tensor) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def count_step(self) -> None:
        self.batch, self.step = self.batch + 1, self.step + 1

    def update(self) -> None:
        """Take a step of the optimiser and update the running mean of the weights."""
        self.optimizer.step()
        if self.average is not None:
            self.average.update(self.model, self.step)

    def step_outputs(self, inputs: Tensor) -> tuple[Outputs, ...]:
        """Outputs of each network in a training step, for mixed inputs if mixup is on."""
        if not self._mixes:
            return self.outputs(inputs)
        seed, size = self.config.seed, len(inputs)
        mix = draw_mix(self.mixup, size, seed=seed, epoch=self.epoch, batch=self.batch).to(self.device)
        found = self.outputs(mix.apply(inputs.float()))
        if not self.method.needs_unmixed:
            return tuple(one._replace(extra=mix) for one in found)
        unmixed = partial(logits_without_gradient, self._parts(self.predictor))
        with self.autocast():
            seen = self.ranks.sharded(unmixed, self._place)(inputs)
        return tuple(
            one._replace(extra=mix._replace(unmixed=its)) for one, its in zip(found, seen, strict=True)
        )

    def outputs(self, inputs: Tensor) -> tuple[Outputs, ...]:
        """Outputs of each network, with logits and features cast to fp32."""
        with self.autocast():
            try:
                found = self.forward(inputs)
                return tuple(map(_outputs, found if isinstance(found, list) else [found]))
            except ValueError as problem:
                if len(inputs) > 1 or "more than 1 value" not in str(problem):
                    raise
        raise ValueError(
            f"batch norm cannot train on a batch of one sample: increase batch_size"
            f" ({self.config.batch_size}, with {len(self.train)} samples) or use a network without batch norm"
        )

    def autocast(self) -> AbstractContextManager[object]:
        if self.config.precision != "bf16":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def observe(self, batch: Batch, outputs: tuple[Outputs, ...], loss: Tensor, lr: float | Tensor) -> None:
        """Record a batch after its backward pass; on a CPU several batches together, see RecordBuffer."""
        gradient, extra = _gradient([one.logits for one in outputs]), self.method.observed()
        logits = mean_logits([one.logits.detach() for one in outputs])
        loss = loss.detach() if len(outputs) == 1 else loss.detach() / len(outputs)
        if self.device.type == "cpu" and not isinstance(lr, Tensor):
            columns = {name: extra[name].detach().clone() for name in self.method.columns}
            self._buffer.add(Step(batch, logits, gradient, loss, lr, columns))
            return
        emphasis = torch.linalg.vector_norm(gradient, 1, dim=1, dtype=torch.float64) * (len(batch.label) / 2)
        self.meter.add(batch.index, emphasis=emphasis, loss=loss, lr=lr)
        found = {"emphasis": emphasis, **extra}
        self.recorder.write(batch.index, margin(logits, batch.label), logits.argmax(1), found)

    @property
    def recorder(self) -> EpochTable:
        """The recorder, with all steps so far recorded."""
        self._buffer.flush()
        return self._buffer.recorder

    @property
    def meter(self) -> EmphasisMeter:
        """The meter, with all steps so far recorded."""
        self._buffer.flush()
        return self._buffer.meter

    def end_epoch(self) -> None:
        """Call the method's ``epoch_end`` and start the next epoch."""
        columns = {name: values.unsqueeze(0) for name, values in self.recorder.state().items()}
        self.method.epoch_end(
            Record(
                index=self.train.index,
                label=self.train.label,
                clean_label=None,
                class_names=self.train.class_names,
                margin=columns.pop("margin"),
                prediction=columns.pop("prediction"),
                extra=columns,
            )
        )
        self.recorder.reset()
        self.meter.reset_epoch()
        self.epoch, self.batch = self.epoch + 1, 0

    def state(self) -> dict[str, Any]:
        """The complete state as nested dicts of tensors and plain values."""
        random = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.device)
        return {
            "model": self.model.state_dict(),
            "method": self.method.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "recorder": self.recorder.state(),
            "meter": self.meter.state(),
            "random": random,
            "place": {"epoch": self.epoch, "batch": self.batch, "step": self.step},
            "best": self.best,
            **({} if self.average is None else {"average": self.average.model.state_dict()}),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.method.load_state_dict(state["method"])
        restore_optimizer(self.optimizer, state["optimizer"])
        self.recorder.restore(state["recorder"])
        self.meter.restore(state["meter"])
        torch.set_rng_state(state["random"]["cpu"])
        if "cuda" in state["random"] and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["random"]["cuda"], self.device)
        self.epoch, self.batch, self.step = (state["place"][name] for name in ("epoch", "batch", "step"))
        self.best = state["best"]
        if self.average is not None:
            self.average.model.load_state_dict(state["average"])


def _checked(model: Ensemble) -> Ensemble:
    model.check_different()
    return model


def _outputs(found: Any) -> Outputs:
    logits, features = found if isinstance(found, tuple) else (found, None)
    return Outputs(logits.float(), None if features is None else features.float())


def _gradient(logits: list[Tensor]) -> Tensor:
    """The gradient of the mean of the losses of all networks by their logits, side by side."""
    found = [one.new_zeros(one.shape) if one.grad is None else one.grad for one in logits]
    return found[0] if len(found) == 1 else torch.cat(found, 1) / len(found)


def call_each(
    one: Callable[[nn.Module, Tensor], Any], networks: tuple[nn.Module, ...], inputs: Tensor
) -> Any:
    return [one(network, inputs) for network in networks]


def class_share(config: Config, num_classes: int) -> int | None:
    """Number of samples of every class in an epoch of balanced batches; None if an epoch uses all samples."""
    if config.balanced_batches is None:
        return None
    return max(1, config.balanced_batches * config.batch_size // num_classes)


def call(model: nn.Module, inputs: Tensor) -> Any:
    """Apply the network. A module-level function, so that equal networks share the code of torch.compile."""
    return model(inputs)
