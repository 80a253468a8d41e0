"""Prints how the source tree is laid out: files per folder, sizes, names, cycles, local imports, and the walk of a request.

``python tools/house.py`` prints the table; ``--json`` prints the same figures as JSON; ``--walk`` also opens a runtime and counts
the modules in which a function runs during one search and one execution; ``--sample N`` prints N random functions for the
stranger's test (say from path and name what each does, then read it).
"""

import argparse
import ast
import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1] / "src" / "gristmill"
SHARED_NAMES = {"__init__", "__main__", "base", "app"}
"""File names that may stand more than once."""
RIDDLES = re.compile(r"\b(whoever|whomever|whatever|nobody|somebody|anybody|everybody|those (?:that|who))\b", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """One source file, parsed."""

    path: Path
    tree: ast.Module
    lines: int
    imports: set[str] = field(default_factory=set[str])
    """Modules of ours that it imports at its top level."""
    late_imports: set[str] = field(default_factory=set[str])
    """Modules, ours and others, that its functions import when they run."""

    @property
    def dotted(self) -> str:
        parts = ["gristmill", *self.path.relative_to(ROOT).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_modules(root: Path = ROOT) -> list[Module]:
    """Parses every Python file below ``root``."""
    modules: list[Module] = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text()
        modules.append(Module(path, ast.parse(text), text.count("\n")))
    names = {module.dotted for module in modules}
    for module in modules:
        _read_imports(module, names)
    return modules


def _read_imports(module: Module, names: set[str]) -> None:
    inside = {id(node) for function in functions_of(module.tree) for node in ast.walk(function)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if id(node) in inside:
            module.late_imports |= imported_modules(node)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & names
            module.imports |= whole or ({node.module} & names)
        elif isinstance(node, ast.Import):
            module.imports |= {alias.name for alias in node.names} & names


def imported_modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Returns the modules that an import statement names."""
    return {node.module or ""} if isinstance(node, ast.ImportFrom) else {alias.name for alias in node.names}


def functions_of(tree: ast.AST) -> list[Function]:
    """Returns every function and method in ``tree``."""
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def find_cycles(modules: list[Module]) -> list[list[str]]:
    """Returns groups of modules that import each other at their top level (Tarjan's strongly connected components)."""
    graph = {module.dotted: sorted(module.imports) for module in modules}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group: list[str] = []
            while not group or group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def prose_of(tree: ast.AST) -> Iterator[str]:
    """Yields every docstring in ``tree``, those of constants and fields included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def riddles_per_thousand(texts: Iterator[str] | list[str]) -> float:
    """Returns how many words per 1,000 are pronouns that hide who acts ("whoever", "nobody")."""
    words = riddles = 0
    for text in texts:
        words += len(re.findall(r"[A-Za-z']+", text))
        riddles += len(RIDDLES.findall(text))
    return round(1000 * riddles / max(words, 1), 2)


def shared_classes(modules: list[Module]) -> dict[str, list[str]]:
    """Returns the public class names that are defined more than once, with the modules that define them."""
    places: dict[str, list[str]] = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module.dotted)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def shared_files(modules: list[Module]) -> dict[str, list[str]]:
    """Returns the file names that stand in more than one folder."""
    places: dict[str, list[str]] = {}
    for module in modules:
        places.setdefault(module.path.stem, []).append(str(module.path.relative_to(ROOT).parent))
    return {name: where for name, where in sorted(places.items()) if len(where) > 1 and name not in SHARED_NAMES}


def is_one_word(name: str) -> bool:
    """Tells whether a function's name is a single word."""
    return "_" not in name.strip("_")


def report(modules: list[Module]) -> dict[str, Any]:
    """Returns every figure of the table."""
    folders = Counter(str(module.path.relative_to(ROOT).parent) for module in modules)
    functions = [node for module in modules for node in functions_of(module.tree)]
    top = [node for module in modules for node in module.tree.body if isinstance(node, Function)]
    named = [node for node in functions if not node.name.startswith("__")]
    lengths = sorted((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions)
    classes = [node for module in modules for node in module.tree.body if isinstance(node, ast.ClassDef)]
    public = [node for node in classes if not node.name.startswith("_")]
    shared = shared_classes(modules)
    return {
        "files": len(modules),
        "lines": sum(module.lines for module in modules),
        "folders": dict(sorted(folders.items())),
        "files per folder, mean": round(len(modules) / len(folders), 1),
        "files per folder, most": max(folders.values()),
        "file length, median": statistics.median(module.lines for module in modules),
        "file length, longest": max(module.lines for module in modules),
        "functions": len(functions),
        "function length, median": statistics.median(lengths),
        "function length, p90": lengths[int(len(lengths) * 0.9)],
        "function length, p99": lengths[int(len(lengths) * 0.99)],
        "one-word names, % of functions and methods": round(100 * sum(is_one_word(n.name) for n in named) / len(named), 1),
        "one-word names, % of module-level functions": round(100 * sum(is_one_word(n.name) for n in top) / len(top), 1),
        "public classes": len(public),
        "public classes whose name is shared, %": round(100 * sum(len(w) for w in shared.values()) / len(public), 1),
        "shared class names": shared,
        "shared file names": shared_files(modules),
        "import cycles": find_cycles(modules),
        "imports inside functions": sum(len(module.late_imports) for module in modules),
        "riddles per 1,000 words of docstrings": riddles_per_thousand([text for m in modules for text in prose_of(m.tree)]),
    }


class Walk:
    """Counts the modules of ours in which a function runs, in every thread, while it is entered."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self.files.add(frame.f_code.co_filename)

    def __enter__(self) -> "Walk":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @property
    def modules(self) -> int:
        return sum(name.startswith(str(ROOT)) for name in self.files)


async def walk() -> dict[str, int]:
    """Opens a runtime and returns how many modules one search and one execution with a tool call touch."""
    from gristmill import Runtime

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "gristmill.toml"
        settings.write_text(f'[store]\npath = "{folder}/state"\n')
        async with Runtime.open(settings, tools={"sums.add": add}) as runtime:
            await runtime.execute("1")  # what is done once is not part of a request's walk
            with Walk() as search:
                await runtime.search("add two numbers")
            with Walk() as execute:
                await runtime.execute("from servers import sums\nsums.add(1, 2)", session="walk")
    return {"modules touched by a search": search.modules, "modules touched by an execution": execute.modules}


def sample_functions(modules: list[Module], count: int, seed: int | None) -> list[str]:
    """Returns random functions as ``path: name``."""
    places = [
        f"{module.path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for module in modules
        for node in functions_of(module.tree)
        if not node.name.startswith("__")
    ]
    return random.Random(seed).sample(places, count)


def print_table(figures: dict[str, Any]) -> None:
    """Prints the figures for a person."""
    for name, value in figures.items():
        if isinstance(value, dict):
            print(f"{name}:")
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                print(f"  {key}: {', '.join(item) if isinstance(item, list) else item}")  # pyright: ignore[reportUnknownArgumentType]
        else:
            print(f"{name}: {value}")


def main() -> None:
    """Reads the tree and prints what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--walk", action="store_true", help="also count the modules that a search and an execution touch")
    parser.add_argument("--sample", type=int, metavar="N", help="print N random functions instead")
    parser.add_argument("--seed", type=int, help="seed of --sample")
    asked = parser.parse_args()
    modules = read_modules()
    if asked.sample:
        print("\n".join(sample_functions(modules, asked.sample, asked.seed)))
        return
    figures = report(modules) | (asyncio.run(walk()) if asked.walk else {})
    if asked.json:
        print(json.dumps(figures, indent=2))
    else:
        print_table(figures)


if __name__ == "__main__":
    main()
