"""Noise attention learning: an additional head predicts how much each given label can be trusted."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ..counter import draw
from ..data import Batch
from ..losses.checks import number, whole
from ..models.seeding import build
from .base import Outputs, TrainingInfo, not_prepared
from .memory import TargetMemory
from .probabilities import log_probabilities, soft_cross_entropy, soft_rce
from .spec import switch

PRESETS = {
    "cifar10": "nal(lam=0.5, alpha=0.9, start=60, period=10)",
    "cifar100": "nal(lam=10.0, alpha=0.9, start=60, period=10)",
    "animal10n": "nal(lam=0.5, alpha=0.9, start=41, period=1)",
    "webvision": "nal(lam=50.0, alpha=0.9, start=200, period=10, rce=0.1, A=-9.210340371976182)",
    "clothing1m": "nal(lam=50.0, alpha=0.9, start=60, period=10, rce=0.1, A=-9.210340371976182)",
}
"""Specs by dataset: lambda of the appendix, other settings as in the public scripts.

The script of ANIMAL-10N counts epochs from 0, starts at 40 and updates its targets in every epoch.
"""

STREAM = 0x4E414C
"""Stream of random numbers of the head."""


def log_mixture(log_p: Tensor, attention: Tensor, target: Tensor) -> Tensor:
    r""":math:`\log(\tau p + (1-\tau) q)` with :math:`\tau` = sigmoid(attention), finite for every attention.

    Shape:
        log_p, target (B, C), attention (B,); result (B, C)
    Example:
        >>> log_p = torch.tensor([[0.25, 0.75]]).log()
        >>> log_mixture(log_p, torch.tensor([0.0]), torch.tensor([[1.0, 0.0]])).exp()
        tensor([[0.6250, 0.3750]])
    """
    from_prediction = logsigmoid(attention).unsqueeze(1) + log_p
    from_target = logsigmoid(-attention).unsqueeze(1) + target.log()
    return torch.logaddexp(from_prediction, from_target)


class NAL(TargetMemory):
    r"""Noise attention learning: an additional output predicts how reliable each label is.

    Loss:
        With :math:`\tau = \mathrm{sigmoid}(w^\top f + b)` of the features f, the mixture
        :math:`p' = \tau p + (1-\tau)q` and the target q of the sample, the mean over the batch of
        :math:`-\sum_k q_k\log p'_k - \lambda\log\tau + \beta\,(-\sum_k p'_k\max(\log q_k, A))`,
        :math:`\beta` = ``rce``, 0 except in the variant RNAL.
    Gradient:
        for one-hot q that of cross entropy times :math:`\varphi = p_y/(p_y-1+1/\tau)`, where
        :math:`0<\varphi<\tau`; for a fixed p the best attention is
        :math:`\tau^* = \min(1, \lambda/((1+\lambda)(1-p_y)))`
    Target:
        q begins as the given label. In epochs that are at least ``start`` and divisible by ``period`` every
        visited sample with :math:`\tau` > ``threshold`` gets :math:`q\leftarrow\alpha q+(1-\alpha)p` before
        its loss is taken. Entries are kept at ``floor`` or above, so the mass exceeds 1 as in the public
        code; ``renormalize=True`` divides by it, ``floor=0`` leaves exact distributions.
    Deviations:
        The appendix does not say how q is estimated: this is the public code. There :math:`\tau`, p and p'
        are clipped at 1e-12, 1e-12 and 1e-7, which stops their gradients; here all is in log space and
        nothing is clipped. There log q of RCE is at least ln 1e-4, which is ``A=-9.21``, under the
        comment "A=-4": the default is that -4. There the first batch of the first update starts from a
        one-hot q, later ones from a clipped one; here q is clipped from the beginning.
    Shape:
        logits (B, C), features (B, D); memory (N, C); columns ``tau``, ``target_probability`` (B,)
    Example:
        >>> method = NAL(lam=0.5)
        >>> method.prepare(TrainingInfo(torch.tensor([0, 1]), torch.tensor([0, 1]), 2, 3, epochs=1, seed=0))
        >>> batch = Batch(torch.zeros(2, 3), torch.tensor([0, 1]), torch.tensor([0, 1]))
        >>> method.loss((Outputs(torch.zeros(2, 2), torch.zeros(2, 3)),), batch, epoch=1).shape
        torch.Size([])
        >>> method.observed()["tau"].shape, method.corrected_labels()
        (torch.Size([2]), tensor([0, 1]))

    Reference:
        Lu et al., Noise Attention Learning: Enhancing Noise Robustness by Gradient Scaling, NeurIPS 2022;
        public code MacLLL/NAL
    """

    name = "nal"
    needs_features = True
    columns = ("tau", "target_probability")

    def __init__(
        self,
        *,
        lam: float = 0.5,
        alpha: float = 0.9,
        start: int = 60,
        period: int = 10,
        threshold: float = 0.0,
        renormalize: bool = False,
        rce: float = 0.0,
        A: float = -4.0,
        floor: float = 1e-4,
    ) -> None:
        super().__init__()
        self.lam = number(self.name, "lam", lam, "lam > 0", lambda x: x > 0)
        self.alpha = number(self.name, "alpha", alpha, "0 <= alpha <= 1", lambda x: 0 <= x <= 1)
        self.start = whole(self.name, "start", start, 1)
        self.period = whole(self.name, "period", period, 1)
        self.threshold = number(self.name, "threshold", threshold, "0 <= threshold < 1", lambda x: 0 <= x < 1)
        self.renormalize = switch(self.name, "renormalize", renormalize)
        self.rce = number(self.name, "rce", rce, "rce >= 0", lambda x: x >= 0)
        self.A = number(self.name, "A", A, "A < 0", lambda x: x < 0)
        self.floor = number(self.name, "floor", floor, "0 <= floor < 1", lambda x: 0 <= x < 1)
        self.head: nn.Module | None = None
        self.tau: Tensor | None = None

    def prepare(self, info: TrainingInfo) -> None:
        super().prepare(info)
        self.memory.values = self._clamped(self.memory.values)
        width = info.num_features
        if width is None:
            raise ValueError("nal: info.num_features must not be None: the attention head needs features")
        bits = draw(seed=info.seed, epoch=0, index=torch.zeros(1, dtype=torch.int64), stream=STREAM)
        head = build(lambda: nn.Linear(width, 1), int(bits) & (2**62 - 1))
        self.head = head.to(info.label.device)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        attention = self.attention(outputs[0].features)
        self.tau = torch.sigmoid(attention.detach())
        if self.training and self.phase(epoch):
            self._update_targets(batch.index, log_p.exp(), self.tau > self.threshold)
        self.record_target_probability(batch)
        target = self.memory.read(batch.index).to(log_p.dtype)
        log_mix = log_mixture(log_p, attention, target)
        rows = soft_cross_entropy(log_mix, target) - self.lam * logsigmoid(attention)
        if self.rce:
            rows = rows + self.rce * soft_rce(log_mix.exp(), target.log(), self.A)
        return rows.mean()

    def phase(self, epoch: int) -> bool:
        """Whether targets are updated."""
        return epoch >= self.start and epoch % self.period == 0

    def attention(self, features: Tensor | None) -> Tensor:
        """(B,) output of the head before the sigmoid."""
        if self.head is None:
            raise not_prepared(self)
        if features is None:
            raise ValueError("nal: the outputs must have features, which the attention head needs")
        found: Tensor = self.head(features.float()).squeeze(1)
        return found.float()

    def observed(self) -> dict[str, Tensor]:
        return {} if self.tau is None else {"tau": self.tau, **super().observed()}

    def final_outputs(self) -> dict[str, Tensor]:
        """Targets (N, C), and the head: ``attention_weight`` (1, D), ``attention_bias`` (1, 1)."""
        if not isinstance(self.head, nn.Linear):
            raise not_prepared(self)
        head = {"attention_weight": self.head.weight, "attention_bias": self.head.bias.reshape(1, 1)}
        return super().final_outputs() | head

    def _update_targets(self, index: Tensor, p: Tensor, chosen: Tensor) -> None:
        before, after = self.memory.read(index), self.updated_targets(index, p, self.alpha)
        self.memory.write(index, self._clamped(torch.where(chosen.unsqueeze(1), after, before)))

    def _clamped(self, target: Tensor) -> Tensor:
        clamped = target.clamp(self.floor, 1.0)
        return clamped / clamped.sum(1, keepdim=True) if self.renormalize else clamped
