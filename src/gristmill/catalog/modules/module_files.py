"""Typed modules as real files: one folder per version of the catalog, never changed once it is there."""

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

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.server_packages import server_package, servers_package
from gristmill.catalog.modules.tool_module import LearnedResult, module_source
from gristmill.model import Tool

FORMAT = "2"
"""Part of every version: raise it when the generator writes something else for the same definitions."""

_NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
_CACHE = "tools"


def write_stubs(catalog: Catalog, folder: Path, learned: Mapping[str, LearnedResult] | None = None) -> Path:
    """Write the package ``servers`` below ``folder/<version>`` and return that; an existing version is left alone."""
    known = learned or {}
    target = folder / stubs_version(catalog, known)
    if target.is_dir():
        os.utime(target)  # it is in use: old ones are removed
        return target
    (folder / _CACHE).mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        _write_tree(catalog, draft, known)
        draft.chmod(0o755)
        _publish(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def forget_stubs(folder: Path, *, keep: Collection[Path], unused_since: float = math.inf) -> None:
    """Remove the versions below ``folder`` that are not in ``keep`` and that nobody wrote or asked for since.

    A version that a jail still shows must be kept.
    """
    kept = {path.name for path in keep} | {_CACHE}
    for entry in folder.iterdir():
        if entry.name not in kept and entry.is_dir() and entry.stat().st_mtime < unused_since:
            shutil.rmtree(entry, ignore_errors=True)


def stubs_version(catalog: Catalog, learned: Mapping[str, LearnedResult]) -> str:
    """The name of the folder: what the definitions say, what was learned, and what the generator writes."""
    parts = [FORMAT, catalog.version]
    parts += [f"{key} {_learned_digest(learned[key])}" for key in sorted(learned) if key in catalog]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _write_tree(catalog: Catalog, root: Path, learned: Mapping[str, LearnedResult]) -> None:
    servers = root / "servers"
    servers.mkdir()
    _write(servers / "__init__.py", servers_package(catalog))
    for server, module in catalog.modules.items():
        package = servers / _checked(module)
        package.mkdir()
        tools = {catalog.functions[tool.key]: tool for tool in catalog.of_server(server)}
        _write(package / "__init__.py", server_package(server, tools))
        for function, tool in tools.items():
            source = _cached(root.parent / _CACHE, tool, catalog.hashes[tool.key], function, learned.get(tool.key))
            place = package / f"{_checked(function)}.py"
            os.link(source, place)
            _link_byte_code(source, place)
        _link_byte_code(None, package / "__init__.py")
    _link_byte_code(None, servers / "__init__.py")


def _cached(cache: Path, tool: Tool, definition: str, function: str, learned: LearnedResult | None) -> Path:
    """The tool's module under a name made of its content, so that a change to one tool writes one file."""
    told = f"{FORMAT}\n{definition}\n{function}\n{_learned_digest(learned) if learned else ''}"
    path = cache / f"{hashlib.sha256(told.encode()).hexdigest()}.py"
    if not path.exists():
        descriptor, draft = tempfile.mkstemp(prefix=".draft-", dir=cache)
        with os.fdopen(descriptor, "wb") as file:
            file.write(module_source(tool, function, learned).encode("utf-8"))
            os.fchmod(descriptor, 0o444)
        os.replace(draft, path)
    return path


def _link_byte_code(source: Path | None, place: Path) -> None:
    """Byte code next to the source, since the jail sees both read-only; made once for each cached module."""
    target = Path(importlib.util.cache_from_source(str(place)))
    target.parent.mkdir(exist_ok=True)
    made = source.with_suffix(f".{sys.implementation.cache_tag}.pyc") if source else target
    if not made.exists():
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        # Under a name of its own: code in the jail can read these files, and our folders are none of its business.
        py_compile.compile(str(source or place), cfile=str(made), dfile=place.name, doraise=True, quiet=2, invalidation_mode=mode)
    if source:
        os.link(made, target)


def _learned_digest(learned: LearnedResult) -> str:
    return hashlib.sha256(repr((learned.calls, learned.schema)).encode("utf-8", "surrogatepass")).hexdigest()


def _write(path: Path, source: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        file.write(source.encode("utf-8"))


def _checked(part: str) -> str:
    # Names are made safe in naming.py; this is the wall behind it, right where a name becomes a path.
    if not _NAME.fullmatch(part):
        raise ValueError(f"{part!r} cannot be a file name")
    return part


def _publish(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError:
        # Another process published the same version first; it is the same content.
        if not target.is_dir():
            raise
