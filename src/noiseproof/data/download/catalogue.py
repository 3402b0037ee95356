"""Datasets that can be downloaded, with checksums of their files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...grammar import nearest

UNKNOWN_SIZE_CAP = 64 * 10**6
"""Largest download of unknown size, in bytes."""


@dataclass(frozen=True)
class Download:
    """A file to download; without a verified ``sha256`` only the contents of the dataset are checked."""

    url: str
    size: int | None
    sha256: str | None

    @property
    def file(self) -> str:
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Dataset:
    """Downloads of a dataset, and its contents in the folder ``root/name``."""

    licence: str
    downloads: tuple[Download, ...] = ()
    form: str = "files"
    """Installation of downloads: "files" are moved, "archive" is unpacked, "human_labels" are converted."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by path; ``cifar_n.npz#name`` is one array, hashed as uint8."""

    @property
    def size(self) -> int | None:
        """Bytes to download; None if unknown."""
        sizes = [download.size for download in self.downloads]
        return None if None in sizes else sum(size or 0 for size in sizes)


TORONTO = "https://www.cs.toronto.edu/~kriz"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
HUMAN = "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data"
CIFAR_LICENCE = "no licence stated; cite Krizhevsky, Learning Multiple Layers of Features, 2009"

_MNIST_FILES = {
    "train-images-idx3-ubyte.gz": (
        9912422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "train-labels-idx1-ubyte.gz": (28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    "t10k-images-idx3-ubyte.gz": (
        1648877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "t10k-labels-idx1-ubyte.gz": (4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
}
_CIFAR10_FILES = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
_CIFAR100_FILES = {
    "train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
    "test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
}
_HUMAN_LABELS = {
    "cifar10_clean": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
    "cifar10_aggre": "2bd5e02e39c9c79772cf4c794f7b74630ac1aaeeac4b807a63c11e9a375f8404",
    "cifar10_worse": "11a306ed336e3bc81aaac36322ddf12de379d0df1883aa43e10ba562a98f6b2a",
    "cifar10_random1": "8d01b5a5af048e84bf6e964c86e1133e95d5b22c07763e23705b714ad0f32d8b",
    "cifar10_random2": "7ea04c887750912f49669282a75e78df380077766b361fb6cb5200999ad6dcda",
    "cifar10_random3": "cdbfad7e15bfc8fc83bc7c6e30b692e2aa1186660d82738b7543a6012d6ca46f",
    "cifar100_clean": "9f11b9f97aad759ba6df0a33e3218b01d8deaf4ed3a14aa1185d69b9ad7ebcb3",
    "cifar100_noisy": "54050bc3f9441adc78f204c68915d49a7f86bfa72b8fba04751b961d5be4aa62",
}

DATASETS: dict[str, Dataset] = {
    "digits": Dataset("BSD-3-Clause, comes with scikit-learn"),
    "mnist": Dataset(
        "CC BY-SA 3.0 (LeCun, Cortes & Burges)",
        tuple(Download(f"{MNIST}/{file}", size, sha256) for file, (size, sha256) in _MNIST_FILES.items()),
        contents={file: sha256 for file, (_, sha256) in _MNIST_FILES.items()},
    ),
    "cifar10": Dataset(
        CIFAR_LICENCE,
        (
            Download(
                f"{TORONTO}/cifar-10-binary.tar.gz",
                170052171,
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        form="archive",
        contents={f"cifar-10-batches-bin/{file}": sha256 for file, sha256 in _CIFAR10_FILES.items()},
    ),
    "cifar100": Dataset(
        CIFAR_LICENCE,
        (
            Download(
                f"{TORONTO}/cifar-100-binary.tar.gz",
                168513733,
                "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
            ),
        ),
        form="archive",
        contents={f"cifar-100-binary/{file}": sha256 for file, sha256 in _CIFAR100_FILES.items()},
    ),
    "cifar_n": Dataset(
        "CC BY-NC 4.0 (Wei et al., ICLR 2022): no commercial use",
        tuple(Download(f"{HUMAN}/CIFAR-{classes}_human.pt", None, None) for classes in (10, 100)),
        form="human_labels",
        contents={f"cifar_n.npz#{array}": sha256 for array, sha256 in _HUMAN_LABELS.items()},
    ),
}


@dataclass(frozen=True)
class Report:
    """Contents of a dataset by state; a file is wrong when its SHA-256 is not the official one."""

    name: str
    folder: Path
    present: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return not self.missing and not self.wrong


def verify(name: str, root: str | Path) -> Report:
    """Read every file of a dataset in ``root/name`` and compare its SHA-256.

    Example:
        >>> verify("cifar100", "/nowhere").missing
        ('cifar-100-binary/train.bin', 'cifar-100-binary/test.bin')
    """
    folder = Path(root) / name
    return report_on(name, dataset_named(name), folder)


def dataset_named(name: str) -> Dataset:
    if name not in DATASETS:
        raise ValueError(f"unknown dataset {name!r}{nearest(name, sorted(DATASETS))}")
    return DATASETS[name]


def report_on(name: str, dataset: Dataset, folder: Path) -> Report:
    """The state of every content of a dataset in a folder."""
    states: dict[str, list[str]] = {"present": [], "missing": [], "wrong": []}
    for content, sha256 in dataset.contents.items():
        found = _content_hash(folder, content)
        states["missing" if found is None else "present" if found == sha256 else "wrong"].append(content)
    return Report(name, folder, *(tuple(states[state]) for state in ("present", "missing", "wrong")))


def _content_hash(folder: Path, content: str) -> str | None:
    """SHA-256 of a file, or of an array in a file; None if there is none."""
    file, _, array = content.partition("#")
    path = folder / file
    if not path.is_file():
        return None
    if array:
        return _array_hash(path, array)
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _array_hash(path: Path, array: str) -> str:
    import numpy as np

    from ..numpy_files import read_npz

    try:
        (found,) = read_npz(path, [array])
    except ValueError:
        return "unreadable"
    return hashlib.sha256(np.ascontiguousarray(found, dtype=np.uint8).tobytes()).hexdigest()
