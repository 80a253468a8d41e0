# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Reads the ways in which programs write a call: ``call_tool("pam", "get_expenses", {...})``, ``get_expenses({"userId": 7})``.

Nothing is decided here that needs a tool's schema: the host names the arguments.
"""

import functools
import json

_NAME_WORDS = ("name", "tool", "tool_name", "toolName")
_SERVER_WORDS = ("server", "server_name", "serverName")
ARGUMENT_WORDS = frozenset("arguments args params parameters input kwargs tool_input tool_args".split())
_HOW = 'write call_tool("server.tool", {"argument": value})'


def read_call(given, named):
    """Returns the tool's name and the arguments of a call by name, which was given these positional and named arguments.

    Raises:
        TypeError: it is not clear which tool is meant, or the arguments are no dictionary.
    """
    given = list(given)
    if len(given) == 1 and isinstance(given[0], dict) and not named:
        given, named = [], dict(given[0])
    server = None if given else _take_word(named, _SERVER_WORDS)
    tool = given.pop(0) if given else _take_word(named, _NAME_WORDS)
    if not isinstance(tool, str):
        raise TypeError(f"the name of the tool is missing: {_HOW}")
    if given and isinstance(given[0], str) and not given[0].lstrip().startswith("{"):
        server, tool = tool, given.pop(0)  # call_tool("pam", "get_expenses", {...})
    arguments = _read_arguments(given.pop(0)) if given else {}
    for more in given:  # the type of the result, as in call_mcp_tool(name, arguments, dict)
        if isinstance(more, dict):
            arguments = {**arguments, **more}
        elif more is not None and not isinstance(more, type | str) and not hasattr(more, "__origin__"):
            raise TypeError(f"{type(more).__name__} is no argument of a call by name: {_HOW}")
    return f"{server}.{tool}" if server else tool, {**arguments, **named}


def _take_word(named, words):
    return next((named.pop(word) for word in words if isinstance(named.get(word), str)), None)


def _read_arguments(value):
    if value is None or isinstance(value, dict):
        return value or {}
    if isinstance(value, type) or hasattr(value, "__origin__"):
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise TypeError(f"the arguments are text that is not JSON: {_HOW}") from None
        if isinstance(value, dict):
            return value
    if hasattr(value, "model_dump"):
        return value.model_dump()
    raise TypeError(f"the arguments are {type(value).__name__}, not a dictionary: {_HOW}")


def _fold(name):
    return "".join(filter(str.isalnum, name)).lower()


def accept_other_spellings(function, key, call):
    """Wraps a typed function: a call with other spellings of its arguments, or all of them in one dictionary, goes to the host.

    ``call`` makes a call by ``key``. Every other call reaches the function, which refuses wrong names as Python does.
    """
    code = function.__code__
    names = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    folded = frozenset(map(_fold, names))

    @functools.wraps(function)
    def call_tool(*positional, **arguments):
        if arguments.keys() <= names:
            if len(positional) != 1 or arguments or not isinstance(positional[0], dict):
                return function(*positional, **arguments)
        elif not ({_fold(name) for name in arguments.keys() - names} <= folded or _is_wrapped(positional, arguments)):
            return function(*positional, **arguments)
        return call(key, arguments, positional)

    return call_tool


def _is_wrapped(positional, arguments):
    return not positional and len(arguments) == 1 and not ARGUMENT_WORDS.isdisjoint(arguments)
