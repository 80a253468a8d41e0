# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""What the agent imports: ``servers``, ``mcp_client``, ``tool_discovery``. Typed modules, where there are some, go first."""

import importlib.abc
import importlib.machinery
import os
import sys
import types

from gristmill.guest.channel import ToolError
from gristmill.guest.typed_modules import TypedFinder

_HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = "<code "
"""How the file name of the agent's own code begins."""


class Calls:
    """Decides for each call whether it waits or goes on its way, by where in the agent's code it stands."""

    def __init__(self):
        self.channel = None
        self.parallel = {}  # file name -> end positions of parallel calls
        self._known = {}  # (code, instruction) -> bool

    def call(self, tool, arguments, positional=()):
        """Make one call: the value, or a ``Pending`` where the program is written to go on meanwhile."""
        pending = self.channel.start(tool, arguments, positional)
        return pending if self._is_parallel(sys._getframe(2)) else pending.result()

    def value(self, tool, arguments):
        """Make one call and wait for its value."""
        return self.channel.start(tool, arguments).result()

    def forget(self):
        """Drop what was learnt about programs that are gone."""
        self.parallel.clear()
        self._known.clear()

    def _is_parallel(self, frame):
        depth = 0
        while frame is not None and not frame.f_code.co_filename.startswith(AGENT):
            frame, depth = frame.f_back, depth + 1
            if depth > 8:
                return False
        if frame is None or not self.parallel.get(frame.f_code.co_filename):
            return False
        key = (frame.f_code, frame.f_lasti)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._look_up(frame)
        return known

    def _look_up(self, frame):
        for index, (_, end_line, _, end_column) in enumerate(frame.f_code.co_positions()):
            if index == frame.f_lasti // 2:
                return (end_line, end_column) in self.parallel[frame.f_code.co_filename]
        return False


CALLS = Calls()


class ToolFunction:
    """``crm.find``: call it with keyword arguments, or by position in the order of the tool's schema."""

    def __init__(self, key):
        self.__name__ = key.rpartition(".")[2]
        self.__qualname__ = self.key = key
        self.__doc__ = f"Call the tool {key}."

    def __call__(self, *positional, **arguments):
        return CALLS.call(self.key, arguments, positional)

    def __repr__(self):
        return f"<tool {self.key}>"


class ServerModule(types.ModuleType):
    """``servers.crm``: every attribute is a tool; the host knows which exist."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        tool = ToolFunction(f"{self.__name__.removeprefix('servers.')}.{name}")
        setattr(self, name, tool)
        return tool


class ServersPackage(types.ModuleType):
    """``servers``: every attribute is a server."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return importlib.import_module(f"servers.{name}")


class _Loader(importlib.abc.Loader):
    def __init__(self, kind):
        self.kind = kind

    def create_module(self, spec):
        return self.kind(spec.name)

    def exec_module(self, module):
        pass


class LazyModule(types.ModuleType):
    """A module of ours that few programs use: compiled in the template, made when something of it is first asked for."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = types.ModuleType
        self.CALLS = CALLS
        exec(_LAZY[self.__name__], vars(self))
        return getattr(self, name)


_LAZY = {}  # module name -> code; children cannot read our files


class _SkillLoader(importlib.abc.Loader):
    def create_module(self, spec):
        return sys.modules["skills"].load_module(spec.name.partition(".")[2])

    def exec_module(self, module):
        pass


class Finder(importlib.abc.MetaPathFinder):
    """Answers for ``servers`` and below when no typed module did."""

    def find_spec(self, name, path=None, target=None):
        if name == "servers":
            return importlib.machinery.ModuleSpec(name, _Loader(ServersPackage), is_package=True)
        if name.startswith("servers.") and name.count(".") == 1:
            return importlib.machinery.ModuleSpec(name, _Loader(ServerModule))
        if name.startswith("skills.") and name.count(".") == 1:
            return importlib.machinery.ModuleSpec(name, _SkillLoader())
        return None


def call_mcp_tool(name, arguments=None, /, **more):
    """Call the tool ``name`` (``"server.tool"``) with a dict of arguments, or with keyword arguments."""
    return CALLS.call(name, {**(arguments or {}), **more})


def search_tools(query, detail_level="full", limit=5, server=None, budget_tokens=1200):
    """The best tools for ``query``, as text: imports, signatures, docs. Less ``detail_level``: with_description, name_only."""
    asked = {"query": query, "detail_level": detail_level, "limit": limit, "server": server, "budget_tokens": budget_tokens}
    return CALLS.call("gristmill.search_tools", asked)


def list_servers():
    """Every server: a list of ``{"name", "tools"}``."""
    return CALLS.call("gristmill.list_servers", {})


def list_tools(server):
    """The tools of one server: a list of ``{"key", "description"}``."""
    return CALLS.call("gristmill.list_tools", {"server": server})


def describe(keys, language="python"):
    """Everything about the tool or the tools of these keys (``"server.tool"``), as source to read."""
    return CALLS.call("gristmill.describe", {"keys": keys, "language": language})


_typed = TypedFinder()


def use_modules(folder):
    """Import tools from the typed modules in ``folder``; a session whose catalogue has changed imports them anew."""
    if folder == _typed.folder:
        return
    if _typed.folder in sys.path:
        sys.path.remove(_typed.folder)
    _typed.folder = folder
    if "servers" in sys.modules:  # only then: a look at every module's name makes a hundred pages the child's own
        for name in [name for name in sys.modules if name.partition(".")[0] == "servers"]:
            del sys.modules[name]
    if folder is not None:
        sys.path.insert(0, folder)
        sys.path_importer_cache.pop(folder, None)


def typed_modules():
    """Where the typed modules lie, if there are some."""
    return _typed.folder


def install():
    """Make the modules importable."""
    sys.meta_path.insert(0, _typed)
    sys.meta_path.append(Finder())
    client = types.ModuleType("mcp_client", "Call tools by name.")
    client.call_mcp_tool = call_mcp_tool
    client.ToolError = ToolError
    discovery = types.ModuleType("tool_discovery", "Find tools.")
    for question in (search_tools, list_servers, list_tools, describe):
        setattr(discovery, question.__name__, question)
    sys.modules.update(mcp_client=client, tool_discovery=discovery)
    for name in ("session", "skills"):
        with open(f"{_HERE}/{name}_module.py", encoding="utf-8") as file:
            _LAZY[name] = compile(file.read(), f"{_HERE}/{name}_module.py", "exec", dont_inherit=True)
        sys.modules[name] = LazyModule(name)
    sys.modules["skills"].__path__ = ()
