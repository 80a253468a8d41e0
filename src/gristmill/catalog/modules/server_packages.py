"""Renders the packages around the tool modules, ``servers`` and ``servers/<server>``; a tool's file is imported at first use.

The loader is constant code of Gristmill; text from servers enters only as literals in two tables.
"""

import ast
from collections.abc import Mapping

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.python_annotations import build_docstring, build_name
from gristmill.catalog.modules.tool_module import render_checked_source
from gristmill.catalog.visible_text import clean_to_one_line
from gristmill.model import Tool

# Every name begins with an underscore: servers and tools cannot have such a name, so the loader hides none of them.
_SERVERS_LOADER = '''
import importlib as _importlib
import sys as _sys
import types as _types


class _Server(_types.ModuleType):
    """A package that imports a tool's file when the tool is first asked for."""

    def __getattr__(self, name):
        current = _importlib.import_module(self.__name__)
        if current is not self:
            return getattr(current, name)  # the tools have changed since a session imported this package
        if name == "__all__":
            return list(self._TOOLS)
        tool = _spell(name, self._TOOLS, self._NAMES)
        if tool is None:
            raise AttributeError(f"{self.__name__} has no tool {name!r}{_near(name, self._TOOLS)}")
        _importlib.import_module(f"{self.__name__}.{tool}")
        return self.__dict__[tool]

    def __setattr__(self, name, value):
        # The import system stores the tool's module on its package; what people mean by the name is the function.
        if isinstance(value, _types.ModuleType) and name in self._TOOLS:
            function = _accept(getattr(value, name), f"{self.__name__.partition('.')[2]}.{name}")
            value.__dict__[name] = value = function
        super().__setattr__(name, value)

    def __dir__(self):
        return sorted(self._TOOLS)


def _accept(function, key):
    wrap = getattr(_sys.modules.get("mcp_client"), "_accept_other_spellings", None)
    return wrap(function, key) if wrap else function


def _fold(name):
    return "".join(filter(str.isalnum, name)).lower()


def _spell(name, known, renamed):
    """Returns the name among ``known`` that ``name`` is another spelling of, or None."""
    found = renamed.get(name, name)
    if found in known:
        return found
    same = [each for each in known if _fold(each) == _fold(name)] if not name.startswith("_") else []
    return same[0] if len(same) == 1 else None


def _find_server(name):
    return _spell(name, _SERVERS, _NAMES)


def _near(name, known):
    import difflib

    near = difflib.get_close_matches(name, known, n=3)
    return f"; did you mean {', '.join(near)}?" if near else ""


def _lazy(package):
    _sys.modules[package].__class__ = _Server


def __getattr__(name):
    current = _importlib.import_module("servers")
    if vars(current) is not globals():
        return getattr(current, name)
    if name == "__all__":
        return list(_SERVERS)
    server = _find_server(name)
    if server is None:
        raise AttributeError(f"there is no server {name!r}{_near(name, _SERVERS)}")
    return _importlib.import_module(f"servers.{server}")


def __dir__():
    return sorted(_SERVERS)
'''

_SERVER_LOADER = """
from servers import _lazy

_lazy(__name__)
"""


def render_servers_package(catalog: Catalog) -> str:
    """Returns ``servers/__init__.py``: the list of servers, and the loader that their packages share."""
    modules = catalog.modules
    sizes = {
        module: f"{clean_to_one_line(server)}: {len(catalog.tools_of_server(server))} tools" for server, module in modules.items()
    }
    doc = "Tool servers: `from servers import <server>`, then `<server>.<tool>(...)`. `dir()` lists both."
    return _render_package(doc, "_SERVERS", sizes, modules, _SERVERS_LOADER)


def render_server_package(server: str, tools: Mapping[str, Tool]) -> str:
    """Returns ``servers/<server>/__init__.py``: ``tools`` by function name, each with one line about it."""
    lines = {function: clean_to_one_line(tool.description or tool.title or "", limit=100) for function, tool in tools.items()}
    renamed = {tool.name: function for function, tool in tools.items()}
    return _render_package(f"{clean_to_one_line(server)}: {len(tools)} tools.", "_TOOLS", lines, renamed, _SERVER_LOADER)


def _render_package(doc: str, table: str, lines: Mapping[str, str], names: Mapping[str, str], loader: str) -> str:
    renamed = {original: python for original, python in names.items() if original != python}
    body: list[ast.stmt] = [
        build_docstring(doc),
        _build_table(table, lines),
        _build_table("_NAMES", renamed),
        *ast.parse(loader).body,
    ]
    return render_checked_source(body)


def _build_table(target: str, entries: Mapping[str, str]) -> ast.Assign:
    keys: list[ast.expr | None] = [ast.Constant(key) for key in entries]
    values: list[ast.expr] = [ast.Constant(value) for value in entries.values()]
    return ast.Assign(targets=[build_name(target)], value=ast.Dict(keys=keys, values=values))
