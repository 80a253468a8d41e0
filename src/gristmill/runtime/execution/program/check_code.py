"""Checks code before it runs: certain faults refuse it, with all reasons at once; possible faults become advice."""

import os
import sys
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.python_names import make_python_names
from gristmill.config.sections.guard_section import GuardConfig
from gristmill.errors import CodeRefused
from gristmill.guard.program.check_program import GUEST_MODULES, MOST_CHARS, read_and_check
from gristmill.guard.program.house_rules import check_house_rules
from gristmill.guard.program.known_tools import KnownServer, KnownTools
from gristmill.guard.program.program_problems import build_refusal
from gristmill.guard.program.runnable_text import check_runnable_text
from gristmill.guard.program.undefined_names import NameMeanings, build_name_meanings, has_undefined_names
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.execution.program.typescript_programs import is_typescript
from gristmill.runtime.tools.tool_library import ToolLibrary
from gristmill.session.files.workspace import Workspaces
from gristmill.upstream.base import Upstreams


class CodeChecks:
    """Checks programs against the current catalogue. ``site`` is the folder of the packages that code may import."""

    def __init__(
        self, library: ToolLibrary, upstreams: Upstreams, workspaces: Workspaces, site: Path | None, house_rules: GuardConfig
    ) -> None:
        self._library, self._upstreams, self._workspaces, self._site = library, upstreams, workspaces, site
        self._house_rules = house_rules
        self._known_for: tuple[Catalog, frozenset[str]] | None = None
        self._known = KnownTools()
        self._meanings: NameMeanings | None = None

    def __call__(self, run: ExecutionState) -> tuple[str, ...]:
        """Returns possible faults in the code of ``run``, as advice; notes what the names mean that the code does not define.

        Raises:
            CodeRefused: the code has certain faults.
        """
        code = run.execution.code
        check_runnable_text(code)
        if is_typescript(run):
            return self._check_typescript(run)
        check_house_rules(code, self._house_rules)
        known = self._get_known_tools(run.space)
        checked = read_and_check(code, known, self._meanings, fresh=run.space is None)
        run.undefined = checked.names
        if (refused := build_refusal(checked.problems)) is not None:
            raise refused
        return tuple(map(str, checked.problems))

    def needs_listing(self, run: ExecutionState) -> bool:
        """Returns whether the code uses names that may be tools of a server which is not listed yet."""
        code = run.execution.code
        return len(code) <= MOST_CHARS and any(not each.tools for each in self._upstreams) and has_undefined_names(code)

    def list_packages(self) -> list[str]:
        """Returns the names of the packages that code can import, beside Python's own modules."""
        try:
            names = os.listdir(self._site) if self._site is not None else []
        except OSError:
            names = []
        return sorted(name.partition("-")[0] for name in names if name.endswith(".dist-info"))

    def _check_typescript(self, run: ExecutionState) -> tuple[str, ...]:
        from gristmill.guard.program.typescript.check_typescript import check_typescript  # an extra that few programs need

        if self._house_rules.allowed_modules is not None or self._house_rules.denied_names:
            raise CodeRefused(
                "the rules for modules and names (guard.allowed_modules, guard.denied_names) are rules for Python, and this "
                "program is TypeScript: write Python",
                rule="guard.house_rules",
            )
        problems = check_typescript(run.execution.code, self._get_known_tools(run.space))
        if (refused := build_refusal(problems)) is not None:
            raise refused
        return tuple(map(str, problems))

    def _get_known_tools(self, space: str | None) -> KnownTools:
        catalog = self._library.catalog
        ready = frozenset(status.name for status in self._upstreams.status if status.state == "ready")
        if self._known_for is None or self._known_for[0] is not catalog or self._known_for[1] != ready:
            self._known_for, self._known = (catalog, ready), self._build_known_tools(catalog, ready)
            self._meanings = build_name_meanings(self._known.servers, self._known.unlisted, catalog.loose_names)
        if space is None:
            return self._known
        return replace(self._known, workspace=cache(lambda: _list_modules(self._workspaces.make_folder(space))))

    def _build_known_tools(self, catalog: Catalog, ready: frozenset[str]) -> KnownTools:
        names = [upstream.name for upstream in self._upstreams]
        servers = tuple(
            KnownServer(
                name=name,
                module=module,
                tools={catalog.functions[tool.key]: tool for tool in catalog.tools_of_server(name)},
                complete=name in ready,
            )
            for name, module in catalog.modules.items()
        )
        unlisted = {name for name in names if not catalog.tools_of_server(name)}
        return KnownTools(
            servers=servers,
            unlisted=frozenset(unlisted | set(make_python_names(unlisted, "server").values())),
            importable=_list_importable(self._site),
            argument_names=lambda fields: make_python_names(fields, "argument"),
        )


def _list_importable(site: Path | None) -> frozenset[str]:
    """Returns the top-level modules that the sandbox has: Python's own, ours, and those of the packages."""
    found = set(sys.stdlib_module_names) | GUEST_MODULES | {"__main__", "session", "gristmill"}
    if site is not None:
        found |= _list_modules(site)
    return frozenset(found)


def _list_modules(folder: Path) -> set[str]:
    try:
        return {name.partition(".")[0] for name in os.listdir(folder) if not name.endswith(".dist-info")}
    except OSError:
        return set()
