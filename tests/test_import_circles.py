"""The check of ``make lint`` that finds circles among imports."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "import_circles.py"
spec = importlib.util.spec_from_file_location("import_circles", TOOL)
circles = importlib.util.module_from_spec(spec)
spec.loader.exec_module(circles)


def package(folder, **modules):
    root = folder / "pack"
    (root / "sub").mkdir(parents=True)
    for name in ("__init__", "sub/__init__"):
        (root / f"{name}.py").write_text("")
    for name, text in modules.items():
        (root / f"{name.replace('__', '/')}.py").write_text(text)
    return root


IMPORTS = {
    "at the top": "from .b import x",
    "in a function": "def f():\n    from .b import x",
    "for types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import x",
    "as a module": "from . import b",
    "absolute": "import pack.b",
}


@pytest.mark.parametrize("text", IMPORTS.values(), ids=IMPORTS)
def test_all_kinds_of_imports_are_found(text, tmp_path):
    root = package(tmp_path, a=text, b="from .sub.c import y", sub__c="from ..a import z")
    assert circles.problems_of(root, []) == ["circle of 3 modules: pack.a, pack.b, pack.sub.c"]
    assert circles.problems_of(root, [{"pack.a", "pack.b", "pack.sub.c"}]) == []


def test_chains_and_packages_are_not_circles(tmp_path):
    root = package(
        tmp_path, a="from .b import x\nfrom .sub.c import y", b="from .sub.c import y", sub__c="import os"
    )
    assert circles.problems_of(root, []) == []


def test_removed_circles_must_be_removed_from_the_list(tmp_path):
    root = package(tmp_path, a="from .b import x", b="")
    assert circles.problems_of(root, [{"pack.a", "pack.b"}]) == [
        "no longer a circle, remove it from ALLOWED: pack.a, pack.b"
    ]


def test_kernels_and_losses_have_no_circles():
    assert not [name for one in circles.ALLOWED for name in one if ".kernels" in name or ".losses" in name]
    assert circles.problems_of(TOOL.parents[1] / "src" / "noiseproof", circles.ALLOWED) == []
