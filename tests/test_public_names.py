"""The public names are exactly those in tests/public_names.txt.

After an intended change: python tests/test_public_names.py > tests/public_names.txt
"""

import ast
import importlib
import sys
from pathlib import Path

import noiseproof

LIST = Path(__file__).with_name("public_names.txt")
ALSO = ("auto", "features")
"""Public packages that ``noiseproof`` does not import by name."""
REGISTRIES = {
    "loss": "losses.LOSSES",
    "method": "methods.METHODS",
    "model": "models.MODELS",
    "noise": "noise.NOISES",
    "source": "data.SOURCES",
}


def public_names():
    names = {f"noiseproof.{name}" for name in noiseproof.__all__}
    for module in {*noiseproof._LAZY, *ALSO}:
        found = importlib.import_module(f"noiseproof.{module}")
        names |= {f"noiseproof.{module}.{name}" for name in found.__all__}
    return sorted(names | names_of_integrations() | names_of_specs())


def names_of_integrations():
    """Functions and classes of files whose libraries need not be installed."""
    names = set()
    for path in (Path(noiseproof.__file__).parent / "integrations").glob("[!_]*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                names.add(f"noiseproof.integrations.{path.stem}.{node.name}")
    return names


def names_of_specs():
    names = set()
    for kind, place in REGISTRIES.items():
        module, _, registry = place.partition(".")
        found = getattr(importlib.import_module(f"noiseproof.{module}"), registry)
        names |= {f"{kind} {name}" for name in found}
    return names


NOW = public_names()
"""Before other tests register losses."""


def test_public_names():
    kept, now = LIST.read_text(encoding="utf-8").split("\n")[:-1], NOW
    new, gone = sorted(set(now) - set(kept)), sorted(set(kept) - set(now))
    assert not new, f"new public names, see the docstring of this file: {', '.join(new)}"
    assert not gone, f"public names are gone, users have them in their code: {', '.join(gone)}"
    assert kept == now


def test_every_public_name_exists():
    for name in NOW:
        if name.startswith("noiseproof.") and ".integrations." not in name:
            module, _, last = name.rpartition(".")
            assert hasattr(importlib.import_module(module), last), name


if __name__ == "__main__":
    sys.stdout.write("\n".join(NOW) + "\n")
