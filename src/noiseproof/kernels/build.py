"""Compile the CPU operator, only on request, into the user's cache folder.

The library depends on its sources, on torch's binary interface and on the processor, and its file name
contains a hash of all three: after an upgrade of any of them it counts as not built.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

SOURCES = Path(__file__).parent / "cpu" / "source"
COMMAND = "noiseproof kernels build"
FLAGS = ("-std=c++20", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared", "-w")
TUNED = {"x86_64": ("-march=native", "-mprefer-vector-width=512"), "aarch64": ("-mcpu=native",)}


class BuildError(OSError):
    """The operator could not be compiled; everything works without it, only slower."""


def library() -> Path:
    """Path of the operator compiled for this torch and processor, whether it exists or not."""
    return cache_folder() / f"cpu-{_identity()}.so"


def problem() -> str | None:
    """Why the operator cannot be loaded; None if it can."""
    try:
        place = library()
        if not place.is_file():
            return f"not built; a C++ compiler and '{COMMAND}' build it"
        return unsafe(place)
    except OSError as trouble:
        return f"the cache folder cannot be read: {trouble}"


def cache_folder() -> Path:
    """``noiseproof/kernels`` in the platform's cache folder."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "noiseproof" / "kernels"


def compiler() -> list[str] | None:
    """The words of ``$CXX``, as in ``ccache g++``, or the first of g++, clang++ and c++ that is installed."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    names = [chosen] if chosen else [["g++"], ["clang++"], ["c++"]]
    return next(([found, *words[1:]] for words in names if (found := shutil.which(words[0]))), None)


def build() -> Path:
    """Compile the operator and return its path; BuildError says in one line what is missing."""
    if sys.platform == "win32":
        raise BuildError("nothing is compiled on Windows: torch expressions are used there")
    if (found := compiler()) is None:
        wanted = os.environ.get("CXX", "g++, clang++ or c++")
        raise BuildError(f"no C++ compiler ({wanted}) was found: install one, or set CXX to its path")
    target = library()
    for place in reversed((target.parent, *target.parent.parents)):
        if not place.is_dir():
            place.mkdir(exist_ok=True, mode=0o700)  # ``parents=True`` would use the umask for the parents
    if danger := unsafe(target.parent):
        raise BuildError(danger)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        _compile(found, SOURCES / "operator.cpp", made)
        made.chmod(0o700)
        made.replace(target)
    return target


def unsafe(path: Path) -> str | None:
    """Why code must not be loaded from here: other users can write to it; None if they cannot."""
    path = path.resolve()
    for place in (path, *path.parents):
        status = place.stat()
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if others_write or status.st_uid not in (0, os.getuid()):
            return f"{place} can be written by other users: no compiled code is stored or loaded there"
    return None


def _compile(command: list[str], source: Path, made: Path) -> None:
    root = Path(torch.__path__[0])
    interface = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    includes = [root / "include", root / "include" / "torch" / "csrc" / "api" / "include"]
    threads = [] if sys.platform == "darwin" else ["-fopenmp"]
    words = [*command, *FLAGS, *TUNED.get(platform.machine(), ()), *threads, interface]
    words += [word for include in includes for word in ("-isystem", str(include))]
    words += [str(source), "-o", str(made), f"-L{root / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10"]
    done = subprocess.run(words, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr.strip()]
        raise BuildError(f"{shlex.join(command)} failed: {errors[0][:300]}")


def _identity() -> str:
    parts = [path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.suffix in (".h", ".cpp")]
    machine = platform.machine()
    flags = (*FLAGS, *TUNED.get(machine, ()))
    words = (*flags, torch.__version__, torch.version.git_version, machine, _processor())
    return hashlib.sha256(b"\0".join([*parts, *(str(word).encode() for word in words)])).hexdigest()[:20]


def _processor() -> str:
    """The instruction sets of the processor, as the operating system lists them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
