"""Several annotators: one label per image, how good each annotator is, which answers are wrong, soft targets.

A table with a row per image and a column per annotator, empty where an annotator did not answer.
Then a network is trained on the soft targets, and its out-of-sample predictions improve the consensus.
"""

import numpy as np
import pandas as pd
import torch

from noiseproof import data, labels, losses

SKILL = {"ann": 0.9, "bob": 0.75, "cyd": 0.7, "dan": 0.4, "eve": 0.1}  # eve guesses


def answers(truth: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """Each image is shown to two or three of the five."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame({name: [None] * len(truth) for name in SKILL}, dtype=object)
    for row, digit in enumerate(truth):
        for name in random.choice(list(SKILL), random.integers(2, 4), replace=False):
            right = random.random() < SKILL[name]
            table.loc[row, name] = int(digit) if right else int(random.integers(0, 10))
    return table


def out_of_fold(inputs: torch.Tensor, soft: torch.Tensor, folds: int = 3) -> np.ndarray:
    """Out-of-sample predictions of networks trained on soft targets."""
    fold, found = torch.arange(len(inputs)) % folds, torch.zeros(soft.shape)
    for number in range(folds):
        torch.manual_seed(number)
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
        optimizer, loss = torch.optim.Adam(model.parameters(), lr=3e-3), losses.get("ce")
        part = (fold != number).nonzero().flatten()
        for _ in range(15):
            for at in part[torch.randperm(len(part))].split(64):
                optimizer.zero_grad()
                loss(model(inputs[at]), soft[at]).backward()
                optimizer.step()
        with torch.no_grad():
            found[fold == number] = model(inputs[fold == number]).softmax(1)
    return found.numpy()


def main() -> None:
    digits = data.load("digits")
    truth, table = digits.label.numpy(), answers(digits.label.numpy())

    first = labels.consensus(table)
    inputs, soft = digits.inputs.flatten(1), torch.from_numpy(first.soft_targets).float()
    second = labels.consensus(table, probabilities=out_of_fold(inputs, soft))
    for name, column in {
        "majority": first.labels.majority_label,
        "consensus": first.labels.consensus_label,
        "with a network": second.labels.consensus_label,
    }.items():
        print(f"{name}: {100 * (column == truth).mean():.1f}% right")

    print(second.annotators[["quality", "answers", "worst_class"]].round(2).to_string())
    said = second.answers[second.answers.is_label_issue]
    wrong = said.given_label != truth[said["index"]]
    print(
        f"{len(said)} of {len(second.answers)} answers are suspects, {100 * wrong.mean():.0f}% of them wrong"
    )


if __name__ == "__main__":
    main()
