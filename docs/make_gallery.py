"""Draw every loss and write the pages of losses and methods, from the code: python docs/make_gallery.py"""

import argparse
import inspect
import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.figure import Figure
from torch import Tensor

from noiseproof import losses, methods
from noiseproof.losses.curves.drawing import COLOURS, DASHES, grid, short, simulate_initial_margins

DOCS = Path(__file__).parent
IMAGES = DOCS / "images/losses"
CLASSES = 10
INK = "#808080"
"""Of axes and words: readable on white and on black."""
STYLE = {
    "svg.hashsalt": "noiseproof",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
}
SHOWN = {  # settings to draw, the default first
    "ce": ["ce"],
    "focal": ["focal(gamma=2.0)", "focal(gamma=0.5)", "focal(gamma=5.0)"],
    "mae": ["mae"],
    "rce": ["rce(A=-4.0)", "rce(A=-2.0)"],
    "sl": ["sl(alpha=0.1, beta=1.0)", "sl(alpha=1.0, beta=1.0)", "sl(alpha=0.01, beta=1.0)"],
    "sce": ["sce(q=0.5)", "sce(q=0.1)", "sce(q=0.9)"],
    "gce": ["gce(q=0.7)", "gce(q=0.3)", "gce(q=1.0)"],
    "truncated_gce": ["truncated_gce(q=0.7, k=0.5)", "truncated_gce(q=0.7, k=0.1)"],
    "tce": ["tce(order=2)", "tce(order=6)", "tce(order=20)"],
    "aul": ["aul(a=1.1, q=5.0)", "aul(a=2.0, q=3.0)", "aul(a=1.1, q=0.5)"],
    "agce": ["agce(a=0.1, q=0.1)", "agce(a=0.1, q=0.5)", "agce(a=1.0, q=1.5)"],
    "ael": ["ael(q=2.5)", "ael(q=1.0)", "ael(q=0.3)"],
    "gr": ["gr(beta=8.0, lam=0.5)", "gr(beta=8.0, lam=1.0)", "gr(beta=4.0, lam=0.5)"],
    "imae": ["imae(T=8.0)", "imae(T=4.0)", "imae(T=0.5)"],
    "nal_fixed": ["nal_fixed(tau=0.5)", "nal_fixed(tau=0.9)", "nal_fixed(tau=0.1)"],
    "nce": ["nce"],
    "nfl": ["nfl(gamma=0.5)", "nfl(gamma=2.0)"],
    "mse": ["mse(alpha=0.5)", "mse(alpha=0.1)"],
    "gls": ["gls(alpha=0.1)", "gls(alpha=0.4)", "gls(alpha=-0.4)"],
    "cr": ["cr(ce)", "cr(ce, beta=0.5)", "cr(mae)"],
    "peer": ["peer(ce)", "peer(ce, alpha=0.5)"],
    "scale": ["scale(mae, tau=2.6, num_classes=100)", "mae"],
    "shift": ["shift(mae, tau=2.6, num_classes=100)", "mae"],
    "unit_max": ["unit_max(gce(q=0.7))", "gce(q=0.7)"],
    "binary": ["binary(gce(q=0.7))", "binary(ce)"],
}
ALIASES = {"ls": "gls"}
"""Names of losses that have another one."""
LEFT_OUT = ("Shape", "Example")
SIGNATURE = re.compile(r":math:`([^`]*)`|:(?:class|func|meth):`[~.]*([^`]*)`|``([^`]*)``")

HEAD = """# Gallery of losses

This page lists every loss with its default settings, formula, emphasis, limits and reference. Use a loss
by its spec, in Python with `losses.get("gce(q=0.7)")` or on the command line with `--loss 'gce(q=0.7)'`;
sums and positive factors work too, as in `10*nce + 0.1*agce(a=1.8, q=3)`.

The curves show the emphasis, the factor of a sample's gradient, over the margin of its label ([how it
works](how_it_works.md)). The solid line is the default. The grey histogram shows the margins of an
untrained network with 100 classes: a loss with a small emphasis there underfits. A loss with a large
emphasis at negative margins memorises wrong labels in long training.

Losses marked **more than the margin** depend on all probabilities of a sample. Their curves are half the
L1 norm of the gradient of the logits with 10 classes, with equal probabilities of all other classes and
labels spread evenly over the batch; for `peer` the mean of 256 draws.

Text and pictures are generated from the code by `python docs/make_gallery.py`.

"""
METHODS_HEAD = """# Methods

This page lists every method with its default settings, loss, deviations from the paper and reference. A
method goes beyond a loss: it stores values for each sample, uses or learns a transition matrix, or
trains two networks. Use one with

```console
$ noiseproof train --method 'elr(beta=0.7)'
```

Interrupted runs continue with bit-identical results. Methods with one network that need only logits have
a function `step` for [your own loop](own_loop.md). Accuracy, time and memory of all methods on five
small sets: [tables](../tables/methods/README.md). This page is generated from the code by `python
docs/make_gallery.py`.

"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", action="store_true", help="write the pages, draw nothing")
    if not arguments.parse_args().pages:
        for name in SHOWN:
            (IMAGES / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Text of the pages by file name."""
    found = losses_page(), methods_page()
    return dict(zip(("losses.md", "methods.md"), found, strict=True))


def drawn(name: str) -> str:
    """The picture of a loss, as SVG."""
    with mpl.rc_context(STYLE):
        return draw(SHOWN[name])


def draw(specs: list[str]) -> str:
    figure = Figure(figsize=(4.6, 2.4), layout="constrained")
    ax = figure.add_subplot()
    horizontal = grid("margin")[0][::8]
    for number, spec in enumerate(specs):
        label = short(spec).replace(", num_classes=100", "")
        style = {"color": COLOURS[number], "linestyle": DASHES[number], "linewidth": 2.4 - number / 2}
        ax.plot(horizontal, emphasis(losses.get(spec), horizontal), label=label, **style)
    ax.set(xlabel="margin Δ of the label", ylabel="emphasis", xlim=(-10, 10), xticks=range(-10, 11, 5))
    ax.set_ylim(bottom=0)
    counts, edges = torch.histogram(simulate_initial_margins(100), 20, range=(-10.0, 0.0))
    height = counts / counts.max() * ax.get_ylim()[1] * 0.9
    ax.stairs(height.numpy(), edges.numpy(), fill=True, color=INK, alpha=0.2, linewidth=0, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
    columns = 3 if sum(map(len, specs)) < 55 else 2
    figure.legend(loc="outside upper center", ncols=columns, frameon=False, fontsize=7, handlelength=2.2)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    return tidy(text.getvalue())


def tidy(svg: str) -> str:
    """Two decimals, one font and few lines: half the bytes, the same picture."""
    svg = re.sub(r"(\d+\.\d\d)\d+", r"\1", svg).replace("\nL", " L")
    return re.sub("font-family: [^;]*;", "font-family: sans-serif;", svg)


def emphasis(loss: losses.Loss, margin: Tensor) -> Tensor:
    if isinstance(loss, losses.Binary):
        loss = loss.base
    if isinstance(loss, losses.MarginLoss):
        return loss.emphasis(margin)
    return half_l1_norm(loss, margin)


def half_l1_norm(loss: losses.Loss, margin: Tensor) -> Tensor:
    """Of the gradient, a row for each margin and label; what is drawn at random is averaged."""
    rest = torch.log(torch.tensor(CLASSES - 1.0, dtype=torch.float64))
    rows = len(margin)
    label = torch.arange(CLASSES).repeat(rows)
    logits = torch.zeros(rows * CLASSES, CLASSES, dtype=torch.float64)
    logits[torch.arange(len(label)), label] = margin.repeat_interleave(CLASSES) + rest
    total = torch.zeros(rows, dtype=torch.float64)
    draws = 256 if isinstance(loss, losses.Peer) else 1
    for _ in range(draws):
        logits.grad = None
        losses.get(loss.train(), reduction="sum")(logits.requires_grad_(), label).backward()
        total += logits.grad.abs().sum(1).div(2).view(rows, CLASSES).mean(1)
        if draws > 1:
            loss.step += 1
    return total / draws


def losses_page() -> str:
    lines = [HEAD + "| default settings | loss |", "|---|---|"]
    for name in SHOWN:
        idea = read(losses.LOSSES[name])[0].rstrip(".")
        lines.append(f"| [`{losses.get(SHOWN[name][0])}`](#{name}) | {idea} |")
    lines.append("")
    for name in SHOWN:
        kind = losses.LOSSES[name]
        title, sections = read(kind)
        more = "" if is_of_margin(name) else " **More than the margin.**"
        lines += [f"## `{name}`\n", f"`{losses.get(SHOWN[name][0])}`\n", f"{title}{more}\n"]
        lines.append(f"![Emphasis of {', '.join(SHOWN[name])}](images/losses/{name}.svg)\n")
        lines += [f"- **{section}**: {text}" for section, text in sections.items()] + [""]
    return "\n".join(lines)


def is_of_margin(name: str) -> bool:
    return isinstance(losses.get(SHOWN[name][0]), (losses.MarginLoss, losses.Binary))


def methods_page() -> str:
    lines = [METHODS_HEAD + "| name | idea | networks | needs | paper |", "|---|---|---|---|---|"]
    kinds: dict[str, Any] = dict(methods.METHODS)
    for name, kind in kinds.items():
        idea = read(kind)[0].rstrip(".")
        lines.append(f"| [`{name}`](#{name}) | {idea} | {kind.networks} | {needs(kind)} | {paper(kind)} |")
    lines.append("")
    for name, kind in kinds.items():
        title, sections = read(kind)
        lines += [f"## `{name}`\n", f"`{call(name, kind)}`\n", f"{title}\n"]
        lines += [f"- **{section}**: {text}" for section, text in sections.items()] + [""]
    return "\n".join(lines)


def needs(kind: Any) -> str:
    """What the docstring says, or what the class says it uses."""
    said = read(kind)[1].get("Needs")
    if said is not None:
        return said
    if issubclass(kind, methods.TransitionMethod) and kind is not methods.SAdaptation:
        return "a transition matrix"
    memory = ["the index of each sample"] * issubclass(kind, methods.MemoryMethod)
    return ", ".join(memory + ["features of the network"] * kind.needs_features)


def paper(kind: Any) -> str:
    """Authors and year of the reference."""
    text = read(kind)[1]["Reference"]
    authors, year = re.match(r"[^&;]*& [^,]+|.*? et al\.", text), re.search(r"(?:19|20)\d\d", text)
    if authors is None or year is None:
        raise ValueError(f"no authors or no year in {text!r}")
    return f"{authors.group()} {year.group()}"


def call(name: str, kind: Any) -> str:
    parameters = inspect.signature(kind).parameters.values()
    shown = (f"{p.name}={p.default!r}" for p in parameters if p.kind is p.KEYWORD_ONLY)
    return f"{name}({', '.join(shown)})".replace("'", '"')


def read(kind: Any) -> tuple[str, dict[str, str]]:
    """First paragraph of a docstring and its sections, as Markdown."""
    first, *rest = re.split(r"^(\w[\w -]*):$", inspect.getdoc(kind) or "", flags=re.MULTILINE)
    sections = dict(zip(rest[::2], map(markdown, rest[1::2]), strict=True))
    return markdown(first), {name: text for name, text in sections.items() if name not in LEFT_OUT}


def markdown(text: str) -> str:
    """Inline markup of docstrings in that of GitHub."""
    text = re.sub(r"\s+", " ", text).strip()
    return SIGNATURE.sub(as_markdown, text)


def as_markdown(found: re.Match[str]) -> str:
    formula, name, code = found.groups()
    if formula is not None:
        return f"$`{formula}`$"
    return f"`{code}`" if name is None else f"`{name.rpartition('.')[2]}`"


if __name__ == "__main__":
    main()
