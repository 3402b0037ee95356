"""Every method beside cross entropy on digits and on a part of MNIST: five seeds, two kinds of noise.

    python tables/methods/run.py DATA OUT [--jobs 2] [--seeds 5]

DATA holds mnist_small.npz as tables/small_scale/make_small_sets.py writes it. Settings were fixed before
any run: the methods' own defaults, except that epochs at which something starts are a fifth of the run,
as the papers' numbers belong to longer runs. Methods with a matrix are given the true one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from noiseproof.train import Config, compare, grid

LOSSES = ("ce", "gce(q=0.7)")
NOISES = {"symmetric": "symmetric(0.4)", "asymmetric": "asymmetric(0.4, map='mnist')"}
EPOCHS = {"digits": 100, "mnist": 30}


def methods(noise: str, epochs: int) -> list[str]:
    start = epochs // 5
    return [
        f"nal(start={start})",
        "elr",
        f"selc(start={start})",
        "bootstrap_soft",
        "bootstrap_hard",
        f"joint(start={start})",
        f'forward(transition="{noise}")',
        f'forward(transition="{noise}", rce=1.0)',
        f'backward(transition="{noise}")',
        "s_adaptation",
        "gls_sl",
        f"truncated_gce(start={start})",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    sources = {"digits": "digits", "mnist": f"arrays(path='{options.data / 'mnist_small.npz'}')"}
    for source, epochs in EPOCHS.items():
        for kind, noise in NOISES.items():
            place = options.out / f"{source}_{kind}"
            config = Config(data=sources[source], noise=noise, model="mlp(norm=True)", lr=0.05, epochs=epochs)
            chosen = methods(noise, epochs)
            runs = grid(config, losses=LOSSES, methods=chosen, seeds=options.seeds, out=place)
            compare(runs, jobs=options.jobs).write(place)


if __name__ == "__main__":
    main()
