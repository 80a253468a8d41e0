# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""``from skills import save, clean_rows``: functions kept for later. Loaded by ``tool_modules.py`` when it is first used.

The host stores the sources and never runs them; here they are tested before they are saved, and run when they are imported.
"""

import ast
import builtins
import inspect
import linecache
import symtable
import sys
import textwrap
import types

CALLS = CALLS  # noqa: F821  # pyright: ignore[reportUndefinedVariable] - set by ``LazyModule``, which loads this file
LITERAL = (str, bytes, int, float, bool, complex, type(None), list, tuple, dict, set, frozenset)

MOST_NAME = 64
"""The length of the longest name that the host accepts for a skill."""


def save(function, requires=None, tests=None, level="session"):
    """Keeps ``function`` under its name; returns a line about it. It needs a docstring.

    ``requires`` names the tools it calls; ``tests`` is code with asserts, run now. ``level`` says who finds it: this "session",
    this "user" in all sessions, or everybody ("shared", where that is allowed). What it uses of the program is saved with it: the
    line names the values among that.
    """
    if not isinstance(function, types.FunctionType):
        raise TypeError("save() takes a function defined with def")
    source, values = portable_source(function)
    name = function.__name__
    module = _make_module(name, source, "draft")
    if not (inspect.getdoc(getattr(module, name)) or "").strip():
        raise ValueError(f"{name} has no docstring: say what it does, so that it can be found")
    if tests is not None:
        scope = vars(module)
        exec(compile(textwrap.dedent(tests), f"<tests of {name}>", "exec"), scope)
    asked = {"name": name, "source": source, "tests": tests, "requires": requires, "level": level, "tested": tests is not None}
    saved = CALLS.call_and_wait("gristmill.skill_save", asked)
    _forget_skill(name)
    kept = f", with the present values of {', '.join(values)}" if values else ""
    return f"saved skills.{name} version {saved['version']} (level {level}){kept}; later: from skills import {name}"


def list():
    """Returns the visible skills: a list of ``{"name", "version", "level", "description", "requires", "tested"}``."""
    return CALLS.call_and_wait("gristmill.skill_list", {})


def source(name, version=None):
    """Returns the source of a skill, to read."""
    return CALLS.call_and_wait("gristmill.skill_source", {"name": name, "version": version})["source"]


def load(name, version=None):
    """Returns the function of a skill, in any version."""
    found = CALLS.call_and_wait("gristmill.skill_source", {"name": name, "version": version})
    return getattr(_make_module(name, found["source"], f"version {found['version']}"), name)


def versions(name):
    """Returns the versions of a skill: a list of ``{"version", "hash", "created", "tested"}``."""
    return CALLS.call_and_wait("gristmill.skill_versions", {"name": name})


def delete(name, level="session"):
    """Deletes a skill of ``level`` in all its versions; returns how many there were."""
    _forget_skill(name)
    return CALLS.call_and_wait("gristmill.skill_delete", {"name": name, "level": level})


def load_module(name):
    """Loads the newest version as the module ``skills.<name>``."""
    if not name.isascii() or not name.isidentifier() or name != name.lower() or len(name) > MOST_NAME:
        raise ImportError(f"no skill can have the name {name[:80]!r}; skills.list() shows what there is")
    try:
        found = CALLS.call_and_wait("gristmill.skill_source", {"name": name, "version": None})
    except Exception as error:
        if getattr(error, "code", "") == "not_found.skill":
            raise ImportError(f"{error}; skills.list() shows what there is") from None
        raise
    return _make_module(name, found["source"], f"version {found['version']}")


def __getattr__(name):
    """Returns the function, not its module, for ``from skills import clean_rows``."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        module = load_module(name)
    except ImportError as error:
        raise AttributeError(str(error)) from None
    function = getattr(module, name)
    globals()[name] = function
    return function


class SkillModule(types.ModuleType):
    """The module ``skills.clean_rows`` after ``import skills.clean_rows``: calling it calls the function of the same name."""

    def __call__(self, *positional, **named):
        return getattr(self, self.__name__.partition(".")[2])(*positional, **named)


def _make_module(name, text, what):
    file = f"<skill {name}, {what}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = SkillModule(f"skills.{name}")
    exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    return module


def _forget_skill(name):
    sys.modules.pop(f"skills.{name}", None)
    if name not in _OWN_NAMES:
        globals().pop(name, None)


def portable_source(function):
    """Returns the function's source with what it uses of the program around it: imports, plain functions, values. The names of
    the values come second."""
    parts, seen = {}, {}
    _collect_parts(function, parts, seen)
    imports = sorted(part for kind, part in parts.values() if kind == "import")
    constants = [part for kind, part in parts.values() if kind == "constant"]
    functions = [part for kind, part in parts.values() if kind == "function"]
    blocks = ["\n".join(imports), "\n".join(constants), *functions]
    values = [name for name, (kind, _) in parts.items() if kind == "constant"]
    return "\n\n\n".join(block for block in blocks if block) + "\n", values


def _collect_parts(function, parts, seen):
    if function.__closure__:
        raise ValueError(f"{function.__name__} uses variables of the function around it: pass them as arguments")
    seen[function.__name__] = function
    text = _read_function_source(function)
    for name in _list_globals(text):
        if name in function.__globals__ and name not in parts and name not in seen:
            value = function.__globals__[name]
            if isinstance(value, types.FunctionType) and value.__code__.co_filename.startswith("<"):
                _collect_parts(value, parts, seen)
            else:
                parts[name] = _carry_value(function.__name__, name, value)
        elif name not in function.__globals__ and (line := CALLS.write_import(name)):
            parts[name] = "import", line
    parts[function.__name__] = ("function", text)


def _read_function_source(function):
    try:
        text = textwrap.dedent(inspect.getsource(function)).rstrip()
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        raise ValueError(f"the source of {function.__name__} is not known: define it with def in code that runs here") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        raise ValueError(f"{function.__name__} is not defined with def")
    return text


def _list_globals(text):
    """Lists the names that the text takes from the program around it, without builtins, in the order of use.

    A local variable may have the name of one of the program's: its value must not be saved.
    """
    used = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    outer = _find_outer_names(symtable.symtable(text, "<skill>", "exec"))
    return [name for name in dict.fromkeys(used) if name in outer and (not hasattr(builtins, name) or CALLS.write_import(name))]


def _find_outer_names(scope):
    """Finds the names that a scope and those within it read and do not bind themselves."""
    found = set()
    for symbol in scope.get_symbols():
        is_outer = symbol.is_global() or (scope.get_type() == "module" and not symbol.is_assigned())
        if is_outer and symbol.is_referenced():
            found.add(symbol.get_name())
    return found.union(*map(_find_outer_names, scope.get_children()))


def _carry_value(user, name, value):
    if isinstance(value, types.ModuleType):
        origin = value.__name__
        if origin.startswith("servers."):
            return "import", f"from servers import {origin.partition('.')[2]} as {name}"
        return "import", f"import {origin}" if origin == name else f"import {origin} as {name}"
    key = getattr(value, "key", None)
    if type(value).__name__ == "ToolFunction" and isinstance(key, str):
        server, _, tool = key.partition(".")
        return "import", f"from servers.{server} import {tool}" + (f" as {name}" if tool != name else "")
    origin, own = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    if origin and origin.startswith("servers.") and own and own.isidentifier():
        return "import", f"from servers.{origin.split('.')[1]} import {own}" + (f" as {name}" if own != name else "")
    if origin and origin != "__main__" and own and own.isidentifier() and getattr(sys.modules.get(origin), own, None) is value:
        return "import", f"from {origin} import {own}" + (f" as {name}" if own != name else "")
    if type(value) in LITERAL and len(repr(value)) <= 10_000:
        try:
            if ast.literal_eval(repr(value)) == value:
                return "constant", f"{name} = {value!r}"
        except (ValueError, SyntaxError):
            pass
    raise ValueError(
        f"{user} uses {name}, which cannot be saved with it: define it inside the function or pass it as an argument"
    )


_OWN_NAMES = frozenset(globals())
