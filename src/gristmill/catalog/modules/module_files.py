"""Writes the typed modules as files: one folder per version of the catalog, which never changes once it exists."""

import hashlib
import importlib.util
import math
import os
import py_compile
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from gristmill.atomic_file import replace_file
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.server_packages import render_server_package, render_servers_package
from gristmill.catalog.modules.tool_module import LearnedResultType, render_module
from gristmill.model import Tool

FORMAT = "3"
"""Part of every version: increase it when the generator writes something else for the same definitions."""

_NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
_CACHE = "tools"


def write_stubs(catalog: Catalog, folder: Path, learned: Mapping[str, LearnedResultType] | None = None) -> Path:
    """Writes the package ``servers`` below ``folder/<version>`` and returns that folder; an existing version is left alone."""
    known = learned or {}
    target = folder / compute_stubs_version(catalog, known)
    if target.is_dir():
        os.utime(target)  # marks it as in use: versions that are unused for long are removed
        return target
    (folder / _CACHE).mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        _write_tree(catalog, draft, known)
        draft.chmod(0o755)
        _publish_draft(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def remove_old_stubs(folder: Path, *, keep: Collection[Path], unused_since: float = math.inf) -> None:
    """Removes the versions below ``folder`` that are not in ``keep`` and were not written or requested since ``unused_since``.

    A version that a jail still shows must be in ``keep``.
    """
    kept = {path.name for path in keep} | {_CACHE}
    for entry in folder.iterdir():
        if entry.name not in kept and entry.is_dir() and entry.stat().st_mtime < unused_since:
            shutil.rmtree(entry, ignore_errors=True)


def compute_stubs_version(catalog: Catalog, learned: Mapping[str, LearnedResultType]) -> str:
    """Returns the folder's name: a hash of the definitions, the learned types and the generator's format."""
    parts = [FORMAT, catalog.version]
    parts += [f"{key} {_hash_learned(learned[key])}" for key in sorted(learned) if key in catalog]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _write_tree(catalog: Catalog, root: Path, learned: Mapping[str, LearnedResultType]) -> None:
    servers = root / "servers"
    servers.mkdir()
    _write_file(servers / "__init__.py", render_servers_package(catalog))
    for server, module in catalog.modules.items():
        package = servers / _check_file_name(module)
        package.mkdir()
        tools = {catalog.functions[tool.key]: tool for tool in catalog.tools_of_server(server)}
        _write_file(package / "__init__.py", render_server_package(server, tools))
        for function, tool in tools.items():
            source = _write_cached_module(root.parent / _CACHE, tool, catalog.hashes[tool.key], function, learned.get(tool.key))
            place = package / f"{_check_file_name(function)}.py"
            os.link(source, place)
            _link_byte_code(source, place)
        _link_byte_code(None, package / "__init__.py")
    _link_byte_code(None, servers / "__init__.py")


def _write_cached_module(cache: Path, tool: Tool, definition: str, function: str, learned: LearnedResultType | None) -> Path:
    """Returns the tool's module, under a name made from its content, so that a change to one tool writes one file."""
    content = f"{FORMAT}\n{definition}\n{function}\n{_hash_learned(learned) if learned else ''}"
    path = cache / f"{hashlib.sha256(content.encode()).hexdigest()}.py"
    if not path.exists():
        with replace_file(path) as file:
            file.write(render_module(tool, function, learned).encode("utf-8"))
            os.fchmod(file.fileno(), 0o444)
    return path


def _link_byte_code(source: Path | None, place: Path) -> None:
    """Puts byte code next to the source, because the jail sees both read-only; compiles each cached module once."""
    target = Path(importlib.util.cache_from_source(str(place)))
    target.parent.mkdir(exist_ok=True)
    made = source.with_suffix(f".{sys.implementation.cache_tag}.pyc") if source else target
    if not made.exists():
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        # Compiled under the bare file name: code in the jail can read these files and must not learn the host's folders.
        py_compile.compile(str(source or place), cfile=str(made), dfile=place.name, doraise=True, quiet=2, invalidation_mode=mode)
    if source:
        os.link(made, target)


def _hash_learned(learned: LearnedResultType) -> str:
    return hashlib.sha256(repr((learned.calls, learned.schema)).encode("utf-8", "surrogatepass")).hexdigest()


def _write_file(path: Path, source: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.encode("utf-8"))


def _check_file_name(part: str) -> str:
    # python_names.py makes names safe; this is a second check, right where a name becomes a path.
    if not _NAME.fullmatch(part):
        raise ValueError(f"{part!r} cannot be a file name")
    return part


def _publish_draft(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError:
        # Another process published the same version first, with the same content.
        if not target.is_dir():
            raise
