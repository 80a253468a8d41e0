"""Code is looked at before it runs: what cannot work is refused with every reason at once, what may not is said as advice."""

import os
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.python_names import python_names
from gristmill.config.sections.guard_section import GuardConfig
from gristmill.guard.program.check_program import OURS, check_program
from gristmill.guard.program.house_rules import check_house_rules
from gristmill.guard.program.known_tools import Known, KnownServer
from gristmill.guard.program.program_problems import refusal
from gristmill.guard.program.runnable_text import check
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.tools.tool_library import Library
from gristmill.session.files.workspace import Workspaces
from gristmill.upstream.base import Upstreams


class Checks:
    """Holds programs against the catalogue as it is now. ``site`` is where the packages lie that code may import."""

    def __init__(
        self, library: Library, upstreams: Upstreams, workspaces: Workspaces, site: Path | None, house_rules: GuardConfig
    ) -> None:
        self._library, self._upstreams, self._workspaces, self._site = library, upstreams, workspaces, site
        self._house_rules = house_rules
        self._of: tuple[Catalog, frozenset[str]] | None = None
        self._known = Known()

    def __call__(self, run: Run) -> tuple[str, ...]:
        """What may be wrong with the code of ``run``, as advice.

        Raises:
            CodeRefused: what surely is.
        """
        code = run.execution.code
        check(code)
        check_house_rules(code, self._house_rules)
        problems = check_program(code, self._what_is_known(run.space))
        if (refused := refusal(problems)) is not None:
            raise refused
        return tuple(map(str, problems))

    def _what_is_known(self, space: str | None) -> Known:
        catalog = self._library.catalog
        ready = frozenset(status.name for status in self._upstreams.status if status.state == "ready")
        if self._of is None or self._of[0] is not catalog or self._of[1] != ready:
            self._of, self._known = (catalog, ready), self._read(catalog, ready)
        if space is None:
            return self._known
        return replace(self._known, workspace=cache(lambda: _modules_in(self._workspaces.of(space))))

    def _read(self, catalog: Catalog, ready: frozenset[str]) -> Known:
        names = [upstream.name for upstream in self._upstreams]
        servers = tuple(
            KnownServer(
                name=name,
                module=module,
                tools={catalog.functions[tool.key]: tool for tool in catalog.of_server(name)},
                complete=name in ready,
            )
            for name, module in catalog.modules.items()
        )
        unlisted = {name for name in names if not catalog.of_server(name)}
        return Known(
            servers=servers,
            unlisted=frozenset(unlisted | set(python_names(unlisted, "server").values())),
            importable=_importable(self._site),
            argument_names=lambda fields: python_names(fields, "argument"),
        )


def _importable(site: Path | None) -> frozenset[str]:
    """Top-level modules that the sandbox has: Python's own, ours, and those of the packages."""
    found = set(sys.stdlib_module_names) | OURS | {"__main__", "session", "gristmill"}
    if site is not None:
        found |= _modules_in(site)
    return frozenset(found)


def _modules_in(folder: Path) -> set[str]:
    try:
        return {name.partition(".")[0] for name in os.listdir(folder) if not name.endswith(".dist-info")}
    except OSError:
        return set()
