"""What every process of a group runs for test_linear_shards, and what one process finds instead."""

import warnings
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from noiseproof import losses

DOCS = Path(__file__).parents[2] / "docs"
ROWS, WIDTH, CLASSES = 17, 5, 11
CUTS = {
    "even": {2: (6, 5), 3: (4, 4, 3)},
    "lopsided": {2: (10, 1), 3: (1, 9, 1)},
    "empty": {2: (11, 0), 3: (0, 11, 0)},
}
REFUSED = {"nfl": "nfl", "cr": "cr(ce)", "sum": "nce + cr(ce)"}
WRAPPERS = {"peer", "scale", "shift", "unit_max"}
SPECS = [f"{n}(gce)" if n in WRAPPERS else n for n in losses.LOSSES if n not in {"nfl", "cr", "binary"}]
COMPOSED = [
    "ce + 0.5*mae",
    "10*nce + 0.1*agce(a=1.8, q=3)",
    "mse + gls(alpha=-0.2) + scale(mae)",
    "unit_max(scale(gce + mae, tau=3.0))",
    'gr(normalize="batch")',
    'nce + imae(normalize="batch")',
    "peer(gls, alpha=0.3) + nce",
]


@dataclass(frozen=True)
class Case:
    spec: str = "gce"
    reduction: str = "mean"
    cut: str = "even"
    chunk: int | None = 4
    dtype: torch.dtype = torch.float64
    asked: tuple[bool, ...] = (True, True, True)
    labels: int = CLASSES
    ignored: tuple[int, ...] = (2, 12)
    masked: tuple[int, ...] = ()
    weighted: bool = False
    broken: bool = False
    rows: int = ROWS
    autocast: bool = False
    backward_twice: bool = False


CASES = [
    *(Case(spec, reduction) for spec in SPECS + COMPOSED + ["margin"] for reduction in ("mean", "none")),
    *(Case(spec, "sum", "lopsided", None) for spec in ("gce", "nce", "gls", "mse", "margin")),
    *(
        Case(spec, reduction, cut, labels=labels)
        for spec in ("mae", "nce + mse")
        for reduction in ("mean", "none")
        for cut, labels in (("lopsided", CLASSES), ("even", 3), ("empty", CLASSES))
    ),
    *(
        Case(spec, reduction, masked=(3, 9, 10), cut="lopsided", labels=3)
        for spec in ("ce", "nce", "gls", "mse", "margin")
        for reduction in ("mean", "none")
    ),
    *(
        Case("nce + gce", reduction, asked=tuple(bool(number >> i & 1) for i in range(3)))
        for number in range(1, 8)
        for reduction in ("mean", "none")
    ),
    *(Case(s, r, weighted=True) for s in ("gce", "gls", "peer(ce)") for r in ("mean", "sum", "none")),
    *(Case(s, r, backward_twice=True) for s in ("gce", "mse", "margin") for r in ("mean", "none")),
    *(Case(s, r, ignored=tuple(range(ROWS))) for s in ("ce", "nce") for r in ("mean", "none")),
    *(Case(s, r, rows=0, ignored=()) for s in ("ce", "nce", "margin") for r in ("mean", "none")),
    *(
        Case(spec, reduction, broken=True, asked=(True, False, False))
        for spec in ("ce", "nce + mse", "margin")
        for reduction in ("mean", "none")
    ),
    *(Case("gce", chunk=chunk) for chunk in (1, 16, 17, 40)),
]
HALF = [
    Case(spec, reduction, cut, chunk, dtype, rows=64, autocast=autocast)
    for spec in ("gce", "10*nce + 0.1*agce(a=1.8, q=3)", "margin")
    for reduction, cut, chunk in (("mean", "even", None), ("none", "lopsided", 10))
    for dtype, autocast in ((torch.bfloat16, False), (torch.float16, False), (torch.float32, True))
]


def tensors(case, dtype=torch.float64):
    """hidden, weight, bias, target, sample weights; halves are rounded first, so that both see the same."""
    generator = torch.Generator().manual_seed(len(case.spec))
    sizes = ((case.rows, WIDTH), (CLASSES, WIDTH), (CLASSES,), (case.rows,))
    hidden, weight, bias, share = (
        torch.randn(size, dtype=torch.float64, generator=generator).to(case.dtype).to(dtype) for size in sizes
    )
    bias[list(case.masked)] = -torch.inf
    target = torch.randint(case.labels, (case.rows,), generator=generator)
    target[list(case.ignored)] = -100
    if case.broken:
        hidden[list(case.ignored)] = torch.nan
    return hidden, weight, bias, target, share.abs()


def loss_of(case):
    weight = torch.linspace(0.5, 2, CLASSES, dtype=torch.float64) if case.weighted else None
    return losses.get(case.spec, reduction=case.reduction, weight=weight)


def values_of(case, hidden, weight, bias, target, share, group, stored=False):
    if case.spec == "margin":
        if stored:
            return losses.margin(linear(hidden, weight, bias), target)
        return losses.linear_margin(hidden, weight, target, bias=bias, chunk=case.chunk, group=group)
    share = share if case.weighted else None
    if stored:
        return loss_of(case)(linear(hidden, weight, bias), target, sample_weight=share)
    options = {"bias": bias, "sample_weight": share, "chunk": case.chunk, "group": group}
    return loss_of(case).linear(hidden, weight, target, **options)


def step(case, given, group=None, stored=False):
    """The value and the gradient of whatever was asked for."""
    *parts, target, share = given
    inputs = [part.clone().requires_grad_(one) for part, one in zip(parts, case.asked, strict=True)]
    with torch.autocast("cpu", torch.bfloat16, enabled=case.autocast and not stored):
        value = values_of(case, *inputs, target, share, group, stored)
    upstream = torch.linspace(0.5, 3, value.numel(), dtype=value.dtype).reshape(value.shape)
    if case.backward_twice:
        (0.5 * upstream * value).sum().backward(retain_graph=True)
        upstream = 0.5 * upstream
    (upstream * value).sum().backward()
    return [value.detach(), *(one.grad for one in inputs)]


def sliced(given, cut, rank, world):
    hidden, weight, bias, *others = given
    sizes = CUTS[cut][world]
    return [hidden, weight.split(sizes)[rank], bias.split(sizes)[rank], *others]


def whole(case):
    """What a single process finds with all logits stored, in float64."""
    return step(case, tensors(case), stored=True)


def unsharded(case):
    """The same dtype as the case, one process, logits never stored."""
    return step(case, tensors(case, case.dtype))


def part(case, rank, world, group):
    return step(case, sliced(tensors(case, case.dtype), case.cut, rank, world), group)


def message_of(call):
    try:
        call()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "nothing was refused"


def mistakes(rank, world, group):
    """Each is made by the last process alone or by all; every process must refuse, and the next call work."""
    case, found = Case(), {}
    hidden, weight, bias, target, share = sliced(tensors(case), "even", rank, world)
    is_last = rank == world - 1

    def attempt(name, loss="gce", only_last=True, **change):
        given = {"hidden": hidden, "weight": weight, "target": target, "bias": bias, "chunk": 4}
        given |= change if is_last or not only_last else {}
        found[name] = message_of(lambda: losses.get(loss).linear(**given, group=group))
        part(case, rank, world, group)

    attempt("width", weight=weight[:, :4])
    attempt("bias", bias=bias[:1])
    attempt("dtype", hidden=hidden.float(), weight=weight.float(), bias=bias.float())
    attempt("mixed", weight=weight.float())
    attempt("rows", hidden=hidden[:-1], target=target[:-1])
    attempt("chunk", chunk=5)
    attempt("sample weight", sample_weight=share[:3])
    attempt("target", target=target.flip(0))
    attempt("learns", hidden=hidden.clone().requires_grad_())
    attempt("hyper-parameter", loss=f"gce(q={0.3 if is_last else 0.7})")
    attempt("samples", sample_weight=share)
    for name, change in (
        ("ignored", {"ignore_index": 2}),
        ("class weights", {"weight": torch.rand(CLASSES)}),
    ):
        outer = change if is_last else {}
        outer |= {"weight": torch.ones(CLASSES)} if name == "class weights" and not is_last else {}
        attempt(name, loss=losses.get("gce", **outer))
    attempt("loss", loss="nce" if is_last else "gce")
    attempt("stray", only_last=False, target=torch.full_like(target, CLASSES))
    attempt("nan", hidden=hidden.masked_fill(torch.arange(ROWS).unsqueeze(1) == 9, torch.nan))
    attempt("masked", only_last=False, bias=bias - (torch.inf if is_last else 0), target=target * 0 + 10)
    attempt("soft", only_last=False, target=torch.ones(ROWS, CLASSES))
    for name, spec in REFUSED.items():
        attempt(name, spec, only_last=False)
    return found


def habits(rank, world, group):
    """Accumulation, no gradients, other layouts, other groups, a DTensor, a compiled step."""
    case = Case(ignored=())
    given = sliced(tensors(case), "even", rank, world)
    hidden, weight, bias, target, _ = given
    loss = losses.get("nce + gce")
    found = {}

    leaves = [one.clone().requires_grad_() for one in (hidden, weight, bias)]
    for rows in torch.arange(ROWS).split(5):
        value = loss.linear(leaves[0][rows], leaves[1], target[rows], bias=leaves[2], chunk=2, group=group)
        (value * len(rows) / ROWS).backward()
    found["accumulated"] = [one.grad for one in leaves]

    with torch.no_grad():
        found["no grad"] = loss.linear(hidden, weight, target, bias=bias, group=group)
    states, labels = hidden[:12].reshape(3, 4, WIDTH), target[:12].reshape(3, 4)
    found["layout"] = losses.linear_margin(states, weight, labels, bias=bias, group=group)
    alone = dist.new_group([rank], use_local_synchronization=True)
    found["alone"] = loss.linear(*tensors(case)[:2], target, bias=tensors(case)[2], group=alone)

    pair = dist.new_group([0, world - 1])
    if rank in (0, world - 1):
        cut = CUTS["lopsided"][2]
        place = dist.get_rank(pair)
        rows = [one.split(cut)[place] for one in tensors(case)[1:3]]
        found["pair"] = loss.linear(hidden, rows[0], target, bias=rows[1], group=pair)
    compiled = torch.compile(
        lambda h: 2 * loss.linear(h, weight, target, bias=bias, group=group), backend="eager"
    )
    found["compiled"] = compiled(hidden)
    found["second"] = message_of(lambda: _second_derivative(loss, leaves, target, group))
    found["transform"] = message_of(
        lambda: torch.func.grad(lambda h: loss.linear(h, weight, target, bias=bias, group=group))(hidden)
    )
    return found | _of_dtensor(loss, tensors(case), group)


def example(rank, world, group):
    """Of the docs."""
    place = spec_from_file_location("example", DOCS / "examples/vocab_parallel.py")
    module = module_from_spec(place)
    place.loader.exec_module(module)
    hidden, weight, _, target, _ = tensors(Case())
    states, own = hidden.requires_grad_(), module.own_slice(weight, group)
    return [module.step(states, own, target, group), states.grad, own.grad]


def _second_derivative(loss, leaves, target, group):
    value = loss.linear(leaves[0], leaves[1], target, bias=leaves[2], group=group)
    torch.autograd.grad(value, leaves[0], create_graph=True)


def _of_dtensor(loss, given, group):
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Shard, distribute_tensor

    hidden, weight, bias, target, _ = given
    mesh = DeviceMesh.from_group(group, "cpu")
    rows = distribute_tensor(weight, mesh, [Shard(0)]).requires_grad_()
    own = distribute_tensor(bias, mesh, [Shard(0)]).to_local()
    refused = message_of(lambda: loss.linear(hidden, rows, target, bias=own, group=group))
    value = loss.linear(hidden, rows.to_local(), target, bias=own, group=mesh.get_group())
    value.backward()
    return {"dtensor refused": refused, "dtensor": [value.detach(), rows.grad.full_tensor()]}


class Watch(TorchDispatchMode):
    """The most elements any result has, and which collectives ran."""

    def __init__(self):
        super().__init__()
        self.elements, self.collectives = 0, []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        results = function(*arguments, **(keywords or {}))
        if function.namespace == "c10d":
            self.collectives.append(function.__name__.split("_")[0])
        for tensor in tree_leaves(results):
            if isinstance(tensor, torch.Tensor) and tensor.device.type != "meta":
                self.elements = max(self.elements, tensor.numel())
        return results


def costs(rank, world, group):
    """Largest tensor and collectives of the forward and the backward pass, 100 rows of 400 at a time."""
    found = {}
    generator = torch.Generator().manual_seed(0)
    leaves = [
        torch.randn(size, generator=generator, requires_grad=True) for size in ((400, 5), (200, 5), (200,))
    ]
    target = torch.randint(200 * world, (400,), generator=generator)
    for name, reduction in (("gce", "mean"), ("nce + mae", "none"), ("gce", "none")):
        loss, (hidden, weight, bias) = losses.get(name, reduction=reduction), leaves
        with Watch() as forward:
            value = loss.linear(hidden, weight, target, bias=bias, chunk=100, group=group)
        with Watch() as backward:
            torch.autograd.grad(value.sum(), leaves)
        largest = max(forward.elements, backward.elements)
        found[f"{name} {reduction}"] = (largest, forward.collectives, backward.collectives)
    return found


def run(rank, world, folder):
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timedelta(minutes=5))
    group = dist.group.WORLD
    found = {
        "cases": [part(case, rank, world, group) for case in CASES + HALF],
        "mistakes": mistakes(rank, world, group),
        "habits": habits(rank, world, group),
        "costs": costs(rank, world, group),
        "example": example(rank, world, group),
    }
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()
