"""Find wrong labels with four more lines in your own training loop."""

import torch
from torch.utils.data import DataLoader, TensorDataset

from noiseproof import data, dynamics, labels, losses, noise


def main() -> None:
    digits = data.load("digits")
    noisy = noise.corrupt(digits.label, "symmetric(0.3)", num_classes=10, seed=0)  # 30% wrong on purpose
    inputs, number = digits.inputs.flatten(1), torch.arange(len(digits))
    loader = DataLoader(TensorDataset(inputs, noisy.labels, number), batch_size=64, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss = losses.get("gce(q=0.7)")  # or the loss you have

    recorder = dynamics.Recorder(len(digits))  # 1
    for _ in range(12):
        for input, label, index in loader:
            logits = model(input)
            optimizer.zero_grad()
            loss(logits, label).backward()
            optimizer.step()
            recorder.write(index, logits, label)  # 2: permanent numbers of the samples
        recorder.end_epoch()  # 3
    found = labels.find(recorder.record())  # 4: index, is_label_issue, label_score, predicted_label, ...

    suspects = torch.tensor(found.is_label_issue.tolist())
    print(f"{suspects.sum()} suspects, {noisy.flipped[suspects].float().mean():.0%} of them really wrong")


if __name__ == "__main__":
    main()
