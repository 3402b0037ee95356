"""``check_noise``: does a noise keep the promises of this library?"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import numpy as np
import torch

from ..noise import Human, Manifest, get
from ..noise.corrupt import as_samples
from ..noise.registry import NoiseLike
from .noise_trial import Trial, hits

AGAIN = 0x5851F42D4C957F2D
"""Flips these bits of the seed for a second try."""


class UnlikelyError(AssertionError):
    """A draw that correct noise gives too, but hardly ever."""


def check_rate(trial: Trial) -> None:
    """Within 4 standard errors of the rate on the classes the noise touches, and nothing on others."""
    wanted = trial.leaving(trial.noise)
    if trial.with_rate(0.0) is not None:
        share = 1 - trial.noise.inclusive / trial.classes
        wanted = (wanted > 0) * share * trial.noise.rate  # type: ignore[attr-defined]
    found = hits(trial.run()).sum()
    allowed = 4 * np.sqrt((wanted * (1 - wanted)).sum()) + 1e-9
    off = abs(found - wanted.sum()) > allowed and not isinstance(trial.noise, Human)
    if off:
        raise UnlikelyError(f"{found} samples hit, {wanted.sum():.1f} expected")


def check_exact(trial: Trial) -> None:
    if isinstance(trial.noise, Human) or trial.noise.inclusive:
        return
    wanted = trial.noise.rates(as_samples(trial.clean, trial.classes, **trial.options)).sum()
    for mode, slack in ((True, 0.5), ("per_class", trial.classes / 2)):
        found = hits(trial.run(exact=mode)).sum()
        assert abs(found - wanted) <= slack + 1e-6, f"exact={mode!r} hit {found}, {wanted:.1f} asked for"


def check_extremes(trial: Trial) -> None:
    """Rate 0 hits nothing; rate 1 hits every sample of the classes it touches, and none keeps its label."""
    nothing, everything = trial.with_rate(0.0), trial.with_rate(1.0)
    if nothing is None or everything is None:
        return
    touched = trial.leaving(everything) > 0
    for mode in (False, True, "per_class"):
        assert not hits(trial.run(nothing, exact=mode)).any(), "rate 0 hits samples"
        found = hits(trial.run(everything, exact=mode))
        assert trial.noise.inclusive or np.array_equal(found, touched), "rate 1 spares samples"


def check_destinations(trial: Trial) -> None:
    """Chi-square of the given labels of every clean class against the matrix."""
    matrix = trial.matrix(trial.noise)
    if matrix is None:
        return
    cells = trial.clean * trial.classes + trial.run().labels.numpy()
    counts = np.bincount(cells, minlength=trial.classes**2).reshape(trial.classes, -1)
    expected = matrix * counts.sum(1, keepdims=True)
    used = expected > 0
    assert not counts[~used].any(), "labels appear that the matrix gives no probability"
    statistic = ((counts - expected)[used] ** 2 / expected[used]).sum()
    freedom = max(int(used.sum()) - int(used.any(1).sum()), 1)
    half = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    p = float(torch.special.gammaincc(half[0], half[1]))
    if not p > 1e-4:
        raise UnlikelyError(f"chi-square {statistic:.1f} at {freedom} degrees of freedom, p = {p:.2g}")


def check_groups(trial: Trial) -> None:
    blocks = np.arange(trial.classes) // getattr(trial.noise, "block", 1)
    known = {"superclass": trial.options["groups"], "index_block": blocks}
    groups = known.get(getattr(trial.noise, "grouping", ""))
    if groups is not None:
        made = trial.run(trial.with_rate(1.0)).labels.numpy()
        assert np.array_equal(groups[made], groups[trial.clean]), "labels leave their group"


def check_seed(trial: Trial) -> None:
    first, again, other = trial.run(), trial.run(), trial.run(seed=trial.options["seed"] ^ 1)
    assert torch.equal(first.labels, again.labels), "the same seed gives other labels"
    assert np.array_equal(hits(first), hits(again)), "the same seed hits other samples"
    by_chance = not isinstance(trial.noise, Human) and 0 < hits(first).mean() < 1
    assert not (by_chance and np.array_equal(hits(first), hits(other))), "another seed hits the same samples"


def check_subsets(trial: Trial) -> None:
    """A permuted part of the data, with permanent indices, gets the labels it has in the whole."""
    chosen = np.random.Generator(np.random.PCG64(0)).permutation(len(trial.clean))[::2]
    inputs = trial.options["inputs"][chosen]
    part = trial.run(labels=trial.clean[chosen], index=chosen, inputs=inputs)
    assert torch.equal(part.labels, trial.run().labels[chosen]), "a subset gets other labels"


def check_random_state(trial: Trial) -> None:
    before = random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()
    trial.run()
    after = random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()
    assert before == after, "a global random state changed"


def check_result(trial: Trial) -> None:
    frozen = trial.clean.copy()
    frozen.flags.writeable = False
    made = trial.run(labels=frozen)
    assert (made.labels.dtype, made.flipped.dtype) == (torch.int64, torch.bool)
    assert 0 <= int(made.labels.min()) <= int(made.labels.max()) < trial.classes, (
        "a label is not a class index"
    )
    assert np.array_equal(made.flipped.numpy(), made.labels.numpy() != trial.clean), "flipped is wrong"
    assert made.transition.shape == (trial.classes, trial.classes)
    assert (made.transition.sum(1) - 1).abs().max() < 1e-12, "rows of the matrix do not sum to 1"
    kinds = [frozen.astype(name) for name in ("int16", "int32", "uint64")]
    for labels in (trial.clean[::-1].copy()[::-1], frozen.tolist(), torch.tensor(frozen).int(), *kinds):
        assert torch.equal(trial.run(labels=labels).labels, made.labels), f"{type(labels)}: other labels"


def check_manifest(trial: Trial) -> None:
    made = trial.run()
    made.manifest.verify(trial.clean, made.labels)
    assert Manifest.from_json(made.manifest.to_json()) == made.manifest, "json changes the manifest"


NOISE_CHECKS: dict[str, Callable[[Trial], None]] = {
    "the rate asked for": check_rate,
    "exact counts": check_exact,
    "rates 0 and 1 are exact": check_extremes,
    "destinations follow the matrix": check_destinations,
    "groups are respected": check_groups,
    "a function of the seed": check_seed,
    "a function of the index": check_subsets,
    "no global random state": check_random_state,
    "labels of any type, a consistent result": check_result,
    "the manifest verifies": check_manifest,
}


def check_noise(
    spec: NoiseLike, *, num_classes: int = 10, count: int = 5000, seed: int = 0, groups: object = None
) -> None:
    """Run every check of :data:`NOISE_CHECKS`; the first that fails raises AssertionError naming it.

    The problem has ``count`` labels of unequal classes; inputs are normal numbers, and without ``groups``
    even and odd classes are the two groups (one group below 4 classes). A rate or a chi-square that is off
    is drawn once more with another seed and counts only if it is off again.

    Example:
        >>> check_noise("symmetric(0.4)")
        >>> check_noise([[0.9, 0.1], [0.3, 0.7]], num_classes=2)
    """
    noise = get(spec)
    generator = np.random.Generator(np.random.PCG64(0))
    clean = (num_classes * generator.random(count) ** 1.2).astype(np.int64)
    parity = np.arange(num_classes) % (2 if num_classes >= 4 else 1)
    used = parity if groups is None else np.asarray(groups)
    options = {"seed": seed, "groups": used, "inputs": generator.standard_normal((count, 6))}
    for name, check in NOISE_CHECKS.items():
        try:
            _run(check, Trial(noise, clean, num_classes, options))
        except Exception as problem:
            raise AssertionError(f"{noise}: {name}: {problem}") from problem


def _run(check: Callable[[Trial], None], trial: Trial) -> None:
    try:
        check(trial)
    except UnlikelyError:
        seed = trial.options["seed"] ^ AGAIN
        check(dataclasses.replace(trial, options={**trial.options, "seed": seed}))
