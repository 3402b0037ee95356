"""How hard the loss pulls, since the first step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evidence import Evidence, NothingToShow, Source
from ..palette import CLEAN_LINE, TEST_LINE, WRONG_LINE, legend, new_axes, over_epochs, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = (
    ("alpha", "all samples", TEST_LINE),
    ("clean_alpha", "right labels", CLEAN_LINE),
    ("noisy_alpha", "wrong labels", WRONG_LINE),
)


def plot_update_scale(run: Source, *, ax: Axes | None = None) -> Axes:
    r"""Average update scale :math:`\alpha_t`: mean L1 norm of the logit gradient, weighted by learning rate.

    .. math:: \alpha_t = \frac{\sum_{i\le t}\eta_i\sum_{s\in B_i}\|\nabla_z\ell_s\|_1}
              {\sum_{i\le t}\eta_i|B_i|}

    A value that stays near 0 is a loss that never began to learn: it underfits. Right above wrong is good:
    their ratio is the signal to noise ratio.

    Example:
        >>> from noiseproof.report import example_record, plot_update_scale
        >>> plot_update_scale(example_record())
        Traceback (most recent call last):
        noiseproof.report.evidence.NothingToShow: alpha was not measured in this run

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 1
    """
    evidence = Evidence.of(run)
    evidence.series("alpha")
    axes = plain(new_axes(ax))
    for metric, name, line in LINES:
        try:
            axes.plot(*evidence.series(metric), **line, label=name)
        except NothingToShow:
            continue
    axes.set_ylim(bottom=0)
    over_epochs(axes)
    axes.set_ylabel("average update scale")
    legend(axes)
    return axes
