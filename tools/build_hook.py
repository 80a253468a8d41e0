"""Puts the built dashboard into every wheel and sdist, or says that it is missing; hatchling runs it, see `pyproject.toml`.

A release is made by `make dist`, where the pages are there already. `pip wheel .` in a fresh clone builds them if it finds Node.
Otherwise the wheel is made without them, a warning says so, and `/dashboard` of that wheel shows how to get them.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EDITABLE = "editable"
WARNING = (
    "this {target} has no dashboard: its pages could not be built ({reason}). Install Node 18 or newer, or run `make dist`, "
    "which brings its own; everything but /dashboard works without it"
)


class DashboardBuildHook(BuildHookInterface):  # pyright: ignore[reportMissingTypeArgument]
    """Builds the dashboard before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the pages, except for an editable install: that serves them from the checkout, where `make setup` puts them."""
        del build_data
        if version == EDITABLE:
            return
        problem = build_pages(Path(self.root))
        if problem:
            self.app.display_warning(WARNING.format(target=self.target_name, reason=problem))


def build_pages(root: Path) -> str | None:
    """Builds the pages if need be; returns the reason why there are none, or None if they are there."""
    pages = load_builder(root / "tools" / "pages.py")
    if (pages.TARGET / "index.html").is_file() and not pages.STAMP.is_file():
        return None  # an sdist carries the pages without the stamp
    try:
        pages.build()
    except SystemExit as end:  # how a script of ours says that it cannot go on
        return str(end)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return None


def load_builder(file: Path) -> ModuleType:
    """Loads the script that builds the pages, which is not a part of any package."""
    spec = importlib.util.spec_from_file_location("pages", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
