"""A step of training: as people usually write it, in the plain loop, and captured, alone and side by side.

Milliseconds per step at batch 128 on images like those of CIFAR-10 (random pixels: speed does not look at
them), bf16 autocast, crop and flip. ``DataLoader`` is the usual loop: workers augment on the CPU, the loss is
F.cross_entropy, nothing is recorded. All others record the margin of every sample. ``k runs`` is the time of
a step divided by k while k runs go on in one process, each on its own stream. Writes
benchmarks/training_<device>.json and .md; networks measured before stay in them.

    python benchmarks/training.py [--models cnn8,resnet20] [--together 1,4,8] [--steps 200] [--rounds 3]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from noiseproof import models
from noiseproof.data import LabelledData
from noiseproof.devices.capture import capture_lock
from noiseproof.train import Config
from noiseproof.train.graph import make_steps
from noiseproof.train.session import Session
from noiseproof.train.task import make_task

MODELS = "cnn8,resnet20,resnet44,resnet34"
GOALS = {"cnn8": 1.0, "resnet20": 0.95, "resnet44": 1.9, "resnet34": 3.8}
BATCH, WORKERS = 128, 8
SAMPLES = 390 * BATCH
Work = Callable[[int], None]


def random_data(classes: int) -> LabelledData:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (SAMPLES, 3, 32, 32), dtype=torch.uint8, generator=generator)
    label = torch.randint(0, classes, (SAMPLES,), generator=generator)
    return LabelledData(images, label, class_names=[str(k) for k in range(classes)], duplicates="ignore")


class CroppedImages(torch.utils.data.Dataset[tuple[Tensor, Tensor]]):
    """One image at a time, cropped, flipped and normalised by a worker."""

    def __init__(self, data: LabelledData) -> None:
        self.images, self.label = torch.as_tensor(data.inputs), data.label

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        image = pad(self.images[number], [4] * 4)
        top, left, mirrored = torch.randint(0, 9, (3,)).tolist()
        image = image[:, top : top + 32, left : left + 32]
        image = image.flip(2) if mirrored % 2 else image
        return (image.float() / 255 - 0.47) / 0.25, self.label[number]


def usual_loop(model: str, data: LabelledData, device: torch.device) -> Work:
    """As a tutorial has it: DataLoader with workers, pinned memory, autocast, SGD."""
    network = models.get(model, num_classes=data.num_classes, in_channels=3, image_size=(32, 32), seed=0).to(
        device
    )
    network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    loader = torch.utils.data.DataLoader(
        CroppedImages(data),
        BATCH,
        shuffle=True,
        num_workers=WORKERS,
        pin_memory=device.type == "cuda",
        persistent_workers=True,
    )
    endless = (batch for _ in iter(int, 1) for batch in loader)

    def work(steps: int) -> None:
        for _ in range(steps):
            images, label = (part.to(device, non_blocking=True) for part in next(endless))
            _usual_step(network, optimizer, images.contiguous(memory_format=torch.channels_last), label)

    return work


def _usual_step(network: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, label: Tensor) -> None:
    with torch.autocast(images.device.type, torch.bfloat16):
        loss = cross_entropy(network(images), label)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def our_loop(model: str, data: LabelledData, device: torch.device, loop: str, folder: str, seed: int) -> Work:
    """Steps of the library's loop, epoch after epoch."""
    config = Config(
        model=model,
        loss="gce",
        precision="bf16",
        weight_decay=1e-4,
        epochs=10_000,
        augment="crop(padding=4) | flip | normalize(mean=0.47, std=0.25)",
        device=str(device),
        loop=loop,
        seed=seed,
        out=f"{folder}/{seed}",
    )
    with capture_lock:
        session = Session(config, make_task(config, data), device)
    session.model.train()
    steps = make_steps(session)

    def endless() -> Any:
        while True:
            yield from steps.epoch()
            session.end_epoch()

    stream = endless()

    def work(count: int) -> None:
        for _ in range(count):
            next(stream)

    return work


def milliseconds(works: list[Work], device: torch.device, steps: int, rounds: int) -> float:
    """Median over rounds of the time of a step of all of them, divided by their number."""

    on_gpu = device.type == "cuda"
    streams = [torch.cuda.Stream() if on_gpu else None for _ in works]  # type: ignore[no-untyped-call]

    def one(work: Work, stream: torch.cuda.Stream | None) -> None:
        with torch.cuda.stream(stream):
            work(steps)
            if stream is not None:
                stream.synchronize()

    found = []
    with ThreadPoolExecutor(len(works)) as threads:
        for _ in range(rounds + 1):  # the first warms up
            start = time.perf_counter()
            list(threads.map(one, works, streams))
            found.append(time.perf_counter() - start)
    return 1e3 * statistics.median(found[1:]) / steps / len(works)


def measure(model: str, arguments: argparse.Namespace, device: torch.device) -> dict[str, float]:
    data = random_data(100 if model == "resnet34" else 10)
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        steps, rounds = arguments.steps, arguments.rounds
        if not arguments.only_graph:
            times["DataLoader"] = milliseconds([usual_loop(model, data, device)], device, steps, rounds)
            plain = our_loop(model, data, device, "plain", folder, 0)
            times["plain loop"] = milliseconds([plain], device, steps, rounds)
        for count in arguments.together if device.type == "cuda" else []:
            works = [our_loop(model, data, device, "graph", folder, seed) for seed in range(count)]
            name = "1 run" if count == 1 else f"{count} runs"
            times[f"captured, {name}"] = milliseconds(works, device, steps, rounds)
            print(f"  {model}: {name} {times[f'captured, {name}']:.3f} ms", flush=True)
    return times


def table(found: dict[str, Any]) -> str:
    names = list(dict.fromkeys(name for row in found["models"].values() for name in row))
    lines = [
        "# Time of a training step on a GPU",
        "",
        f"Milliseconds per step and run at batch {BATCH} on {found['device']}, torch {found['torch']}, bf16",
        "autocast, crop and flip; median of rounds. Goals are for eight runs at once.",
        "",
        "| network | " + " | ".join(names) + " | goal |",
        "|---|" + "---|" * (len(names) + 1),
    ]
    for model, row in found["models"].items():
        cells = [f"{row[name]:.2f}" if name in row else "" for name in names]
        lines.append(f"| {model} | {' | '.join(cells)} | {GOALS.get(model, '')} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--together", default="1,4,8", type=lambda text: [int(k) for k in text.split(",")])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only-graph", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    file = arguments.out / f"training_{name.split()[-1].lower()}.json"
    before = json.loads(file.read_text())["models"] if file.is_file() else {}
    found: dict[str, Any] = {"device": name, "torch": torch.__version__, "models": before}
    for model in arguments.models.split(","):
        found["models"][model] = measure(model, arguments, device)
        file.write_text(json.dumps(found, indent=2) + "\n")
        file.with_suffix(".md").write_text(table(found))
    print(table(found))


if __name__ == "__main__":
    main()
