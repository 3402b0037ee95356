"""Datasets with real label noise, in the layouts of their authors.

Lists and file names are read when the data are loaded, images on demand; images are resized to a square
without keeping the aspect ratio. A list cannot refer to files outside its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from ...files import read_bytes
from ..images import SUFFIXES
from ..labelled import LabelledData
from ..locations import NoSplitError, check_split, find_files
from .folder import image_data, image_paths

MAX_BYTES = 1 << 28
"""Largest list in bytes; a million lines of 50 characters are 50 MB."""
FASHION = (
    *("T-Shirt", "Shirt", "Knitwear", "Chiffon", "Sweater", "Hoodie", "Windbreaker", "Jacket", "Down Coat"),
    *("Suit", "Shawl", "Dress", "Vest", "Underwear"),
)
ANIMALS = (
    *("cat", "lynx", "wolf", "coyote", "cheetah", "jaguar", "chimpanzee", "orangutan", "hamster"),
    "guinea_pig",
)
SUBSETS = (50, 200, 400, 1000)
FRAME = re.compile(r"(00-1|\d{4})C(\d)T(\d{4})F(\d{3,})\.\w+")
QUERY_FILES = ("test_name.txt", "tracks_test_info.mat", "query_IDX.mat")
Found = Sequence[tuple[str, int]]
"""Paths and labels."""


def clothing1m(
    *, root: Path, split: str = "train", size: int = 256, on_error: str = "raise", clean: bool = False
) -> LabelledData:
    """Clothing1M: a million photos of 14 kinds of clothes with labels of shops; ``clean``: 50,000 verified.

    Labels of validation and test data are verified by people. Lists may be in ``annotations/``.

    Reference:
        Xiao et al., Learning from Massive Noisy Labeled Data for Image Classification, CVPR 2015
    """
    check_split("clothing1m", split, validation=True)
    train = "clean_train" if clean else "noisy_train"
    kind = {"train": train, "validation": "clean_val", "test": "clean_test"}[split]
    names = [f"{kind}_key_list.txt", f"{kind.partition('_')[0]}_label_kv.txt"]
    keys, labels = find_files("clothing1m", root, [names], ["annotations"])
    here = keys.parent if (keys.parent / "images").is_dir() else keys.parent.parent
    found = [(_inside(here, key, keys, line), label) for line, key, label in _labelled(keys, labels)]
    return _data("clothing1m", found, FASHION, size, on_error)


def clothing1m_counts(root: Path) -> np.ndarray:
    """Number of clean training images by clean and noisy label, (14, 14), of those that have both."""
    names = [f"{name}.txt" for name in ("clean_train_key_list", "clean_label_kv", "noisy_label_kv")]
    keys, clean, noisy = find_files("clothing1m", root, [names], ["annotations"])
    given = {key: word for _, key, word in _pairs(noisy)}
    counts = np.zeros((len(FASHION), len(FASHION)))
    for _, key, label in _labelled(keys, clean):
        if key in given:
            counts[label, _number(given[key], len(FASHION), noisy, key)] += 1
    if not counts.any(1).all():
        missing = FASHION[int(counts.any(1).argmin())]
        raise ValueError(f"{keys}: no image of the class {missing!r} has a label in {noisy.name}")
    return counts


def webvision(
    *,
    root: Path,
    split: str = "train",
    size: int = 256,
    on_error: str = "raise",
    classes: int = 50,
    imagenet: bool = False,
) -> LabelledData:
    """WebVision 1.0: Google images of the first 50, 200, 400 or all 1,000 classes of ImageNet.

    Test data are its validation images, or with ``imagenet`` those of ImageNet, in ``imagenet/val/SYNSET/``,
    in the order of the classes in ``info/synsets.txt``.

    Reference:
        Li et al., WebVision Database: Visual Learning and Understanding from Web Data, arXiv 1708.02862
    """
    check_split("webvision", split)
    if classes not in SUBSETS:
        raise ValueError(f"webvision: classes={classes!r} is unknown, choose one of {SUBSETS}")
    names = [str(number) for number in range(classes)]
    if split == "test" and imagenet:
        (listed,) = find_files("webvision", root, [["info/synsets.txt"]])
        synsets = [line.split()[0] for _, line in _lines(listed)][:classes]
        folders = [_inside(listed.parents[1] / "imagenet" / "val", one, listed, 0, "") for one in synsets]
        found = [(path, label) for label, one in enumerate(folders) for path in image_paths(Path(one))]
        return _data("webvision", found, names, size, on_error)
    name, folder = ("val_filelist", "val_images_256") if split == "test" else ("train_filelist_google", "")
    (listed,) = find_files("webvision", root, [[f"info/{name}.txt"]])
    here = listed.parents[1] / folder
    if split == "test" and not here.is_dir():
        here = listed.parents[1] / "val_images"
    rows = ((line, key, _number(word, 1000, listed, key)) for line, key, word in _pairs(listed))
    found = [(_inside(here, key, listed, line), label) for line, key, label in rows if label < classes]
    return _data("webvision", found, names, size, on_error)


def animal10n(*, root: Path, split: str = "train", size: int = 64, on_error: str = "raise") -> LabelledData:
    """ANIMAL-10N: 50,000 photos of five pairs of similar animals; the name of a file begins with its label.

    Classes are numbered as their authors list them; some public code exchanges 4 and 5.

    Reference:
        Song et al., SELFIE: Refurbishing Unclean Samples for Robust Deep Learning, ICML 2019
    """
    check_split("animal10n", split)
    folders = ["raw_image_ver", "raw_image"]
    (here,) = find_files("animal10n", root, [["testing" if split == "test" else "training"]], folders)
    paths = image_paths(here)
    words = (Path(path).name.partition("_")[0] for path in paths)
    found = [(path, _number(word, 10, here, path)) for path, word in zip(paths, words, strict=True)]
    return _data("animal10n", found, ANIMALS, size, on_error)


def food101n(
    *, root: Path, split: str = "train", size: int = 256, on_error: str = "raise", verified: bool = False
) -> LabelledData:
    """Food-101N: 310,009 photos of 101 dishes from the web; test data: Food-101, in ``food-101/``.

    ``verified`` selects the samples whose labels were verified by people, as in the validation data.

    Reference:
        Lee et al., CleanNet: Transfer Learning for Scalable Image Classifier Training with Label Noise,
        CVPR 2018
    """
    check_split("food101n", split, validation=True)
    (meta,) = find_files("food101n", root, [["meta/classes.txt"]], ["Food-101N_release"])
    names = sorted(name.strip() for _, name in _lines(meta) if name.strip() != "class_name")
    checked = verified or split == "validation"
    kind = {"validation": "verified_val", "train": "verified_train" if verified else "imagelist"}
    if split == "test":
        (listed,) = find_files("food101n", root, [["food-101/meta/test.txt"]])
        rows = [(line, f"{key}.jpg") for line, key in _lines(listed)]
    else:
        (listed,) = find_files("food101n", root, [[f"meta/{kind[split]}.tsv"]], ["Food-101N_release"])
        words = ((line, text.split("\t")) for line, text in _lines(listed) if "class_name" not in text)
        rows = [(line, key) for line, (key, *truth) in words if not checked or truth == ["1"]]
    number_of = {name: number for number, name in enumerate(names)}
    found = []
    for line, key in rows:
        name = key.partition("/")[0]
        if name not in number_of:
            raise ValueError(f"{listed}, line {line}: {name!r} is not a class of {meta}")
        found.append((_inside(listed.parents[1] / "images", key, listed, line), number_of[name]))
    return _data("food101n", found, names, size, on_error)


def mars(
    *, root: Path, split: str = "train", size: int = 256, on_error: str = "raise", people: str = "train"
) -> LabelledData:
    """MARS: frames of videos of 625 people; ``people="test"`` are other people, for retrieval.

    Reference:
        Zheng et al., MARS: A Video Benchmark for Large-Scale Person Re-Identification, ECCV 2016
    """
    check_split("mars", split)
    if people not in ("train", "test"):
        raise ValueError(f"mars: people={people!r} is unknown, choose 'train' or 'test'")
    if split == "test":
        raise NoSplitError("mars: the people of the test videos are not those of training")
    here, other = find_files("mars", root, [["bbox_train", "bbox_test"]])
    here = here if people == "train" else other
    frames = [(path, frame_of(path).person) for path in image_paths(here)]
    frames = [(path, person) for path, person in frames if person >= 0]
    persons = sorted({person for _, person in frames})
    number_of = {person: number for number, person in enumerate(persons)}
    found = [(path, number_of[person]) for path, person in frames]
    return _data("mars", found, [f"{person:04d}" for person in persons], size, on_error)


class Frame(NamedTuple):
    """The name of an image of MARS; person -1 is a false detection, person 0 an unknown person."""

    person: int
    camera: int
    tracklet: int
    number: int


def frame_of(path: str) -> Frame:
    """
    >>> frame_of("bbox_test/0002/0002C1T0003F017.jpg")
    Frame(person=2, camera=1, tracklet=3, number=17)
    """
    name = PurePosixPath(path).name
    if (found := FRAME.fullmatch(name)) is None:
        raise ValueError(f"{name!r} is not a file name of MARS, such as 0002C1T0003F017.jpg")
    return Frame(-1 if found[1] == "00-1" else int(found[1]), *map(int, found.groups()[1:]))


def mars_queries(root: Path) -> set[tuple[int, int, int]] | None:
    """Person, camera and tracklet of the official queries, listed in ``info/``; None without that folder."""
    if not any((folder / "info").is_dir() for folder in (root, root / "mars")):
        return None
    listed, tracks, queries = find_files("mars", root, [[f"info/{name}" for name in QUERY_FILES]])
    names = [line for _, line in _lines(listed)]
    firsts, found = _matrix(tracks, "track_test_info")[:, 0], set()
    for query in _matrix(queries, "query_IDX").ravel():
        if not (1 <= query <= len(firsts) and 1 <= firsts[query - 1] <= len(names)):
            raise ValueError(f"{queries}: video {query} is not in {tracks.name} and {listed.name}")
        found.add(frame_of(names[firsts[query - 1] - 1])[:3])
    return found


def _matrix(path: Path, name: str) -> np.ndarray:
    from scipy.io import loadmat, matlab  # type: ignore[import-untyped]

    try:
        return np.atleast_2d(loadmat(path)[name]).astype(np.int64)
    except (KeyError, ValueError, TypeError, NotImplementedError, matlab.MatReadError) as problem:
        raise ValueError(f"{path} does not have the matrix {name} of MARS: {problem}") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbers and texts of the non-empty lines of a list."""
    text = read_bytes(path, MAX_BYTES).decode("utf-8", "replace")
    yield from ((number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip())


def _pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    """Number, path and label of lines such as ``images/7/64/3863634,12.jpg 5``."""
    for number, line in _lines(path):
        key, *rest = line.rsplit(maxsplit=1)
        if len(rest) != 1:
            raise ValueError(f"{path}, line {number}: expected an image and its label, got {line[:80]!r}")
        yield number, key.strip(), rest[0]


def _labelled(keys: Path, labels: Path) -> Iterator[tuple[int, str, int]]:
    """Line, image and label of every line of a list of Clothing1M."""
    known = {key: word for _, key, word in _pairs(labels)}
    for line, key in _lines(keys):
        if key not in known:
            raise ValueError(f"{keys}, line {line}: {key!r} has no label in {labels.name}")
        yield line, key, _number(known[key], len(FASHION), labels, key)


def _inside(folder: Path, key: str, listed: Path, line: int, ending: str | None = None) -> str:
    """The path of an image of a list; ValueError unless it is inside the folder."""
    parts = PurePosixPath(key).parts
    if not parts or parts[0] == "/" or ".." in parts or "\\" in key or ":" in parts[0] or "\0" in key:
        raise ValueError(f"{listed}, line {line}: {key[:80]!r} is not a path inside {folder}")
    if ending is None and PurePosixPath(key).suffix.lower() not in SUFFIXES:
        raise ValueError(f"{listed}, line {line}: {key[:80]!r} is not a JPEG, PNG, WebP or BMP file")
    return (folder / key).as_posix()


def _number(word: str, classes: int, listed: Path, key: str) -> int:
    if not (len(word) < 5 and word.isascii() and word.isdigit() and int(word) < classes):
        raise ValueError(
            f"{listed}: {key[:80]!r} has the label {word[:20]!r}, not one of 0 ... {classes - 1}"
        )
    return int(word)


def _data(name: str, found: Found, names: Sequence[str], size: int, on_error: str) -> LabelledData:
    if not found:
        raise ValueError(f"{name}: the lists contain no images")
    paths, labels = zip(*found, strict=True)
    return image_data(paths, labels, names, name=name, mode="RGB", size=size, on_error=on_error)
