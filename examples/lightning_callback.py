"""Lightning: find wrong labels while you train, on one device or several.

python examples/lightning_callback.py --devices 2
"""

import argparse

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from noiseproof import data, losses, noise
from noiseproof.integrations.lightning import RecordCallback


class Classifier(lightning.LightningModule):
    def __init__(self, loss: str = "gce(q=0.7)") -> None:
        super().__init__()
        self.network = torch.nn.Sequential(
            torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
        )
        self.loss = losses.get(loss)

    def training_step(self, batch, batch_idx):
        input, label, index = batch
        logits = self.network(input)
        return {"loss": self.loss(logits, label), "logits": logits, "label": label, "index": index}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--out", help="folder for the record")
    options = parser.parse_args()

    digits = data.load("digits")
    noisy = noise.corrupt(digits.label, "symmetric(0.3)", num_classes=10, seed=0)  # 30% wrong on purpose
    inputs, number = digits.inputs.flatten(1), torch.arange(len(digits))
    loader = DataLoader(TensorDataset(inputs, noisy.labels, number), batch_size=64, shuffle=True)

    callback = RecordCallback(len(digits), class_names=digits.class_names)
    trainer = lightning.Trainer(
        max_epochs=options.epochs,
        callbacks=[callback],
        devices=options.devices,
        accelerator="cpu",  # or "gpu"
        strategy="ddp" if options.devices > 1 else "auto",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Classifier(), loader)

    if trainer.is_global_zero:
        suspects = torch.tensor(callback.find().is_label_issue.tolist())
        right = noisy.flipped[suspects].float().mean()
        print(f"{suspects.sum()} suspects, {right:.0%} of them really wrong")
        if options.out:
            callback.record().save(options.out)


if __name__ == "__main__":
    main()
