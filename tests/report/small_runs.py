"""Write small run folders with known numbers."""

import dataclasses
import json
from pathlib import Path

import torch

from noiseproof.atomic import write_tensors
from noiseproof.dynamics import RunFolder
from noiseproof.dynamics.record import SAMPLES, save_epoch, save_samples
from noiseproof.testing import example_record

SETTINGS = {
    "data": "digits",
    "noise": "symmetric(0.3)",
    "model": "mlp",
    "loss": "ce",
    "epochs": 12,
    "seed": 0,
}


def metrics_of(record, test=0.8):
    """Test accuracy that rises to 0.9 in the fourth epoch and falls to ``test``."""
    lines = []
    for epoch in range(1, record.epochs + 1):
        now = 0.9 * epoch / 4 if epoch <= 4 else 0.9 + (test - 0.9) * (epoch - 4) / (record.epochs - 4)
        line = {"epoch": epoch, "step": 10 * epoch, "lr": 0.1, "loss": 1 / epoch, "test_accuracy": now}
        line["test_class_accuracy"] = [now - 0.1 * k for k in range(record.num_classes - 1)] + [None]
        line |= {"validation_accuracy": None, "alpha": 1 / epoch, "snr": 2.0, "seconds": 0.5}
        clean = record.clean_label is not None
        line |= {"clean_alpha": 1.5 / epoch if clean else None, "noisy_alpha": 0.5 / epoch if clean else None}
        lines.append(line)
    return lines


def outputs_of(record, samples=90):
    """Outputs on test samples of all classes but the last; half of class 0 is predicted as class 1."""
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(samples) % (record.num_classes - 1)
    logits = 4.0 * torch.nn.functional.one_hot(label, record.num_classes).float()
    taken = (label == 0) & (torch.arange(samples) % 2 == 0)
    logits[taken] = logits[taken].roll(1, 1)
    train = torch.nn.functional.one_hot(record.prediction[-1].long().clamp_min(0), record.num_classes)
    return {
        "test_probability": logits.softmax(1).half(),
        "test_label": label,
        "test_index": torch.arange(samples),
        "test_features": (logits + torch.randn(logits.shape, generator=generator)).half(),
        "train_probability": train.half(),
    }


def write_run(folder, record=None, *, settings=None, metrics=None, outputs=None, class_names=None):
    """Write a finished run of a record, with default settings, metrics and outputs."""
    folder = Path(folder)
    record = example_record() if record is None else record
    if class_names is not None:
        record = dataclasses.replace(record, class_names=tuple(class_names))
    (folder / "record").mkdir(parents=True)
    place = folder / "record"
    save_samples(place, record.index, record.label, record.clean_label, record.class_names)
    assert (place / SAMPLES).is_file()
    for epoch in range(record.epochs):
        extra = {name: column[epoch].contiguous() for name, column in record.extra.items()}
        columns = {"margin": record.margin[epoch], "prediction": record.prediction[epoch]}
        save_epoch(place, epoch + 1, columns | extra)
    lines = metrics_of(record) if metrics is None else metrics
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "config.json").write_text(json.dumps(SETTINGS if settings is None else settings))
    (folder / "manifest.json").write_text(json.dumps({"data": {"class_names": list(record.class_names)}}))
    (folder / "result.json").write_text("{}")
    found = outputs_of(record) if outputs is None else outputs
    if found:
        write_tensors(folder / "outputs.safetensors", found)
    return RunFolder(folder)
