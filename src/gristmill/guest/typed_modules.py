# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""Typed modules, imported from their byte code by one read each.

Python's own finder lists folders and looks at every file before it reads one, which costs a fresh child more than a tool
call does. We know where these files lie; whatever is not there is left to Python's finder.
"""

import __future__  # noqa: F401 - typed modules begin with this and with typing: loaded here, no child looks for them

import _imp
import importlib.machinery
import importlib.util
import io
import marshal
import sys
import typing  # noqa: F401

_TAG = sys.implementation.cache_tag
_HEAD = 16  # a .pyc file's magic number, flags and hash
_MAGIC = importlib.util.MAGIC_NUMBER


class _Loader(importlib.machinery.SourceFileLoader):
    """Reads what was compiled next to the source; the folder never changes, so there is nothing to compare."""

    def __init__(self, name, path, code):
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname):
        code = marshal.loads(memoryview(self._code)[_HEAD:])
        _imp._fix_co_filename(code, self.path)  # as Python's own loader does: it was compiled elsewhere
        return code


class TypedFinder:
    """Answers for ``servers``, ``servers.<server>`` and ``servers.<server>.<tool>`` below one folder."""

    def __init__(self):
        self.folder = None

    def find_spec(self, name, path=None, target=None):
        """Where the module is, with its byte code read already."""
        parts = name.split(".")
        if parts[0] != "servers" or self.folder is None or len(parts) > 3:
            return None
        package = len(parts) < 3
        home = "/".join([self.folder, *(parts if package else parts[:-1])])
        own = "__init__" if package else parts[-1]
        compiled = f"{home}/__pycache__/{own}.{_TAG}.pyc"
        try:
            with io.FileIO(compiled) as file:
                code = file.readall()
        except OSError:
            return None
        if code[:4] != _MAGIC:
            return None
        source = f"{home}/{own}.py"
        spec = importlib.machinery.ModuleSpec(name, _Loader(name, source, code), origin=source, is_package=package)
        spec.has_location, spec.cached = True, compiled
        if package:
            spec.submodule_search_locations.append(home)
        return spec
