"""DivideMix: samples with large losses are treated as unlabelled, by the losses of the other network."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number, whole
from .base import Evaluation, Outputs, TrainingInfo
from .memory import MemoryMethod
from .mixed import cross_entropy, mixed_of
from .mixture import low_component
from .probabilities import entropy, log_probabilities, one_hot, soft_cross_entropy, take_labels
from .spec import switch


class DivideMix(MemoryMethod):
    r"""DivideMix: samples with large losses in the other network are treated as unlabelled.

    Warm-up:
        in the first ``warmup`` epochs cross entropy on unmixed inputs, minus the entropy of p with
        ``penalty=True``, which the paper does under asymmetric noise
    Division:
        between epochs a mixture of two normal distributions is fitted to the losses of all samples, for each
        network by itself. With w the probability of the component with the lower mean, the *other* network
        uses the sample as labelled if :math:`w>` ``threshold``.
    Targets:
        of labelled samples :math:`w\,e_y+(1-w)p`, with p the prediction of this network for the unmixed
        sample; of the others the mean of both networks' predictions. Both are sharpened,
        :math:`t\propto t^{1/T}` with T = ``temperature``, and mixed as the inputs are.
    Loss:
        :math:`-\frac1{|X|}\sum_X\sum_c t_c\log p_c+\lambda\,r\,\frac1{|U|C}\sum_U\lVert p-t\rVert^2
        +\sum_c\frac1C\log\frac{1/C}{\bar p_c}` over the labelled X and the others U (a mixed
        sample counts with the larger part), with :math:`\lambda` = ``lam``, :math:`\bar p` the mean over the
        batch and r growing from 0 to 1 in the ``ramp`` epochs after the warm-up; the sum over both networks
    Deviations:
        Batches are those of the loop and mix labelled and unlabelled samples; the public code draws the same
        number of both. Both networks train at the same time on one view of each sample, there one after the
        other on two. Losses are not averaged over five epochs at 90% noise.
    Needs:
        two networks and mixup (``mixup``, 4 if it is not given); no noise rate
    Settings:
        CIFAR-10 ``warmup=10``, CIFAR-100 ``warmup=30``; ``lam`` 0 to 150, larger under heavier noise
    Shape:
        logits (B, C) of each network; memory w (N, 2), 1 at first
    Example:
        >>> from noiseproof.methods import Mixed
        >>> method, label = DivideMix(warmup=1), torch.tensor([0, 1])
        >>> method.prepare(TrainingInfo(label, label, 2, None, epochs=2, seed=0))
        >>> mix = Mixed(label, share=1.0, unmixed=torch.zeros(2, 2))
        >>> one = Outputs(torch.zeros(2, 2), extra=mix)
        >>> method.loss((one, one), Batch(torch.zeros(2, 1), label, label), epoch=2)  # 2 log 2
        tensor(1.3863)

    Reference:
        Li, Socher & Hoi, DivideMix: Learning with Noisy Labels as Semi-supervised Learning, ICLR 2020;
        public code LiJunnan1992/DivideMix
    """

    name = "divide_mix"
    networks = 2
    mixup = "own"
    default_mixup = 4.0
    needs_unmixed = True

    def __init__(
        self,
        *,
        warmup: int = 10,
        threshold: float = 0.5,
        temperature: float = 0.5,
        lam: float = 25.0,
        ramp: int = 16,
        penalty: bool = False,
    ) -> None:
        super().__init__()
        self.warmup = whole(self.name, "warmup", warmup, 0)
        self.threshold = number(self.name, "threshold", threshold, "0 <= threshold < 1", lambda x: 0 <= x < 1)
        self.temperature = number(
            self.name, "temperature", temperature, "0 < temperature <= 1", lambda x: 0 < x <= 1
        )
        self.lam = number(self.name, "lam", lam, "lam >= 0", lambda x: x >= 0)
        self.ramp = whole(self.name, "ramp", ramp, 1)
        self.penalty = switch(self.name, "penalty", penalty)
        self.label: Tensor | None = None

    def prepare(self, info: TrainingInfo) -> None:
        self.label = info.label
        size = (len(info.label), self.networks)
        self.create_table(info, torch.ones(size, device=info.label.device))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        if not self.mixes(epoch):
            return self._warm(outputs[0], batch) + self._warm(outputs[1], batch)
        mix, unmixed = mixed_of(outputs, self)
        p = [log_probabilities(logits).exp() for logits in unmixed]
        right = self.memory.read(batch.index)
        given, guessed = one_hot(batch.label, p[0].shape[1]), (p[0] + p[1]) / 2
        total = torch.zeros((), device=right.device)
        for network, output in enumerate(outputs):
            w = right[:, 1 - network].unsqueeze(1)
            labelled = w > self.threshold
            refined = torch.where(labelled, torch.lerp(p[network], given, w), guessed)
            target = mix.apply(self._sharpened(refined))
            total = total + self._semi_supervised(output.logits, target, labelled.squeeze(1), epoch)
        return total

    def _warm(self, output: Outputs, batch: Batch) -> Tensor:
        rows = cross_entropy(output, batch.label)
        return (rows - entropy(log_probabilities(output.logits)) if self.penalty else rows).mean()

    def _sharpened(self, target: Tensor) -> Tensor:
        log = target.clamp_min(torch.finfo(target.dtype).tiny).log()
        return torch.softmax(log / self.temperature, 1)

    def _semi_supervised(self, logits: Tensor, target: Tensor, labelled: Tensor, epoch: int) -> Tensor:
        log_p = log_probabilities(logits)
        target, p = target.to(log_p.dtype), log_p.exp()
        of_labelled = _mean_where(labelled, soft_cross_entropy(log_p, target))
        of_others = _mean_where(~labelled, (p - target).square().mean(1))
        log_mean = torch.logsumexp(log_p, 0) - math.log(len(log_p))
        prior = -math.log(log_p.shape[1]) - log_mean.mean()
        return of_labelled + self.lam * self.phase(epoch) * of_others + prior

    def between_epochs(self, evaluation: Evaluation, epoch: int) -> None:
        if self.label is None or not self.mixes(epoch + 1):
            return
        for network, output in enumerate(evaluation.outputs()):
            rows = -take_labels(log_probabilities(output.logits), self.label)
            self.memory.values[:, network] = low_component(rows).to(self.memory.values)

    def mixes(self, epoch: int) -> bool:
        """Whether the warm-up is over."""
        return epoch > self.warmup

    def phase(self, epoch: int) -> float:
        """Weight of unlabelled samples, from 0 to 1; -1 in the warm-up."""
        return min((epoch - self.warmup - 1) / self.ramp, 1.0) if self.mixes(epoch) else -1.0

    def is_active(self, epoch: int) -> bool:
        return self.mixes(epoch)

    def final_outputs(self) -> dict[str, Tensor]:
        """``clean_probability`` (N, 2), w as each network sees it, in the order of the training data."""
        return {"clean_probability": self.memory.values}


def _mean_where(chosen: Tensor, rows: Tensor) -> Tensor:
    return torch.where(chosen, rows, 0).sum() / chosen.sum().clamp_min(1)
