"""``corrupt``: add noise to clean labels, as a function of the seed."""

from __future__ import annotations

import warnings

import numpy as np

from .arrays import Integers, LabelsLike, as_class_count, as_integers, as_labels, as_tensor
from .base import Drawn, Noise, Samples
from .draws import as_seed
from .groups import GroupsLike, as_groups
from .manifest import Manifest, NoisyLabels, describe, sha256
from .matrix import Matrix
from .registry import NoiseLike, get
from .sampling import Exact, as_exact
from .transition import realised_transition


def corrupt(
    labels: LabelsLike,
    spec: NoiseLike,
    *,
    num_classes: int,
    seed: int,
    groups: GroupsLike | None = None,
    inputs: object = None,
    exact: Exact = False,
    index: LabelsLike | None = None,
) -> NoisyLabels:
    """Replace labels according to a noise model.

    The random number of a sample is a hash of the seed and its index (0, 1, 2, ..., or the given permanent
    ``index``), so a subset or a permutation of the data gets the same labels as the whole, no global random
    state is read or changed, and the clean labels are not modified.

    Args:
        labels: (N,) clean labels, whole numbers of any type, numpy or torch or a list.
        spec: a string such as ``"symmetric(0.4)"``, a Noise, a (K, K) transition matrix, or the
            Manifest of noise to be repeated.
        num_classes: K; labels run from 0 to K - 1.
        seed: 0 <= seed < 2**64.
        groups: (K,) group of every class, for noise inside superclasses.
        inputs: (N, ...) inputs, for instance-dependent noise.
        exact: False: every sample is selected independently. True: exactly the expected number of samples
            is selected; "per_class": of every class. Exact counts depend on the whole set.
        index: (N,) permanent indices.

    Example:
        >>> noisy = corrupt([0, 1, 2, 3] * 25, "symmetric(0.4)", num_classes=4, seed=0, exact=True)
        >>> int(noisy.flipped.sum())
        40
        >>> noisy.labels[:8]
        tensor([0, 1, 0, 0, 1, 1, 3, 0])
    """
    noise, exact = get(spec), as_exact(exact)
    samples = as_samples(labels, num_classes, seed, groups, inputs, index)
    if caution := noise.caution(samples.num_classes):
        warnings.warn(caution, stacklevel=2)
    drawn = noise.draw(samples, exact)
    return NoisyLabels(
        labels=as_tensor(drawn.labels),
        flipped=as_tensor(drawn.labels != samples.labels),
        transition=realised_transition(samples.labels, drawn.labels, num_classes=samples.num_classes),
        manifest=_manifest(noise, samples, drawn, exact),
        open_set=as_tensor(drawn.selected) if noise.replaces_inputs else None,
    )


def as_samples(
    labels: object,
    num_classes: int,
    seed: int,
    groups: object = None,
    inputs: object = None,
    index: object = None,
) -> Samples:
    """The checked inputs of a noise model."""
    classes = as_class_count(num_classes)
    clean = as_labels(labels, classes)
    permanent = np.arange(len(clean)) if index is None else as_integers(index, "index")
    if len(permanent) != len(clean):
        raise ValueError(f"{len(permanent)} indices do not fit {len(clean)} labels")
    if permanent.size and permanent.min() < 0:
        where = int(permanent.argmin())
        raise ValueError(f"index[{where}] = {permanent[where]} is negative")
    return Samples(clean, permanent, classes, as_seed(seed), as_groups(groups, classes), inputs)


def _manifest(noise: Noise, samples: Samples, drawn: Drawn, exact: Exact) -> Manifest:
    groups: Integers | None = samples.groups
    usual = np.array_equal(samples.index, np.arange(len(samples.index)))
    return Manifest(
        spec=str(noise),
        seed=samples.seed,
        num_classes=samples.num_classes,
        exact=exact,
        rate=getattr(noise, "rate", None),
        inclusive=noise.inclusive,
        open_set_count=int(drawn.selected.sum()) if noise.replaces_inputs else 0,
        groups=None if groups is None else tuple(groups.tolist()),
        matrix=noise.given if isinstance(noise, Matrix) else None,
        index_sha256=None if usual else sha256(samples.index),
        **describe(samples.labels, drawn.labels, samples.num_classes),
    )
