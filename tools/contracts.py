"""Two kinds of import contract that import-linter does not bring; `pyproject.toml` registers and uses them.

``standalone`` keeps packages to the standard library and themselves. ``packages`` is a table of every third-party package and the
parts of the tree that may import it: a package that is not in the table may be imported nowhere.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

EVERYWHERE = "*"


class StandaloneContract(Contract):
    """Keeps each listed package to the standard library and its own modules.

    Options: ``modules``, the packages.
    """

    type_name = "standalone"

    modules: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Collects every import that leaves a listed package for anything but the standard library."""
        del verbose
        found = [link for package in self.modules for link in self._find_foreign(graph, package)]
        return ContractCheck(kept=not found, metadata={"found": found})

    def _find_foreign(self, graph: ImportGraph, package: str) -> Iterator[tuple[str, str]]:
        for module, imported in direct_imports(graph, package):
            if not is_within(imported, package) and imported.partition(".")[0] not in sys.stdlib_module_names:
                yield module, imported

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints the imports that were found."""
        print_imports(check, "only the standard library and itself may be imported here")


class PackagesContract(Contract):
    """Keeps each third-party package to the parts of the tree that the table names.

    Options: ``packages``, a table of lines ``"mcp: upstream, serve"`` (``*`` stands for the whole tree).
    """

    type_name = "packages"

    packages: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Collects every import of a package by a module that the table does not allow, and every line without a user."""
        del verbose
        (root,) = self.session_options["root_packages"]
        table = dict(map(read_line, self.packages))
        found: list[tuple[str, str]] = []
        used: set[str] = set()
        for module, imported in direct_imports(graph, root):
            package = imported.partition(".")[0]
            if package == root or package in sys.stdlib_module_names:
                continue
            used.add(package)
            if not is_allowed(module, table.get(package, ()), root):
                found.append((module, imported))
        return ContractCheck(
            kept=not found,
            metadata={"found": found},
            warnings=[f"{package} is in the table, but is not imported" for package in sorted(table.keys() - used)],
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints the imports that were found."""
        print_imports(check, "the table of packages in pyproject.toml does not allow this import")


def read_line(line: str) -> tuple[str, tuple[str, ...]]:
    """Reads ``"mcp: upstream, serve"`` as a package and the parts of the tree that may import it."""
    package, _, parts = line.partition(":")
    return package.strip(), tuple(part.strip() for part in parts.split(","))


def is_allowed(module: str, parts: Iterable[str], root: str) -> bool:
    """Tells whether ``module`` belongs to one of ``parts`` of the tree."""
    return any(part == EVERYWHERE or is_within(module, f"{root}.{part}") for part in parts)


def is_within(module: str, package: str) -> bool:
    """Tells whether ``module`` is ``package`` or lies below it."""
    return module == package or module.startswith(f"{package}.")


def direct_imports(graph: ImportGraph, package: str) -> Iterator[tuple[str, str]]:
    """Yields importer and imported for every import by a module of ``package``, in a fixed order.

    Raises:
        ValueError: there is no such package, so the contract would hold whatever is written.
    """
    if package not in graph.modules:
        raise ValueError(f"Module '{package}' does not exist.")
    for module in sorted(name for name in graph.modules if is_within(name, package)):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            yield module, imported


def print_imports(check: ContractCheck, reason: str) -> None:
    """Prints every import that breaks a contract, and why it does."""
    for module, imported in check.metadata["found"]:
        output.print_error(f"- {module} -> {imported}: {reason}", bold=False)
    output.new_line()
