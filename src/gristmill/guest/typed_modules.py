# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Imports typed modules from their byte code, with one read each.

Python's own finder lists folders and checks every file before it reads one, which costs a fresh child more than a tool call does.
The place of these files is known; a module that is not found there is left to Python's finder.
"""

import __future__  # noqa: F401 - typed modules begin with this and with typing: loaded here, no child has to load them

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


class _BytecodeLoader(importlib.machinery.SourceFileLoader):
    """Loads the byte code next to the source; the folder never changes, so the two need no comparison."""

    def __init__(self, name, path, code):
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname):
        code = marshal.loads(memoryview(self._code)[_HEAD:])
        _imp._fix_co_filename(code, self.path)  # as Python's own loader does: it was compiled elsewhere
        return code


class TypedFinder:
    """Finds ``servers``, ``servers.<server>`` and ``servers.<server>.<tool>`` below one folder."""

    def __init__(self):
        self.folder = None

    def find_spec(self, name, path=None, target=None):
        """Returns the module's spec with its byte code already read, or None."""
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
        spec = importlib.machinery.ModuleSpec(name, _BytecodeLoader(name, source, code), origin=source, is_package=package)
        spec.has_location, spec.cached = True, compiled
        if package:
            spec.submodule_search_locations.append(home)
        return spec
