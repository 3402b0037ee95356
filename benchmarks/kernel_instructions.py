"""How many instructions the kernels spend on a logit, counted in code compiled for an H200; needs no GPU.

Every loss runs once on rows of 128256 logits with its kernels compiled instead of started. Of a kernel's
first loop that reads memory the shortest way through is counted, that of blocks without a label or a likely
class, and divided by the logits a thread takes meanwhile. ``fma`` are instructions of the floating-point
pipes, ``mufu`` exponentials and the like, of an eighth of their rate, ``memory`` loads, stores and barriers,
``alu`` all others, most of them of half that rate. Counts are facts about a compiler's output, not times.
Writes benchmarks/kernel_instructions.md.

    python benchmarks/kernel_instructions.py ["ce;mse;..."]
"""

import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compiled_for

from noiseproof import losses
from noiseproof.kernels import apply
from noiseproof.kernels.triton import fused, launch

HOPPER = GPUTarget("cuda", 90, 32)
POINTERS = {
    "float32": "*fp32",
    "bfloat16": "*bf16",
    "int64": "*i64",
    "int32": "*i32",
    "uint16": "*u16",
    "bool": "*i1",
}
SPECS = "ce;nce;mse;cr(ce);10*nce + 0.1*agce(a=1.8, q=3)"
ROWS, CLASSES = 16, 128256
MIN_VALUES_PER_THREAD = 8
"""Kernels that load fewer values per thread loop over rows, not over logits."""
CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
KINDS = {
    "fma": r"FFMA|FMUL|FADD|HFMA|HADD|HMUL|IMAD",
    "alu": r"(?!FFMA|FMUL|FADD|HFMA|HADD|HMUL|IMAD|MUFU|LD|ST|BAR|SHFL)",
    "mufu": r"MUFU",
    "memory": r"LD|ST|BAR|SHFL",
}
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(@!?U?P\d+ )?\s*([A-Z0-9_.]+)([^;]*);")
HEAD = (
    "| loss | dtype | kernel | per logit | fma | alu | mufu | memory | registers | spilled bytes |\n"
    + "|---" * 10
    + "|"
)
compiled: dict[tuple[Any, ...], tuple[bytes, int]] = {}


class Instruction(NamedTuple):
    """A line of the disassembly."""

    address: int
    guarded: bool
    name: str
    operands: str

    def target(self) -> int | None:
        """Where a jump goes."""
        found = re.search(r"0x([0-9a-f]+)", self.operands)
        return int(found[1], 16) if self.name.startswith("BRA") and found else None


def type_of(parameter: Any, value: Any) -> str:
    if parameter.is_constexpr or (type(value) is int and value == 1):
        return "constexpr"
    if isinstance(value, torch.Tensor):
        return POINTERS[str(value.dtype).removeprefix("torch.")]
    return "fp32" if isinstance(value, float) else "i32" if abs(value) < 1 << 31 else "i64"


def compile_instead(kernel: Any, sizes: launch.Sizes, pointers: tuple[torch.Tensor, ...]) -> None:
    """As Triton does for aligned tensors."""
    values: tuple[Any, ...] = (*pointers, *sizes.arguments)
    types = {p.name: type_of(p, value) for p, value in zip(kernel.params, values, strict=True)}
    places = list(zip(types, types.values(), values, strict=True))
    constants = {(k,): value for k, (_, kind, value) in enumerate(places) if kind == "constexpr"}
    even = [k for k, (_, kind, v) in enumerate(places) if "*" in kind or (kind[0] == "i" and v % 16 == 0)]
    source = ASTSource(kernel, types, constants, {(k,): [["tt.divisibility", 16]] for k in even})
    options = {"num_warps": sizes.warps, "enable_fp_fusion": False}
    made = compiled_for(source, target=HOPPER, options=options)
    lengths = {name: v for name, _, v in places if name in ("ROWS", "LANES", "WIDTH", "BLOCK")}
    counted = ("ROWS", "BLOCK") if "BLOCK" in lengths else tuple(lengths)
    block = math.prod(v for name, v in lengths.items() if name in counted)
    compiled[(kernel.fn.__name__, *constants.items())] = made.asm["cubin"], block // (32 * sizes.warps)


def disassembled(cubin: bytes) -> tuple[list[Instruction], str]:
    """The instructions, and all that the tool prints."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        call = [str(CUOBJDUMP), "-sass", "-res-usage", file.name]
        text = subprocess.run(call, capture_output=True, text=True, check=True).stdout  # noqa: S603
    found = [Instruction(int(a, 16), bool(guard), name, rest) for a, guard, name, rest in LINE.findall(text)]
    return [i for i in found if i.name != "NOP"], text


def main_loop(code: list[Instruction]) -> list[Instruction]:
    """The first that loads memory; others take what is left of a row, or look at some rows again."""
    jumps = [(i.target() or 0, i.address) for i in code if i.target() is not None]
    bodies = [[i for i in code if first <= i.address <= last] for first, last in jumps if first < last]
    bodies = [body for body in bodies if any(i.name.startswith("LDG") for i in body)]
    return min(bodies, key=lambda body: body[0].address, default=code)


def shortest_way(body: list[Instruction]) -> list[Instruction]:
    """From the head of a loop to its last jump with the fewest instructions; guarded ones count."""
    place = {i.address: k for k, i in enumerate(body)}
    best: dict[int, list[int]] = {0: []}
    for k, instruction in enumerate(body):
        if k not in best:
            continue
        way = [*best[k], k]
        for after in after_of(instruction, k, place):
            if after not in best or len(way) < len(best[after]):
                best[after] = way
    return [body[k] for k in best.get(len(body) - 1, range(len(body)))]


def after_of(instruction: Instruction, k: int, place: dict[int, int]) -> Iterator[int]:
    """Where control may go next within the loop, forwards."""
    target = instruction.target()
    if target is None or instruction.guarded or "P" in instruction.operands.split(",")[0]:
        yield k + 1
    if target is not None and place.get(target, -1) > k:
        yield place[target]


def lines_of(spec: str, dtype: torch.dtype) -> Iterator[str]:
    """The table of one loss."""
    compiled.clear()
    logits = torch.zeros((ROWS, CLASSES), dtype=dtype, requires_grad=True)
    losses.get(spec)(logits, torch.zeros(ROWS, dtype=torch.int64)).backward()
    for (name, *_), (cubin, per_thread) in compiled.items():
        if per_thread < MIN_VALUES_PER_THREAD or name == "frequencies_kernel":
            continue
        code, text = disassembled(cubin)
        way = shortest_way(main_loop(code))
        found = Counter(kind for i in way for kind, names in KINDS.items() if re.match(names, i.name))
        counts = [len(way), *(found[kind] for kind in KINDS)]
        used = dict(re.findall(r"(REG|LOCAL):(\d+)", text))
        cells = [
            spec,
            str(dtype)[6:],
            name,
            *(f"{n / per_thread:.1f}" for n in counts),
            used["REG"],
            used["LOCAL"],
        ]
        yield "| " + " | ".join(cells) + " |"


def main(specs: list[str]) -> None:
    apply.interpreted = True
    fused.start = launch.start = compile_instead  # type: ignore[assignment]
    lines = [line for spec in specs for d in (torch.bfloat16, torch.float32) for line in lines_of(spec, d)]
    about = "`python benchmarks/kernel_instructions.py` compiles the kernels, without a GPU, and counts."
    text = f"# Instructions per logit\n\n{about}\n\n"
    text += f"Compute capability 9.0, Triton {triton.__version__}\n\n{HEAD}\n"
    Path(__file__).with_suffix(".md").write_text(text + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main((sys.argv[1] if len(sys.argv) > 1 else SPECS).split(";"))
