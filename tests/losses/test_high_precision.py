"""Values and gradients against mpmath with 50 digits, in float64 and float32."""

import pytest
import torch
from high_precision import FORMULAS, Formula, mp, softmax, split

from noiseproof import losses

CLASSES = (2, 3, 10, 100, 1000)


def random_problem(seed: int, rows: int, dtype: torch.dtype) -> list[tuple[torch.Tensor, int]]:
    generator = torch.Generator().manual_seed(seed)
    found = []
    for row in range(rows):
        classes = CLASSES[row % len(CLASSES)]
        scale = float(10 ** (2 * torch.rand((), generator=generator) - 0.7))
        logits = scale * torch.randn(classes, generator=generator, dtype=torch.float64)
        found.append((logits.to(dtype), int(torch.randint(classes, (), generator=generator))))
    return found


def compare(formula: Formula, logits: torch.Tensor, label: int, tolerance: float) -> None:
    loss = losses.get(formula.spec)
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, torch.tensor(label))
    (gradient,) = torch.autograd.grad(value, leaf)
    p, rest, direction = split(tuple(logits.tolist()), label)
    if any(abs(float(mp.log(p / rest)) - kink) < 1e-3 for kink in loss.kinks):
        return
    saturated = loss.kinks and "gce" not in formula.spec and mp.log(p / rest) > loss.kinks[0]
    wanted = mp.mpf(0) if saturated else formula.value(p, rest)
    assert abs(float(value.detach()) - wanted) <= max(tolerance, formula.tolerance) * max(1, abs(wanted))
    emphasis = mp.mpf(0) if saturated else formula.emphasis(p, rest)
    wrong = (
        (gradient.double() - float(emphasis) * torch.tensor(direction, dtype=torch.float64))
        .abs()
        .max()
        .item()
    )
    assert wrong <= tolerance * emphasis + mp.mpf(1e-37)


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.spec)
def test_value_and_gradient_match_mpmath_in_float64(formula):
    rows = 5 if "gr" in formula.spec or "imae" in formula.spec else 25
    for logits, label in random_problem(0, rows, torch.float64):
        compare(formula, logits, label, 1e-12)


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.spec)
def test_value_and_gradient_match_mpmath_in_float32(formula):
    for logits, label in random_problem(1, 5, torch.float32):
        compare(formula, logits, label, 3e-5)


@pytest.mark.slow
@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.spec)
def test_many_rows_match_mpmath(formula):
    rows = 100 if "gr" in formula.spec or "imae" in formula.spec else 2000
    for logits, label in random_problem(2, rows, torch.float64):
        compare(formula, logits, label, 1e-12)


def exact_rows(name: str, logits: list[float], label: int) -> mp.mpf:
    p = softmax(logits)
    classes = len(p)
    if name == "nce":
        return mp.log(p[label]) / mp.fsum(mp.log(x) for x in p)
    if name == "nfl(gamma=0.5)":
        focal = [mp.sqrt(1 - x) * mp.log(x) for x in p]
        return focal[label] / mp.fsum(focal)
    if name == "mse(alpha=0.5)":
        return 1 - p[label] + mp.fsum(x**2 for x in p) / 2
    alpha = mp.mpf(0.1)
    return -mp.fsum(((1 - alpha) * (k == label) + alpha / classes) * mp.log(x) for k, x in enumerate(p))


@pytest.mark.parametrize("spec", ["nce", "nfl(gamma=0.5)", "mse(alpha=0.5)", "gls(alpha=0.1)"])
def test_losses_of_all_classes_match_mpmath(spec):
    loss = losses.get(spec)
    for logits, label in random_problem(3, 10, torch.float64):
        leaf = logits.clone().requires_grad_()
        value = loss(leaf, torch.tensor(label))
        (gradient,) = torch.autograd.grad(value, leaf)
        numbers = logits.tolist()
        wanted = exact_rows(spec, numbers, label)
        assert abs(float(value.detach()) - wanted) <= 1e-12 * max(1, abs(wanted))
        for k in {0, label, len(numbers) - 1}:
            step = mp.mpf("1e-20")
            moved = [mp.mpf(z) + (step if j == k else 0) for j, z in enumerate(numbers)]
            slope = (exact_rows(spec, moved, label) - wanted) / step
            assert abs(float(gradient[k]) - slope) <= 1e-11


def test_row_statistics_match_mpmath():
    for logits, label in random_problem(4, 20, torch.float64):
        found = losses.row_statistics(logits, torch.tensor(label))
        p, rest, _ = split(tuple(logits.tolist()), label)
        every = softmax(logits.tolist())
        assert abs(float(found.margin) - mp.log(p / rest)) < 1e-11
        assert (
            abs(float(found.logsumexp) - mp.log(mp.fsum(mp.exp(mp.mpf(z)) for z in logits.tolist()))) < 1e-11
        )
        assert abs(float(found.sum_p2) - mp.fsum(x**2 for x in every)) < 1e-13
        pairs = zip(every, logits.tolist(), strict=True)
        assert abs(float(found.sum_pz) - mp.fsum(x * z for x, z in pairs)) < 1e-11
