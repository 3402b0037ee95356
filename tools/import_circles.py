"""List circles among the modules of the package, counting every import: also inside functions and under
TYPE_CHECKING. ``make lint`` runs it.

    python tools/import_circles.py [src/noiseproof]

``from . import name`` counts as an import of the module ``name`` if there is one, else of the package itself.
Importing a submodule does not count as importing the packages around it.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ALLOWED: list[set[str]] = []
"""Circles that were there before the check, each as the set of its modules. Only ever remove entries."""


def modules_of(root: Path) -> dict[str, Path]:
    """Dotted names of all modules below a package."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = [root.name, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a module imports."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            start = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                inside = f"{start}.{alias.name}"
                found.add(inside if inside in known else start)
    return (found & known.keys()) - {name}


def circles_of(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    found: list[list[str]] = []
    for root in graph:
        if root in number:
            continue
        path: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(graph[root])))]
        number[root] = low[root] = len(number)
        waiting.append(root)
        while path:
            name, rest = path[-1]
            after = next((other for other in rest if other not in number or other in waiting), None)
            if after is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == number[name]:
                    part = waiting[waiting.index(name) :]
                    del waiting[waiting.index(name) :]
                    found += [sorted(part)] if len(part) > 1 else []
            elif after in number:
                low[name] = min(low[name], number[after])
            else:
                number[after] = low[after] = len(number)
                waiting.append(after)
                path.append((after, iter(sorted(graph[after]))))
    return found


def problems_of(root: Path, allowed: list[set[str]]) -> list[str]:
    """Circles that are not allowed, and allowed ones that are gone."""
    known = modules_of(root)
    graph = {name: imports_of(name, path, known) for name, path in known.items()}
    circles = [set(circle) for circle in circles_of(graph)]
    new = [circle for circle in circles if not any(circle <= one for one in allowed)]
    gone = [one for one in allowed if not any(circle <= one for circle in circles)]
    words = [f"circle of {len(c)} modules: {', '.join(sorted(c))}" for c in new]
    return words + [f"no longer a circle, remove it from ALLOWED: {', '.join(sorted(c))}" for c in gone]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "noiseproof"
    problems = problems_of(root, ALLOWED)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems) or "no import circles\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
