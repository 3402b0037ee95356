"""Classes shared out over two and three processes against one process that stores all logits."""

import re

import linear_shards_script as script
import pytest
import torch
import torch.multiprocessing as mp
from linear_shards_script import CASES, HALF, Case
from torch.nn.functional import linear

from noiseproof import losses

pytestmark = pytest.mark.slow

WORLDS = (2, 3)
EXACT = 1e-10


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What every process of each group saved."""
    found = {}
    for world in WORLDS:
        folder = tmp_path_factory.mktemp(f"world{world}")
        mp.spawn(script.run, (world, str(folder)), nprocs=world)
        found[world] = [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(world)]
    return found


def assembled(outcomes, world, number):
    """Value, gradient of hidden, and the slices put together; what is replicated must be the same."""
    parts = [outcome["cases"][number] for outcome in outcomes[world]]
    value, hidden, *_ = parts[0]
    for other in parts[1:]:
        assert torch.equal(other[0], value)
        assert hidden is None or torch.equal(other[1], hidden)
    slices = [[part[place] for part in parts] for place in (2, 3)]
    return [value, hidden, *(None if one[0] is None else torch.cat(one) for one in slices)]


def error_of(found, wanted):
    assert found.shape == wanted.shape
    if found.numel() == 0:
        return 0.0
    return float((found.double() - wanted).abs().max() / wanted.abs().max().clamp_min(1e-3))


def name_of(case):
    changed = [f"{k}={v}" for k, v in vars(case).items() if v != getattr(Case(), k)]
    return " ".join(changed) or "plain"


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("number", range(len(CASES)), ids=[name_of(case) for case in CASES])
def test_same_value_and_gradients_as_one_process(outcomes, world, number):
    found = assembled(outcomes, world, number)
    for one, other in zip(found, script.whole(CASES[number]), strict=True):
        assert (one is None) == (other is None)
        assert one is None or error_of(one, other) < EXACT


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("number", range(len(HALF)), ids=[name_of(case) for case in HALF])
def test_half_precision_rounds_little_more_than_on_one_process(outcomes, world, number):
    case = HALF[number]
    found = assembled(outcomes, world, len(CASES) + number)
    for one, alone, exact in zip(found, script.unsharded(case), script.whole(case), strict=True):
        assert one.dtype == alone.dtype
        assert error_of(one, exact) < 2 * error_of(alone, exact) + 2**-8


ALL_REFUSE = {
    "rows": r"number of rows of hidden differs.*\[17,.* 16\]",
    "dtype": "dtype of hidden",
    "chunk": r"chunk \(0 for None\) differs.*\[4,.* 5\]",
    "target": "target differs",
    "learns": "requires a gradient differs",
    "hyper-parameter": "the loss or its ignore_index.*differs",
    "ignored": "the loss or its ignore_index.*differs",
    "class weights": "the class weights differs",
    "samples": "sample_weight differs",
    "loss": "number of sums",
    "stray": r"target\[0\] = 11 is no class: with 11 classes",
    "nan": "margin of row 9 is nan",
    "masked": "margin of row 0 is -inf",
    "soft": "TypeError: target is torch.float32: with group it must hold class indices",
    "nfl": r"TypeError: nfl\(gamma=0.5\) looks at every logit",
    "cr": "TypeError: cr.*gather the weight",
    "sum": r"TypeError: nce \+ cr",
}
LAST_REFUSES = {
    "width": r"hidden of shape \(17, 5\) does not fit weight of shape \(., 4\)",
    "bias": r"bias of shape \(1,\)",
    "mixed": "TypeError: hidden is torch.float64 but weight is torch.float32",
    "sample weight": "one entry per sample",
}


@pytest.mark.parametrize("world", WORLDS)
def test_mistakes_are_refused_by_all_processes_and_nobody_waits(outcomes, world):
    messages = [outcome["mistakes"] for outcome in outcomes[world]]
    assert messages[0].keys() == ALL_REFUSE.keys() | LAST_REFUSES.keys()
    for name, pattern in ALL_REFUSE.items():
        for found in messages:
            assert re.search(pattern, found[name]), found[name]
    for name, pattern in LAST_REFUSES.items():
        *others, last = (found[name] for found in messages)
        assert re.search(pattern, last), last
        for found in others:
            assert found.startswith(
                f"ValueError: process {world - 1} of the group was given what does not fit"
            )


@pytest.fixture(scope="module")
def plain():
    """hidden, weight and bias, the target, and the loss of stored logits with its gradients."""
    *given, target, _ = script.tensors(Case(ignored=()))
    given = [one.requires_grad_() for one in given]
    value = losses.get("nce + gce")(linear(*given), target)
    gradients = torch.autograd.grad(value, given)
    return [one.detach() for one in given], target, value.detach(), gradients


@pytest.mark.parametrize("world", WORLDS)
def test_training_habits(outcomes, world, plain):
    given, target, value, gradients = plain
    habits = [outcome["habits"] for outcome in outcomes[world]]
    by_hidden, by_weight, by_bias = zip(*(found["accumulated"] for found in habits), strict=True)
    pieces = (by_hidden[-1], torch.cat(by_weight), torch.cat(by_bias))
    assert max(error_of(*pair) for pair in zip(pieces, gradients, strict=True)) < EXACT
    states, labels = given[0][:12].reshape(3, 4, -1), target[:12].reshape(3, 4)
    layout = losses.margin(linear(states, *given[1:]).movedim(-1, 1), labels)
    for found in habits:
        for name in ("no grad", "alone", "pair"):
            assert name not in found or error_of(found[name], value) < EXACT
        assert error_of(found["compiled"], 2 * value) < EXACT
        assert error_of(found["layout"], layout) < EXACT
        assert "cannot be differentiated again" in found["second"]
        assert "torch.func" in found["transform"]
    assert sum("pair" in found for found in habits) == 2


@pytest.mark.parametrize("world", WORLDS)
def test_rows_of_a_dtensor(outcomes, world, plain):
    _, _, value, gradients = plain
    for outcome in outcomes[world]:
        found = outcome["habits"]
        assert found["dtensor refused"].startswith("TypeError: weight is a DTensor: pass weight.to_local()")
        assert error_of(found["dtensor"][0], value) < EXACT
        assert error_of(found["dtensor"][1], gradients[1]) < EXACT


@pytest.mark.parametrize("world", WORLDS)
def test_logits_are_never_stored_and_collectives_are_few(outcomes, world):
    """One exchange of sizes, one gather per chunk or per batch, one sum for the gradient of hidden."""
    for outcome in outcomes[world]:
        for name, (largest, forward, backward) in outcome["costs"].items():
            gathers = 4 if name == "gce mean" else 1
            summed_forward = ["allreduce"] if name == "gce mean" else []
            assert largest <= 100 * 200
            assert forward == ["allgather"] * (1 + gathers) + summed_forward
            assert backward == ([] if summed_forward else ["allreduce"])


@pytest.mark.parametrize("world", WORLDS)
def test_the_example_of_the_docs(outcomes, world):
    body = (script.DOCS / "examples/vocab_parallel.py").read_text().split('"""\n\n', 1)[1]
    assert body in (script.DOCS / "fused_losses.md").read_text()
    hidden, weight, _, target, _ = script.tensors(Case())
    value = losses.get("gce(q=0.7)")(linear(hidden.requires_grad_(), weight.requires_grad_()), target)
    value.backward()
    parts = [outcome["example"] for outcome in outcomes[world]]
    for part in parts:
        assert error_of(part[0], value.detach()) < EXACT
        assert error_of(part[1], hidden.grad) < EXACT
    assert error_of(torch.cat([part[2] for part in parts]), weight.grad) < EXACT


@pytest.mark.parametrize("group", [-100, "tensor parallel"])
def test_what_is_no_group_is_refused(group):
    hidden, weight, _, target, _ = script.tensors(Case())
    with pytest.raises(TypeError, match="must be a process group"):
        losses.get("gce").linear(hidden, weight, target, group=group)
    with pytest.raises(TypeError, match="must be a process group"):
        losses.linear_margin(hidden, weight, target, group=group)
