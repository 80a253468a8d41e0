# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""The tools as a tree of files: ``list_directory("servers/")``, ``read_file("servers/google-drive/getDocument.ts")``.

There are no such files in the workspace: what a program reads is written by the host. A real file of that name comes first.
"""

import builtins
import importlib
import io
import os

from gristmill.guest.tool_modules import CALLS

ROOT = "servers"
_SOURCES = {".py": "python", ".ts": "typescript", ".js": "typescript", ".pyi": "python"}
_INDEXES = frozenset({"__init__.py", "index.ts", "index.js", ".server.json", "README.md"})
_listdir, _open, _exists, _isdir, _isfile = os.listdir, open, os.path.exists, os.path.isdir, os.path.isfile


def _split_path(path):
    """Returns the parts below ``servers``, or None for another path."""
    try:
        path = os.fspath(path)
    except TypeError:
        return None
    if not isinstance(path, str):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return parts[1:] if parts[:1] == [ROOT] and len(parts) < 4 else None


def list_directory(path=ROOT):
    """Returns the names in a folder: ``servers`` holds one folder per server, and each of them one file per tool."""
    parts = _split_path(path)
    if parts is None or _exists(path):
        return sorted(_listdir(path))
    return _list_parts(parts, path)


def read_file(path, encoding="utf-8"):
    """Returns the text of a file; ``servers/<server>/<tool>.py`` (or ``.ts``) is the signature of a tool."""
    parts = _split_path(path)
    if parts is None or _exists(path):
        with _open(path, encoding=encoding) as file:
            return file.read()
    return _read_parts(parts, path)


def prefer_virtual_files(function, tool):
    """Returns a function for programs that also have a tool of this name: paths below ``servers`` are ours, others the tool's."""

    def choose(*given, **named):
        path = given[0] if given else named.get("path")
        return function(path) if len(given) + len(named) == 1 and _split_path(path) is not None else tool(*given, **named)

    return choose


def _list_parts(parts, path):
    if not parts:
        known = vars(importlib.import_module(ROOT)).get("_SERVERS")
        return sorted(known) if known else sorted(each["name"] for each in CALLS.call_and_wait("gristmill.list_servers", {}))
    if len(parts) > 1:
        raise NotADirectoryError(f"{path} is a file: read_file({path!r}) shows it")
    return sorted(f"{each['key'].partition('.')[2]}.py" for each in _list_tools(parts[0]))


def _list_tools(server):
    return CALLS.call_and_wait("gristmill.list_tools", {"server": server})


def _read_parts(parts, path):
    if len(parts) < 2 and parts[-1:] != ["__init__.py"]:
        raise IsADirectoryError(f"{path} is a folder: list_directory({path!r}) shows what is in it")
    if parts[-1] in _INDEXES:
        tools = _list_tools(parts[0]) if len(parts) > 1 else []
        return "".join(f"{each['key']}: {each['description']}\n" for each in tools) or "\n".join(list_directory(ROOT))
    name, extension = os.path.splitext(parts[1])
    language = _SOURCES.get(extension, "python")
    key = f"{parts[0]}.{name if extension in _SOURCES else parts[1]}"
    return CALLS.call_and_wait("gristmill.describe", {"keys": key, "language": language})


# -- Python's own functions -------------------------------------------------------------------------------------------------


def _listdir_too(path="."):
    try:
        return _listdir(path)
    except FileNotFoundError:
        if _split_path(path) is None:
            raise
        return list_directory(path)


def _open_too(file, mode="r", *more, **options):
    try:
        return _open(file, mode, *more, **options)
    except FileNotFoundError:
        parts = None if isinstance(file, int) or mode not in ("r", "rt", "rb") else _split_path(file)
        if parts is None:
            raise
        text = _read_parts(parts, file)
        return io.BytesIO(text.encode()) if mode == "rb" else io.StringIO(text)


def _find_parts(path):
    """Returns the parts of a path that can be listed or read here, or None."""
    parts = None if isinstance(path, int) else _split_path(path)
    try:
        if parts:
            tools = {each["key"].partition(".")[2] for each in _list_tools(parts[0])}
            known = len(parts) == 1 or os.path.splitext(parts[1])[0] in tools or parts[1] in _INDEXES
            return parts if known else None
    except Exception:  # there is no such server
        return None
    return parts


def install_virtual_files():
    """Lets ``os.listdir``, ``open`` and the like find the tree too, for programs with ``servers`` in a path."""
    os.listdir = _listdir_too
    builtins.open = io.open = _open_too
    os.path.exists = lambda path: _exists(path) or _find_parts(path) is not None
    os.path.isdir = lambda path: _isdir(path) or (not _exists(path) and _count_parts(path) in (0, 1))
    os.path.isfile = lambda path: _isfile(path) or (not _exists(path) and _count_parts(path) == 2)


def _count_parts(path):
    parts = _find_parts(path)
    return -1 if parts is None else len(parts)
