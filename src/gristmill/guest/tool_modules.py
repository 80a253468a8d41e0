# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""The modules that programs import: ``servers``, ``mcp_client``, ``tool_discovery``. Typed modules, if any, take precedence."""

import importlib.abc
import importlib.machinery
import os
import sys
import types

from gristmill.guest.call_shapes.call_forms import accept_other_spellings as wrap_typed_function
from gristmill.guest.call_shapes.call_forms import read_call
from gristmill.guest.calls.channel import ToolError
from gristmill.guest.typed_modules import TypedFinder

_HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM_FILE_PREFIX = "<code "
"""The beginning of the file name that a caller's program gets."""


class GuestCalls:
    """Decides for each call whether it waits for its answer, by its place in the program."""

    def __init__(self):
        self.channel = None
        self.write_import = lambda name: None  # how a saved function imports a name that no program imported
        self.parallel = {}  # file name -> end positions of parallel calls
        self._parallel_by_place = {}  # (code, instruction) -> whether the call there is parallel

    def call(self, tool, arguments, positional=()):
        """Makes one call; returns its value, or a ``PendingCall`` where the program is written to continue meanwhile."""
        pending = self.channel.start(tool, arguments, positional)
        return pending if self._is_parallel(sys._getframe(2)) else pending.result()

    def call_and_wait(self, tool, arguments):
        """Makes one call and waits for its value."""
        return self.channel.start(tool, arguments).result()

    def forget_programs(self):
        """Discards what was learnt about programs that have ended."""
        self.parallel.clear()
        self._parallel_by_place.clear()

    def _is_parallel(self, frame):
        depth = 0
        while frame is not None and not frame.f_code.co_filename.startswith(PROGRAM_FILE_PREFIX):
            frame, depth = frame.f_back, depth + 1
            if depth > 8:
                return False
        if frame is None or not self.parallel.get(frame.f_code.co_filename):
            return False
        key = (frame.f_code, frame.f_lasti)
        known = self._parallel_by_place.get(key)
        if known is None:
            known = self._parallel_by_place[key] = self._ends_at_parallel_site(frame)
        return known

    def _ends_at_parallel_site(self, frame):
        for index, (_, end_line, _, end_column) in enumerate(frame.f_code.co_positions()):
            if index == frame.f_lasti // 2:
                return (end_line, end_column) in self.parallel[frame.f_code.co_filename]
        return False


CALLS = GuestCalls()


class ToolFunction:
    """One tool, such as ``crm.find``: call it with keyword arguments, or by position in the order of the tool's schema."""

    def __init__(self, key):
        self.__name__ = key.rpartition(".")[2]
        self.__qualname__ = self.key = key
        self.__doc__ = f"Call the tool {key}."

    def __call__(self, *positional, **arguments):
        return CALLS.call(self.key, arguments, positional)

    def __repr__(self):
        return f"<tool {self.key}>"


class ServerModule(types.ModuleType):
    """A module such as ``servers.crm``: every attribute is a tool; only the host knows which tools exist."""

    def __getattr__(self, name):
        if name == "__all__":
            return [name for name in map(_take_tool_name, list_tools(self.__name__.partition(".")[2])) if name.isidentifier()]
        if name.startswith("__"):
            raise AttributeError(name)
        tool = ToolFunction(f"{self.__name__.removeprefix('servers.')}.{name}")
        setattr(self, name, tool)
        return tool

    def __call__(self, *positional, **arguments):
        return CALLS.call(self.__name__.partition(".")[2], arguments, positional)  # it is a tool, and not a server


class ServersPackage(types.ModuleType):
    """The package ``servers``: every attribute is a server."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return importlib.import_module(f"servers.{name}")


class _EmptyModuleLoader(importlib.abc.Loader):
    def __init__(self, kind):
        self.kind = kind

    def create_module(self, spec):
        return self.kind(spec.name)

    def exec_module(self, module):
        pass


class LazyModule(types.ModuleType):
    """A module of ours that few programs use: compiled in the template, executed when one of its names is first used."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = types.ModuleType
        self.CALLS = CALLS
        exec(_LAZY_CODE[self.__name__], vars(self))
        return getattr(self, name)


_LAZY_CODE = {}  # module name -> code; children cannot read our files


class _SkillLoader(importlib.abc.Loader):
    def create_module(self, spec):
        return sys.modules["skills"].load_module(spec.name.partition(".")[2])

    def exec_module(self, module):
        pass


class ServersFinder(importlib.abc.MetaPathFinder):
    """Finds ``servers`` and its submodules when no typed module was found."""

    def find_spec(self, name, path=None, target=None):
        if name == "servers":
            return importlib.machinery.ModuleSpec(name, _EmptyModuleLoader(ServersPackage), is_package=True)
        if name.startswith("servers.") and name.count(".") == 1:
            return importlib.machinery.ModuleSpec(name, _EmptyModuleLoader(ServerModule))
        if name.startswith("skills.") and name.count(".") == 1:
            return importlib.machinery.ModuleSpec(name, _SkillLoader())
        return None


def call_mcp_tool(name=None, arguments=None, /, *rest, **more):
    """Calls the tool ``name`` (``"server.tool"``) with a dict of arguments, or with keyword arguments."""
    if rest or type(name) is not str or (arguments is not None and type(arguments) is not dict):
        name, arguments = read_call(
            () if name is None else (name,) if arguments is None and not rest else (name, arguments, *rest), more
        )
        return CALLS.call(name, arguments)
    return CALLS.call(name, {**(arguments or {}), **more})


class FoundTools(list):
    """The answer of a search: one dictionary per tool. It prints as the text for a model, and has the methods of that text."""

    def __init__(self, tools=(), text=""):
        super().__init__(tools)
        self.text = text

    def __repr__(self):
        return self.text

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.text, spec)

    def __contains__(self, item):
        return item in self.text if isinstance(item, str) else super().__contains__(item)

    def __add__(self, other):
        return self.text + other if isinstance(other, str) else super().__add__(other)

    def __radd__(self, other):
        return other + self.text

    def __getattr__(self, name):
        if name.startswith("_") or not hasattr(str, name):
            raise AttributeError(f"the answer of search_tools is a list of dictionaries, and has no {name!r}")
        return getattr(self.text, name)

    def __reduce__(self):
        return FoundTools, (list(self), self.text)


def search_tools(query="", detail_level="full", limit=5, server=None, budget_tokens=1200):
    """Returns the best tools for ``query`` as a list of dictionaries that prints as text: imports, signatures, docs.

    Each has ``name`` and ``server`` (``detail_level="name_only"``), also ``description`` (``"with_description"``), also
    ``input_schema``, ``output_schema`` and ``signature`` (``"full"``). An empty query lists the tools.
    """
    asked = {"query": query, "detail_level": detail_level, "limit": limit, "server": server, "budget_tokens": budget_tokens}
    found = CALLS.call_and_wait("gristmill.search_tools", asked)
    return FoundTools(found["tools"], found["text"]) if isinstance(found, dict) else FoundTools((), found)


def list_servers():
    """Returns every server: a list of ``{"name", "tools"}``."""
    return CALLS.call("gristmill.list_servers", {})


def list_tools(server):
    """Returns the tools of one server: a list of ``{"key", "description"}``."""
    return CALLS.call("gristmill.list_tools", {"server": server})


def describe(keys, language="python"):
    """Returns everything about the tool or the tools of these keys (``"server.tool"``), as source to read."""
    return CALLS.call("gristmill.describe", {"keys": keys, "language": language})


def list_categories():
    """Returns the names of the servers."""
    return [each["name"] for each in CALLS.call_and_wait("gristmill.list_servers", {})]


def list_tool_names(server):
    """Returns the names of the tools of one server."""
    return list(map(_take_tool_name, CALLS.call_and_wait("gristmill.list_tools", {"server": server})))


def _take_tool_name(tool):
    return tool["key"].partition(".")[2]


def accept_other_spellings(function, key):
    """Wraps a function of a typed module, whose tool has this key, so that other spellings of its arguments work too."""
    return wrap_typed_function(function, key, CALLS.call)


CLIENT_NAMES = {
    "call_mcp_tool": call_mcp_tool, "call_tool": call_mcp_tool, "callTool": call_mcp_tool, "callMCPTool": call_mcp_tool,
    "callMcpTool": call_mcp_tool,
}  # fmt: skip
"""The names under which programs import the function that calls a tool by name."""
DISCOVERY_NAMES = {
    "search_tools": search_tools, "searchTools": search_tools, "list_servers": list_servers, "listServers": list_servers,
    "list_tools": list_tools, "describe": describe, "list_categories": list_categories, "listCategories": list_categories,
    "listTools": list_tool_names,
}  # fmt: skip
"""The names under which programs import the questions about tools."""
_typed = TypedFinder()


def use_modules(folder):
    """Imports tools from the typed modules in ``folder``; a session whose catalogue has changed imports them again."""
    if folder == _typed.folder:
        return
    if _typed.folder in sys.path:
        sys.path.remove(_typed.folder)
    _typed.folder = folder
    if "servers" in sys.modules:  # only then: reading every module's name would make the child copy a hundred memory pages
        for name in [name for name in sys.modules if name.partition(".")[0] == "servers"]:
            del sys.modules[name]
    if folder is not None:
        sys.path.insert(0, folder)
        sys.path_importer_cache.pop(folder, None)


def get_typed_folder():
    """Returns the folder of the typed modules, or None."""
    return _typed.folder


def install_modules():
    """Makes the modules importable."""
    sys.meta_path.insert(0, _typed)
    sys.meta_path.append(ServersFinder())
    client = types.ModuleType("mcp_client", "Call tools by name.")
    vars(client).update(CLIENT_NAMES | DISCOVERY_NAMES, ToolError=ToolError, _accept_other_spellings=accept_other_spellings)
    client.ToolFailed = ToolError
    discovery = types.ModuleType("tool_discovery", "Find tools.")
    vars(discovery).update(DISCOVERY_NAMES | CLIENT_NAMES)
    sys.modules.update(mcp_client=client, tool_discovery=discovery)
    for name in ("session", "skills"):
        with open(f"{_HERE}/{name}_module.py", encoding="utf-8") as file:
            _LAZY_CODE[name] = compile(file.read(), f"{_HERE}/{name}_module.py", "exec", dont_inherit=True)
        sys.modules[name] = LazyModule(name)
    sys.modules["skills"].__path__ = ()
