"""Running sums of the emphasis over training steps, on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from .rows import Rows

TOTALS = ("norm", "rate", "clean_norm", "clean_rate", "noisy_norm", "noisy_rate")
EPOCH = ("loss", "samples", "spread", "steps")


class EmphasisMeter:
    r"""Average update scale, signal to noise ratio and emphasis spread.

    With learning rate :math:`\eta_i` of step i, batch :math:`B_i` and
    :math:`g_s = \|\partial\ell_s/\partial z_s\|_1 = 2\cdot\mathrm{emphasis}`:

    .. math:: \alpha_t = \frac{\sum_{i\le t}\eta_i\sum_{s\in B_i} g_s}{\sum_{i\le t}\eta_i|B_i|}, \qquad
              \mathrm{snr} = \frac{\bar g_{\mathrm{clean}}}{\bar g_{\mathrm{noisy}}}

    where each :math:`\bar g` is the same mean over samples with right, or wrong, labels since the first step.
    The spread is the variance of g within a batch, averaged over the batches of the epoch.

    Example:
        >>> meter = EmphasisMeter(torch.tensor([5, 6]), noisy=torch.tensor([False, True]))
        >>> one = torch.tensor(1.0)
        >>> meter.add(torch.tensor([5, 6]), emphasis=torch.tensor([0.5, 0.25]), loss=one, lr=0.1)
        >>> found = meter.read()
        >>> round(found["alpha"], 6), found["snr"], found["emphasis_spread"], found["loss"]
        (0.75, 2.0, 0.0625, 1.0)

    Reference:
        A Curriculum View of Robust Loss Functions, section 3.2, with the weight missing in its formula;
        Gradient Rescaling, definition 2
    """

    def __init__(self, index: Tensor, noisy: Tensor | None = None) -> None:
        self.rows, self.is_known = Rows(index), noisy is not None
        wrong = torch.full((len(index),), torch.nan) if noisy is None else noisy.double()
        groups = torch.stack([torch.ones(len(index)), 1 - wrong, wrong], 1)
        self.groups = groups.to(index.device, torch.float64)
        self.total = torch.zeros(len(TOTALS), dtype=torch.float64, device=index.device)
        if not self.is_known:
            self.total[2:] = torch.nan
        self.epoch = torch.zeros(len(EPOCH), dtype=torch.float64, device=index.device)

    def add(self, index: Tensor, *, emphasis: Tensor, loss: Tensor, lr: float | Tensor) -> None:
        """Add one step: the emphasis (B,) of its samples, the mean loss and the learning rate."""
        norm = 2 * emphasis.detach().double()
        groups = self.groups[self.rows.of(index)]
        ones = groups[:, 0]
        self.total.view(-1, 2).add_(lr * (groups.T @ torch.stack([norm, ones], 1)))
        self.epoch[0].add_(loss.detach(), alpha=len(norm))
        self.epoch[2].add_(norm.var(correction=0))
        torch._foreach_add_([self.epoch[1], self.epoch[3]], [len(norm), 1])

    def add_steps(
        self, index: Tensor, sizes: list[int], *, emphasis: Tensor, losses: list[float], rates: list[float]
    ) -> None:
        """Add several steps at once, on a CPU: the samples of all steps in order, and their batch sizes.

        The sums are bitwise independent of how steps are grouped into calls.
        """
        counts = torch.tensor(sizes)
        steps = torch.arange(len(sizes)).repeat_interleave(counts)

        def sums(values: Tensor) -> Tensor:
            return torch.bincount(steps, values, minlength=len(sizes))  # adds samples sequentially

        norm = 2 * emphasis.detach().double()
        step_norm = sums(norm)
        spread = (sums((norm - (step_norm / counts)[steps]).square()) / counts).tolist()
        columns = [step_norm.tolist(), [float(size) for size in sizes]]
        if self.is_known:
            groups = self.groups[self.rows.of(index), 1:].unbind(1)
            columns += [sums(part).tolist() for group in groups for part in (norm * group, group)]
        total, epoch = self.total.tolist(), self.epoch.tolist()
        for step, (size, lr) in enumerate(zip(sizes, rates, strict=True)):
            for number, column in enumerate(columns):
                total[number] += lr * column[step]
            for number, value in enumerate((losses[step] * size, size, spread[step], 1)):
                epoch[number] += value
        self.total.copy_(torch.tensor(total, dtype=torch.float64))
        self.epoch.copy_(torch.tensor(epoch, dtype=torch.float64))

    def read(self) -> dict[str, float | None]:
        """The current values; None for undefined ratios."""
        total = dict(zip(TOTALS, self.total.tolist(), strict=True))
        epoch = dict(zip(EPOCH, self.epoch.tolist(), strict=True))
        clean = _ratio(total["clean_norm"], total["clean_rate"])
        noisy = _ratio(total["noisy_norm"], total["noisy_rate"])
        return {
            "loss": _ratio(epoch["loss"], epoch["samples"]),
            "alpha": _ratio(total["norm"], total["rate"]),
            "clean_alpha": clean,
            "noisy_alpha": noisy,
            "snr": None if clean is None or noisy is None else _ratio(clean, noisy),
            "emphasis_spread": _ratio(epoch["spread"], epoch["steps"]),
        }

    def reset_epoch(self) -> None:
        """Begin the next epoch; alpha and snr are not reset."""
        self.epoch.zero_()

    def state(self) -> dict[str, Tensor]:
        return {"total": self.total, "epoch": self.epoch}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.total.copy_(state["total"])
        self.epoch.copy_(state["epoch"])


def _ratio(above: float, below: float) -> float | None:
    """The ratio, or None if it is undefined."""
    return above / below if below and below == below and above == above else None
