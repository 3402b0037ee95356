"""Tiny files in the official forms of CIFAR, written from the description of the format."""

import hostile_pickles as h
import numpy as np


def images(count, seed=0):
    """Planes red, green, blue as rows, as in the official files."""
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), np.uint8)


def write_binary(path, pixels, *labels):
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [np.array(column, np.uint8)[:, None] for column in labels]
    path.write_bytes(np.concatenate([*columns, pixels], 1).tobytes())


def write_python(path, pixels, **labels):
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = {b"batch_label": h.old_text(b"training batch 1 of 5")}
    entries |= {key.encode(): h.numbers(values) for key, values in labels.items()}
    entries[b"data"] = h.array(pixels.shape, pixels.tobytes())
    path.write_bytes(h.batch(entries))


def as_npz(pixels):
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def as_batch(pixels):
    return pixels.reshape(-1, 3, 32, 32)
