"""CIFAR-10N and CIFAR-100N: the labels people gave to the CIFAR training images."""

from __future__ import annotations

from pathlib import Path

from ..labelled import LabelledData
from ..npz import read_npz
from ..root import find_files
from .cifar10 import cifar10
from .cifar100 import cifar100
from .split import check_split

KINDS = {
    "aggre": "cifar10",
    "random1": "cifar10",
    "random2": "cifar10",
    "random3": "cifar10",
    "worse": "cifar10",
    "noisy": "cifar100",
}
"""Kind of label to the dataset it belongs to."""


def cifar_n(*, root: Path, split: str = "train", kind: str = "worse") -> LabelledData:
    """CIFAR under human labels, with the official ones as clean labels; the test split is the plain one.

    ``aggre``, ``random1`` to ``random3`` and ``worse`` are CIFAR-10N, ``noisy`` is CIFAR-100N. Reads
    ``cifar_n.npz`` with arrays such as cifar10_clean and cifar10_worse in the official order of CIFAR;
    its clean labels must equal those of the dataset, else the orders differ and the labels are useless.

    Reference:
        Wei et al., Learning with Noisy Labels Revisited, ICLR 2022
    """
    check_split("cifar_n", split)
    if kind not in KINDS:
        raise ValueError(f"cifar_n: kind={kind!r} is unknown, choose one of {', '.join(KINDS)}")
    name = KINDS[kind]
    data = (cifar10 if name == "cifar10" else cifar100)(root=root, split=split)
    if split == "test":
        return data
    (path,) = find_files("cifar_n", root, [["cifar_n.npz"]])
    clean, human = read_npz(path, [f"{name}_clean", f"{name}_{kind}"])
    differ = len(data) if clean.shape != (len(data),) else int((data.label.numpy() != clean).sum())
    if differ:
        raise ValueError(
            f"{path}: {name}_clean, of shape {clean.shape}, differs from the labels of {name} in {differ} of"
            f" {len(data)} samples: the human labels belong to another order of the images"
        )
    return LabelledData(
        data.inputs,
        human,
        clean_label=data.label,
        class_names=data.class_names,
        groups=data.groups,
        name=f"cifar_n_{kind}",
        duplicates="ignore",
    )
