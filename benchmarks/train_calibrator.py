"""Fit the calibrator of ``labels.find`` to cells whose wrong labels are known, and cross-validate it.

    python benchmarks/train_calibrator.py CELLS [--check]

CELLS is the folder of ``calibrator_cells.py``. Writes calibrator.npz into the package. With ``--check``
nothing is written: sets are left out in turn, and the probabilities for their labels are evaluated.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.metrics import average_precision_score
from torch import nn

import noiseproof.labels
from noiseproof.labels.calibrator import KINDS, MAX_DEVIATION, features_of
from noiseproof.labels.findings import marked
from noiseproof.labels.posterior import posterior

HIDDEN, DROPOUT, EPOCHS, BATCH, RATE, DECAY = 64, 0.3, 8, 2048, 4e-3, 0.03
MEMBERS, PARTS = 4, 5
CLEAN = 2.0
"""Weight of cells without wrong labels: where classes cannot be told apart, labels count as right."""


class Cell(NamedTuple):
    """A set with a kind of noise: features of the calibrator, and the truth."""

    name: str
    noise: str
    features: np.ndarray
    wrong: np.ndarray


def read(folder: Path, rounds: int) -> list[Cell]:
    found = []
    for path in sorted(folder.glob("*.npz")):
        name, noise, _ = path.stem.rsplit("-", 2)
        with np.load(path) as file:
            label, clean = file["label"], file["clean"]
            said = [
                posterior([file[key] for key in file.files if key.startswith(f"{number} ")], label)
                for number in range(1, rounds + 1)
            ]
        found.append(Cell(name, noise, features_of(said, label), label != clean))
    return found


def learn(cells: Sequence[Cell], seed: int) -> tuple[np.ndarray, np.ndarray, nn.Sequential]:
    """One network. A cell counts by the square root of its rows, a clean one more: they are one in eight."""
    torch.manual_seed(seed)
    features = np.concatenate([cell.features for cell in cells])
    wrong = torch.from_numpy(np.concatenate([cell.wrong for cell in cells]).astype(np.float32))
    shares = [(CLEAN if cell.noise == "clean" else 1) * len(cell.wrong) ** -0.5 for cell in cells]
    weight = torch.from_numpy(np.repeat(shares, [len(cell.wrong) for cell in cells]))
    weight = (weight / weight.mean()).float()
    mean, scale = features.mean(0), features.std(0) + 1e-3
    rows = torch.from_numpy(np.clip((features - mean) / scale, -MAX_DEVIATION, MAX_DEVIATION))
    network = nn.Sequential(
        nn.Linear(rows.shape[1], HIDDEN),
        nn.SiLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(HIDDEN, HIDDEN),
        nn.SiLU(),
        nn.Dropout(DROPOUT),
        nn.Linear(HIDDEN, 1),
    )
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(rows) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    measure = nn.BCEWithLogitsLoss(reduction="none")
    for _ in range(EPOCHS):
        for part in torch.randperm(len(rows)).split(BATCH):
            loss = (measure(network(rows[part]).squeeze(1), wrong[part]) * weight[part]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return mean, scale, network.eval()


def predictor(cells: Sequence[Cell], members: int) -> Callable[[np.ndarray], np.ndarray]:
    learned = [learn(cells, seed) for seed in range(members)]

    def predict(features: np.ndarray) -> np.ndarray:
        mean, scale, _ = learned[0]
        rows = torch.from_numpy(np.clip((features - mean) / scale, -MAX_DEVIATION, MAX_DEVIATION))
        with torch.no_grad():
            odds = torch.stack([network(rows).squeeze(1) for _, _, network in learned]).mean(0)
        return odds.sigmoid().numpy()

    return predict


def whole(name: str) -> str:
    """The set of whose rows a set is made."""
    return name.removeprefix("part_")


def left_out(cells: Sequence[Cell], members: int = 2) -> list[np.ndarray]:
    """Predictions for each cell by a calibrator that was fitted without the cells of its set."""
    names = np.random.default_rng(0).permutation(sorted({whole(cell.name) for cell in cells}))
    said: list[np.ndarray] = [np.empty(0)] * len(cells)
    for part in range(PARTS):
        out = set(names[part::PARTS])
        predict = predictor([cell for cell in cells if whole(cell.name) not in out], members)
        for number, cell in enumerate(cells):
            if whole(cell.name) in out:
                said[number] = predict(cell.features)
    return said


def calibration_error(said: np.ndarray, wrong: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error over bins of equal width."""
    place = np.minimum((said * bins).astype(int), bins - 1)
    gaps = [abs(said[place == k].sum() - wrong[place == k].sum()) for k in range(bins)]
    return float(sum(gaps) / len(said))


def f1(flagged: np.ndarray, wrong: np.ndarray) -> float:
    return 2 * float((flagged & wrong).sum()) / max(int(flagged.sum() + wrong.sum()), 1)


def measures(said: np.ndarray, wrong: np.ndarray) -> dict[str, float]:
    flagged = marked(said)
    return {
        "AP": float(average_precision_score(wrong, said)) if wrong.any() else np.nan,
        "F1": f1(flagged, wrong) if wrong.any() else np.nan,
        "rate error": abs(float(said.mean() - wrong.mean())),
        "ECE": calibration_error(said, wrong),
        "Brier": float(((said - wrong) ** 2).mean()),
        "flagged": float(flagged.mean()),
    }


def check(kind: str, cells: Sequence[Cell]) -> None:
    said = left_out(cells)
    found = [measures(one, cell.wrong) for one, cell in zip(said, cells, strict=True)]
    clean = [one["flagged"] for one, cell in zip(found, cells, strict=True) if cell.noise == "clean"]
    words = [f"{key} {np.nanmean([one[key] for one in found]):.3f}" for key in found[0] if key != "flagged"]
    print(f"{kind}, {len(cells)} cells, sets left out: {', '.join(words)}", end="; ")
    print(f"clean data flagged {np.mean(clean):.3f}, at worst {np.max(clean):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--kind", choices=KINDS, help="of evidence; the others stay as they are")
    options = parser.parse_args()
    torch.set_num_threads(1)
    arrays = {}
    for kind, rounds in KINDS.items():
        if options.kind not in (None, kind):
            continue
        cells = read(options.cells, rounds)
        if options.check:
            check(kind, cells)
            continue
        for member in range(MEMBERS):
            mean, scale, network = learn(cells, member)
            arrays |= {f"{kind}/mean": mean, f"{kind}/scale": scale}
            layers = [layer for layer in network if isinstance(layer, nn.Linear)]
            for number, layer in enumerate(layers):
                place = f"{kind}/{member}/{number}"
                arrays[f"{place}/weight"] = layer.weight.detach().numpy().astype(np.float16)
                arrays[f"{place}/bias"] = layer.bias.detach().numpy()
    if arrays:
        path = Path(noiseproof.labels.__path__[0]) / "calibrator.npz"
        if options.kind is not None and path.exists():
            arrays = dict(np.load(path)) | arrays
        np.savez_compressed(path, **arrays)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
