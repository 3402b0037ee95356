"""Draw the pictures of the README and the docs anew, training included: python docs/make_figures.py"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
mpl.rcParams.update({"svg.hashsalt": "noiseproof", "svg.fonttype": "none", "font.family": "sans-serif"})

from matplotlib.figure import Figure  # noqa: E402
from PIL import Image  # noqa: E402

from noiseproof import report  # noqa: E402
from noiseproof.losses import curve  # noqa: E402
from noiseproof.losses.curves.drawing import plot_curves, plot_initial_margins  # noqa: E402
from noiseproof.papers import draw  # noqa: E402
from noiseproof.train import Config, fit  # noqa: E402

IMAGES = Path(__file__).resolve().parent / "images"
README_LOSSES = ("ce", "gce(q=0.7)", "mae", "scale(mae, tau=2.6)")
SETTINGS = {"data": "digits", "noise": "symmetric(0.4)", "model": "mlp(norm=True)", "lr": 0.05, "epochs": 100}
RUNS = {"ce": "Cross entropy", "gce(q=0.9)": "Generalised cross entropy"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAX_IMAGE_BYTES = 300_000
"""Maximum size of a picture."""


def save(figure: object, name: str, **settings: object) -> None:
    path = IMAGES / name
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {}, **settings)


def save_small(picture: Image.Image, name: str) -> None:
    """Save a picture as a PNG of 256 colours."""
    path = IMAGES / name
    picture.convert("RGB").quantize(256).save(path, optimize=True)
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size} bytes, more than {MAX_IMAGE_BYTES}")


def draw_curves() -> None:
    ax = plot_curves([curve(spec, 100) for spec in README_LOSSES], x="margin", unit=True)
    plot_initial_margins(100, ax=ax)
    ax.set_title("Emphasis and initial margins with 100 classes", fontsize="medium")
    save(ax.figure, "emphasis.svg")
    save(draw("gr.figure1a"), "gr_figure1a.svg")


def draw_runs(folder: Path) -> None:
    """Draw the margins of two runs, a sheet of suspects, and a screenshot of a report."""
    runs = [fit(Config(**SETTINGS, loss=spec, out=f"runs/{spec}")) for spec in RUNS]
    figure = Figure(figsize=(12.0, 5.4), layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)
    for place, (run, title) in enumerate(zip(runs, RUNS.values(), strict=True), 1):
        ax = report.plot_margin_ridges(run.folder, ax=figure.add_subplot(1, 2, place))
        accuracy = run.result["final_test_accuracy"]
        ax.set_title(f"{title}: {accuracy:.1%} test accuracy", loc="left", pad=24, fontweight="bold")
    save_picture(figure, "margins.png", 110)
    save_picture(report.plot_sample_sheet(runs[1].folder).figure, "suspects.png", 110)
    photograph(report.write(runs[1].folder), folder, "report.png")


def save_picture(figure: Figure, name: str, dots: int) -> None:
    save(figure, name, dpi=dots, facecolor="white")
    save_small(Image.open(IMAGES / name), name)


def photograph(page: Path, folder: Path, name: str) -> None:
    """Take a screenshot of the top of a page; without a browser the existing picture is kept."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"no browser: {name} is unchanged")  # noqa: T201
        return
    shot = folder / "shot.png"
    options = [f"--user-data-dir={folder / 'profile'}", "--hide-scrollbars", f"--screenshot={shot}"]
    window = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1400"]
    subprocess.run([program, *window, *options, page.resolve().as_uri()], check=True, capture_output=True)  # noqa: S603
    save_small(Image.open(shot), name)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    draw_curves()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        draw_runs(Path(folder))
        os.chdir(IMAGES)


if __name__ == "__main__":
    main()
