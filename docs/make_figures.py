"""Draw the pictures of the README and the docs anew: python docs/make_figures.py"""

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "noiseproof", "svg.fonttype": "none", "font.family": "sans-serif"})

from noiseproof.losses import curve  # noqa: E402
from noiseproof.losses.drawing import plot_curves, plot_initial_margins  # noqa: E402
from noiseproof.papers import draw  # noqa: E402

IMAGES = Path(__file__).parent / "images"
README_LOSSES = ("ce", "gce(q=0.7)", "mae", "scale(mae, tau=2.6)")


def save(figure: object, name: str) -> None:
    figure.savefig(IMAGES / name, metadata={"Date": None})


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    ax = plot_curves([curve(spec, 100) for spec in README_LOSSES], x="margin", unit=True)
    plot_initial_margins(100, ax=ax)
    ax.set_title("Who gets the gradient, and where a 100-class network starts", fontsize="medium")
    save(ax.figure, "emphasis.svg")
    save(draw("gr.figure1a"), "gr_figure1a.svg")


if __name__ == "__main__":
    main()
