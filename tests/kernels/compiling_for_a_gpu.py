"""Run as a script without a GPU: what losses launch is compiled for one, never run; prints JSON.

python compiling_for_a_gpu.py SPEC [SPEC ...]
"""

import json
import sys

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compiled_for

from noiseproof import losses
from noiseproof.devices import convolution_kernels
from noiseproof.devices.convolution import narrow_convolution
from noiseproof.kernels import apply
from noiseproof.kernels.triton import fused, launch

HOPPER = GPUTarget("cuda", 90, 32)
POINTERS = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.int64: "*i64",
    torch.int32: "*i32",
    torch.uint16: "*u16",
    torch.bool: "*i1",
}
SHAPES = (4, 10), (3, 5000)
compiled = {}


def kind_of(parameter, value):
    """What Triton calls the type of an argument; numbers of 1 and divisible by 16 are not told apart."""
    if parameter.is_constexpr:
        return "constexpr"
    if isinstance(value, torch.Tensor):
        return POINTERS[value.dtype]
    if isinstance(value, bool):
        return "i1"
    return "fp32" if isinstance(value, float) else "i32" if abs(value) < 1 << 31 else "i64"


def compile_instead(kernel, sizes, pointers):
    """What the kernel would write is 0: some losses read it."""
    arguments, warps = (*pointers, *sizes.arguments), sizes.warps
    for value in pointers[1:]:
        if value.is_floating_point() and value.is_contiguous():
            value.data.zero_()
    kinds = {p.name: kind_of(p, value) for p, value in zip(kernel.params, arguments, strict=True)}
    constants = {
        (place,): value
        for place, (kind, value) in enumerate(zip(kinds.values(), arguments, strict=True))
        if kind == "constexpr"
    }
    key = kernel.fn.__name__, tuple(kinds.items()), tuple(constants.items()), warps
    if key not in compiled:
        source = ASTSource(fn=kernel, signature=kinds, constexprs=constants)
        options = {"num_warps": warps, "enable_fp_fusion": False}
        made = compiled_for(source, target=HOPPER, options=options)
        compiled[key] = len(made.asm["cubin"])


def main(specs):
    apply.interpreted = True
    for module in (fused, launch, convolution_kernels):
        module.start = compile_instead
    for spec in specs:
        for dtype, shape in ((torch.float32, SHAPES[0]), (torch.bfloat16, SHAPES[1])):
            logits = torch.randn(shape).to(dtype).requires_grad_()
            losses.get(spec)(logits, torch.zeros(len(logits), dtype=torch.int64)).backward()
    fused.next_ticket = lambda logits: None  # as where a graph is captured and none is left
    for spec in ("ce", 'gr(normalize="batch")'):
        logits = torch.randn(SHAPES[0]).requires_grad_()
        losses.get(spec)(logits, torch.zeros(len(logits), dtype=torch.int64)).backward()
    losses.row_statistics(torch.randn(SHAPES[0]), torch.zeros(4, dtype=torch.int64))
    hidden, weight = (
        torch.randn(size, dtype=torch.bfloat16, requires_grad=True) for size in ((4, 8), (50, 8))
    )
    labels = torch.zeros(4, dtype=torch.int64)
    losses.get("gce").linear(hidden, weight, labels).mul(2).backward()
    losses.linear_margin(hidden, weight, labels).sum().backward()
    for inputs, outputs, stride in ((3, 64, 1), (16, 32, 2), (64, 64, 1)):
        image, weight = (
            torch.zeros(size, dtype=torch.bfloat16)
            .contiguous(memory_format=torch.channels_last)
            .requires_grad_()
            for size in ((2, inputs, 8, 8), (outputs, inputs, 3, 3))
        )
        narrow_convolution(image, weight, stride).sum().backward()
    names = sorted({key[0] for key in compiled})
    sys.stdout.write(
        json.dumps({"kernels": names, "cubins": len(compiled), "smallest": min(compiled.values())})
    )


if __name__ == "__main__":
    main(sys.argv[1:])
