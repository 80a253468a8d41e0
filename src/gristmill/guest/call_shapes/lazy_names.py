# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Names that a program uses without importing them: ``pam.get_expenses(...)``, ``tools.pam``, ``mcp__pam__get_expenses(...)``.

The host has read the program and says which of its names are tools. They become builtins of this interpreter, so that a name
which the program or its session defines itself always comes first.
"""

import builtins
import importlib
import importlib.abc
import importlib.machinery
import sys
import types

from gristmill.guest import tool_modules as tools
from gristmill.guest.call_shapes import virtual_files as files


class ToolPath(tools.ToolFunction):
    """A tool, or a server whose attributes are tools: only the host knows."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return ToolPath(f"{self.key}.{name}")


class ServerName(types.ModuleType):
    """A server that was not imported: its attributes are those of the module ``servers.<server>`` as it is now."""

    def __getattr__(self, name):
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)

    def __dir__(self):
        return dir(importlib.import_module(self.__name__))

    def __getitem__(self, name):
        return getattr(self, name)

    def __call__(self, *positional, **arguments):
        return tools.CALLS.call(self.__name__.removeprefix("servers."), arguments, positional)


class ToolNamespace(types.ModuleType):
    """``tools``, ``mcp`` or ``codemode``: its attributes are servers, and tools whose name only one server has."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        module = find_server(name)
        return ServerName(f"servers.{module}") if module else ToolPath(name)

    def __getitem__(self, name):
        return getattr(self, name)

    def __dir__(self):
        return dir(importlib.import_module("servers"))


def find_server(name):
    """Returns the module name of the server that ``name`` means, or None if it is not known here."""
    known = vars(importlib.import_module("servers")).get("_find_server")
    return known(name) if known else None


def use_names(names):
    """Makes ``names`` available to the program; the values say what each of them means."""
    scope = builtins.__dict__
    for name, meaning in names.items():
        kind, _, target = meaning.partition(":")
        if kind == "files":
            files.install_virtual_files()
        elif kind == "module":
            _modules[name.removeprefix("import ")] = target
        elif name not in scope:
            scope[name] = _VALUES[kind](name, target)
            _given[name] = meaning


_modules = {}  # module that a program imports and that is another name for ours -> what it means
_given = {}  # name -> what it means: names that were given to programs of this interpreter


def write_import(name):
    """Returns the statement that imports what a given name means, or None: a saved function takes it along."""
    kind, _, target = _given.get(name, "").partition(":")
    if kind == "server":
        return f"import servers.{target} as {name}"
    if kind == "tool":
        server, _, function = target.partition(".")
        return f"from servers.{server} import {function} as {name}"
    if kind == "space":
        return "import servers" if name == "servers" else f"from mcp_client import {name}"
    if kind == "word":
        return f"from mcp_client import {name}"
    return None


def _make_tool(name, target):
    server, _, function = target.partition(".")
    return getattr(importlib.import_module(f"servers.{server}"), function)


def _make_word(name, target):
    word, _, tool = target.partition(":")
    function = WORDS[word]
    return files.prefer_virtual_files(function, ToolPath(tool)) if tool else function


WORDS = {
    "call_tool": tools.call_mcp_tool, "search_tools": tools.search_tools, "list_servers": tools.list_servers,
    "list_tools": tools.list_tools, "list_categories": tools.list_categories, "list_tool_names": tools.list_tool_names,
    "describe": tools.describe, "list_directory": files.list_directory, "read_file": files.read_file,
}  # fmt: skip
"""Functions that programs use without importing them; the host knows the other names that they have."""
_VALUES = {
    "server": lambda name, target: ServerName(f"servers.{target}"),
    "tool": _make_tool,
    "path": lambda name, target: ToolPath(target),
    "space": lambda name, target: importlib.import_module("servers") if name == "servers" else ToolNamespace(name),
    "word": _make_word,
}


class _ReadyLoader(importlib.abc.Loader):
    def __init__(self, module):
        self._module = module

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        pass


class OtherModulesFinder(importlib.abc.MetaPathFinder):
    """Finds ``tools``, ``client`` and servers by their bare name for programs that import them, where there is no real module."""

    def find_spec(self, name, path=None, target=None):
        top, _, inner = name.partition(".")
        kind, _, server = _modules.get(top, "").partition(":")
        if kind == "space" and "." not in inner:
            module = ServerName(f"servers.{find_server(inner) or inner}") if inner else ToolNamespace(name)
        elif kind == "client" and not inner:
            module = types.ModuleType(name, "Call tools by name.")
            vars(module).update({each: value for each, value in vars(sys.modules["mcp_client"]).items() if each[:1] != "_"})
        elif kind == "server" and not inner:
            module = ServerName(f"servers.{server}")
        else:
            return None
        return importlib.machinery.ModuleSpec(name, _ReadyLoader(module), is_package=kind == "space" and not inner)


def install_lazy_names():
    """Makes the other modules importable, and the functions that need no import importable too."""
    sys.meta_path.append(OtherModulesFinder())
    tools.CALLS.write_import = write_import
    client = vars(sys.modules["mcp_client"])
    client.update(list_directory=files.list_directory, listDirectory=files.list_directory)
    client.update(read_file=files.read_file, readFile=files.read_file)
    client.update({name: ToolNamespace(name) for name in ("tools", "mcp", "codemode")})
