"""How much of the gradient wrong labels get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...losses import MarginLoss
from ..evidence import Evidence, Source
from ..palette import FAINT, SUSPECTED_LINE, WRONG_LINE, as_percent, legend, new_axes, over_epochs, plain
from ..wording import percent
from .margin_ridges import emphasis_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_emphasis_share(run: Source, *, ax: Axes | None = None, loss: MarginLoss | str | None = None) -> Axes:
    r"""Share of the emphasis that samples with wrong labels get, epoch by epoch.

    .. math:: \frac{\sum_{i\,\text{wrong}} \mathrm{emphasis}(\Delta_i)}{\sum_i \mathrm{emphasis}(\Delta_i)}

    The dashed line is their share of the samples: what a loss that treats all alike would give them. Below
    it the loss looks away from wrong labels.

    Example:
        >>> from noiseproof.report import example_record, plot_emphasis_share
        >>> plot_emphasis_share(example_record(), loss="mae").get_xlabel()
        'epoch'

    Reference:
        A Curriculum View of Robust Loss Functions, section 3
    """
    evidence = Evidence.of(run, loss=loss)
    epochs = evidence.record.epochs
    found = [(epoch + 1, emphasis_share(evidence, epoch)) for epoch in range(epochs)]
    kept = [(epoch, share) for epoch, share in found if share is not None]
    axes = plain(new_axes(ax))
    line = WRONG_LINE if evidence.is_known else SUSPECTED_LINE
    x, y = [epoch for epoch, _ in kept], [share for _, share in kept]
    axes.plot(x, y, **(line | {"linestyle": "-"}), label=f"gradient on {evidence.word} labels")
    axes.fill_between(x, 0, y, color=line["color"], alpha=0.15, linewidth=0)
    rate = float(evidence.doubted.float().mean())
    axes.axhline(rate, color=FAINT, linestyle="--", label=f"their share of the samples, {percent(rate)}")
    axes.set_ylim(0, 1)
    over_epochs(axes)
    axes.set_ylabel("share of the gradient")
    as_percent(axes)
    legend(axes)
    return axes
