"""3 x 3 convolutions of few channels: our kernels beside cuDNN's, alone and with eight runs at once.

Microseconds of a call in replayed CUDA graphs, bfloat16, channels last, batch 128: outputs, gradient by the
image, and gradient by the weights with the sum over its parts. ``8 streams`` is the time of a call divided by
8 while 8 graphs go on, each on its own stream, as the runs of a table do. Writes
benchmarks/convolutions_<device>.md.

    python benchmarks/convolutions.py [--rounds 5]
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch.nn.functional import conv2d

from noiseproof.devices import convolution as ours

LAYERS = {
    "16 to 16, 32 x 32": (16, 16, 32, 1),
    "3 to 16, 32 x 32": (3, 16, 32, 1),
    "16 to 32, 32 x 32 halved": (16, 32, 32, 2),
    "32 to 32, 16 x 16": (32, 32, 16, 1),
    "32 to 64, 16 x 16 halved": (32, 64, 16, 2),
    "64 to 64, 8 x 8": (64, 64, 8, 1),
    "3 to 64, 32 x 32": (3, 64, 32, 1),
    "64 to 64, 32 x 32": (64, 64, 32, 1),
}
BATCH, CALLS, STREAMS = 128, 20, 8
Work = Callable[[], object]


def channels_last(*shape: int) -> torch.Tensor:
    random = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    return random.contiguous(memory_format=torch.channels_last)


def microseconds(work: Work, streams: int, rounds: int) -> float:
    """Median over rounds of the time of a call."""
    work()
    torch.cuda.synchronize()
    graphs = []
    for _ in range(streams):
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()  # type: ignore[no-untyped-call]
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(CALLS):
                work()
        graphs.append((stream, graph))
    found = []
    for _ in range(rounds + 1):  # the first warms up
        torch.cuda.synchronize()
        start = time.perf_counter()
        for stream, graph in graphs:
            with torch.cuda.stream(stream):
                graph.replay()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return 1e6 * statistics.median(found[1:]) / CALLS / streams


def pairs(inputs: int, outputs: int, side: int, stride: int) -> Iterator[tuple[str, Work, Work | None]]:
    """What is computed, by cuDNN, and by us where we do."""
    image, weight = channels_last(BATCH, inputs, side, side), channels_last(outputs, inputs, 3, 3)
    upstream = torch.randn_like(conv2d(image, weight, padding=1, stride=stride))

    def backward(*wanted: bool) -> object:
        rest = [stride] * 2, [1, 1], [1, 1], False, [0, 0], 1, [*wanted, False]
        return torch.ops.aten.convolution_backward(upstream, image, weight, None, *rest)

    yield (
        "outputs",
        lambda: conv2d(image, weight, padding=1, stride=stride),
        lambda: ours._convolution(image, weight, stride),
    )
    is_ours = stride == 1 and inputs in ours.WIDTHS
    by_image = (lambda: ours._image_gradient(upstream, weight)) if is_ours else None
    yield "by image", lambda: backward(True, False), by_image
    by_weight = lambda: ours._weight_parts(image, upstream, stride).sum(0).to(weight.dtype)  # noqa: E731
    yield "by weights", lambda: backward(False, True), by_weight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    name = torch.cuda.get_device_name()
    lines = [
        "# Convolution kernels on a GPU",
        "",
        f"Microseconds of a convolution at batch {BATCH} on {name}, torch {torch.__version__}, bfloat16.",
        "",
        "| layer | what | cuDNN | ours | cuDNN, 8 streams | ours, 8 streams |",
        "|---|---|---|---|---|---|",
    ]
    for layer, sizes in LAYERS.items():
        for what, theirs, own in pairs(*sizes):
            times = [
                "-" if work is None else f"{microseconds(work, streams, arguments.rounds):.1f}"
                for streams in (1, STREAMS)
                for work in (theirs, own)
            ]
            lines.append(f"| {layer} | {what} | {' | '.join(times)} |")
            print(lines[-1], flush=True)
    file = arguments.out / f"convolutions_{name.split()[-1].lower()}.md"
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
