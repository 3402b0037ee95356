"""Multi-label: find the wrong entries of a table of yes-or-no labels.

Each sample has any number of 5 labels; some labels are rare, and 5 to 25% of the entries of each are flipped.
"""

import torch

from noiseproof import dynamics, labels, losses

SAMPLES, NAMES = 1500, ("sky", "water", "people", "text", "night")


def made_up(seed: int = 0):
    random = torch.Generator().manual_seed(seed)
    inputs = torch.randn(SAMPLES, 12, generator=random)
    weights = 2 * torch.randn(12, len(NAMES), generator=random)
    often = torch.tensor([0.0, -2.0, 1.0, -4.0, -1.0])
    truth = (inputs @ weights + often > 0).float()
    flipped = torch.rand(truth.shape, generator=random) < torch.linspace(0.05, 0.25, len(NAMES))
    return inputs, torch.where(flipped, 1 - truth, truth), flipped


def main() -> None:
    inputs, given, flipped = made_up()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 64), torch.nn.ReLU(), torch.nn.Linear(64, len(NAMES)))
    loss = losses.get("binary(gce(q=0.7))")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    recorder = dynamics.Recorder(tuple(given.shape), binary=True)
    for _ in range(15):
        for index in torch.randperm(SAMPLES).split(50):
            logits = model(inputs[index])
            optimizer.zero_grad()
            loss(logits, given[index]).backward()
            optimizer.step()
            recorder.write(index, logits, given[index])
        recorder.end_epoch()

    found = labels.find_multilabel(recorder.record(), recorder.shape, NAMES)  # one row per sample and label
    suspects = found[found.is_label_issue]
    right = flipped[suspects["sample"].tolist(), suspects["position"].tolist()].float().mean()
    print(
        f"{len(suspects)} suspects, {right:.0%} of them really wrong, of {int(flipped.sum())} wrong entries"
    )
    for name, rate, true in zip(NAMES, found.attrs["noise_rates"], flipped.float().mean(0), strict=True):
        print(f"{name}: {rate:.0%} of the entries seem wrong, {true:.0%} are")


if __name__ == "__main__":
    main()
