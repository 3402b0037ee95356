"""The installed package: names, version, typing, and calls that it must not contain."""

import ast
import functools
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import noiseproof

SOURCE = Path(noiseproof.__file__).parent
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
MAX_LINES = {
    "data": 5000,
    "kernels": 6000,
    "losses": 3800,
    "papers": 3400,
    "report": 3000,
    "train": 4000,
}
"""Of Python and C++ in a folder, so that a new feature simplifies what is there."""
MAX_FILES = 400
FORBIDDEN_MODULES = {"torchvision", "timm", "yaml", "dill", "cloudpickle"}


@functools.cache
def trees():
    return {path: ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


def test_version_and_typing():
    assert noiseproof.__version__ == importlib.metadata.version("noiseproof")
    assert (SOURCE / "py.typed").exists()


def test_importing_the_package_does_not_import_torch():
    before, after = "assert 'torch' not in sys.modules", "assert 'torch' in sys.modules"
    code = f"import sys, noiseproof; {before}; noiseproof.losses; {after}"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_unknown_names_raise_attribute_error():
    assert not hasattr(noiseproof, "nothing")
    assert "losses" in dir(noiseproof)


def test_nothing_is_evaluated_or_unpickled():
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_CALLS, f"{path}:{node.lineno}"
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
                for name in names:
                    assert name.split(".")[0] not in FORBIDDEN_MODULES, f"{path}:{node.lineno}"
                    inside_suite = path.parent.name == "testing"
                    assert inside_suite or name != "pickle", f"{path}:{node.lineno}"


def test_no_file_is_called_utils():
    assert not [path for path in SOURCE.rglob("*") if "util" in path.stem]


def test_file_and_function_lengths():
    for path, tree in trees().items():
        assert len(path.read_text().splitlines()) <= 460, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 34, f"{path}:{node.lineno} {node.name} has {lines} lines"


def sources(folder=SOURCE):
    return [path for path in folder.rglob("*") if path.suffix in (".py", ".cpp", ".h")]


def lines_of(name):
    return sum(len(path.read_text().splitlines()) for path in sources(SOURCE / name))


def test_folder_sizes():
    too_long = {name: count for name, most in MAX_LINES.items() if (count := lines_of(name)) > most}
    assert not too_long
    assert len(sources()) <= MAX_FILES
