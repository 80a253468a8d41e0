"""Our entry in a client's file, put there and taken away again: worked out first, as bytes, and only then written.

A backup lies beside the file, and its name tells what the file was when we left it: so a later removal knows whether anybody
changed something since. If nobody did, the backup is put back byte for byte; else only our entry goes.
"""

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import yaml

from gristmill.config.atomic_write import read_bytes, write_whole
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.mcp_configs import edit_json, edit_toml, edit_yaml
from gristmill.mcp_configs.client_places import Client
from gristmill.mcp_configs.our_entry import NAME, starts_us
from gristmill.mcp_configs.read_servers import read_client_config
from gristmill.mcp_configs.scan_json import UnreadableError
from gristmill.values import dataclass

_EDITORS: dict[str, ModuleType] = {".toml": edit_toml, ".yaml": edit_yaml, ".yml": edit_yaml}
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file as it is and as it is to be; nothing stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    """To be written with ``before`` (installing), or to be deleted (removing)."""
    original: bytes | None = None
    """What the backup is to hold."""
    replaced: tuple[str, ...] = ()
    """Servers that were taken out because they are served through us."""

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty when there is none."""
        old, new = (_text(content or b"").splitlines(keepends=True) for content in (self.before, self.after))
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path))
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def installing(
    client: Client, path: Path, entry: Mapping[str, Any], *, served: Mapping[str, ServerConfig] | None = None
) -> Change:
    """What installing ``entry`` into ``path`` changes; with ``served`` the client's own entries for those servers go.

    Raises:
        ConfigError: the file cannot be read or edited; says what to add by hand.
    """
    before = read_bytes(path)
    text = _text(before or b"")
    is_there = before is not None and _is_there(client, path, before)
    # An older entry of ours gives way to the new one; a later removal is still to find what there was before either.
    original = removing(client, path).after if is_there else before
    replaced = _served_too(client, path, text, served or {})
    if not is_there or _edited(path, text, lambda edit, text: edit.get(text, (client.key, NAME))) != entry:
        text = _edited(path, text, lambda edit, text: edit.put(text, (client.key, NAME), dict(entry)))
    for name in replaced:
        text = _edited(path, text, lambda edit, text, name=name: edit.remove(text, (client.key, name)))
    after = _bytes(text, before)
    backup = None if original is None else _backup(path, after)
    return Change(path=path, before=before, after=after, backup=backup, original=original, replaced=replaced)


def removing(client: Client, path: Path) -> Change:
    """What taking our entry out of ``path`` changes.

    Raises:
        ConfigError: the file cannot be read or edited.
    """
    before = read_bytes(path)
    if before is None or not _is_there(client, path, before):
        return Change(path=path, before=before, after=before)
    backup = _backup(path, before)
    original = read_bytes(backup)
    if original is not None:
        return Change(path=path, before=before, after=original, backup=backup)
    text = _text(before)
    entry = _edited(path, text, lambda edit, text: edit.get(text, (client.key, NAME)))
    made_by_us = _edited(path, "", lambda edit, text: edit.put(text, (client.key, NAME), entry))
    if made_by_us == text:
        return Change(path=path, before=before, after=None)
    after = _edited(path, text, lambda edit, text: edit.remove(text, (client.key, NAME)))
    return Change(path=path, before=before, after=_bytes(after, before))


def install(change: Change) -> None:
    """Carry out what ``installing`` worked out: first the backup, then the file.

    Raises:
        ConfigError: it cannot be written.
    """
    assert change.after is not None
    if change.before == change.after:
        return
    earlier = _backup(change.path, change.before) if change.before is not None else None
    if change.backup is not None and change.original is not None:
        write_whole(change.backup, change.original)
    write_whole(change.path, change.after)
    if earlier is not None and earlier != change.backup:
        earlier.unlink(missing_ok=True)  # the backup of an older entry of ours, which is no longer there


def uninstall(change: Change) -> None:
    """Carry out what ``removing`` worked out.

    Raises:
        ConfigError: it cannot be written.
    """
    if change.before == change.after:
        return
    if change.after is None:
        change.path.unlink(missing_ok=True)
    else:
        write_whole(change.path, change.after)
    if change.backup is not None:
        change.backup.unlink(missing_ok=True)


def backups(path: Path) -> tuple[Path, ...]:
    """Backups that lie beside ``path``."""
    return tuple(sorted(path.parent.glob(f"{path.name}.gristmill-backup-*")))


def _backup(path: Path, installed: bytes) -> Path:
    return path.with_name(f"{path.name}.gristmill-backup-{hashlib.sha256(installed).hexdigest()[:16]}")


def _is_there(client: Client, path: Path, content: bytes) -> bool:
    found = _edited(path, _text(content), lambda edit, text: edit.get(text, (client.key, NAME)))
    if found is not None and not starts_us(found):
        raise ConfigError(f"{path} has a server {NAME!r} that does not start Gristmill: rename it first")
    return found is not None


def _served_too(client: Client, path: Path, text: str, served: Mapping[str, ServerConfig]) -> tuple[str, ...]:
    """Entries of the client that start or reach what ``served`` does."""
    known = {_identity(server) for server in served.values()}
    entries = _edited(path, text, lambda edit, text: edit.get(text, (client.key,))) if known else None
    found: list[str] = []
    for name, value in cast("dict[str, Any]", entries).items() if isinstance(entries, dict) else ():
        servers = read_client_config(_one(value), may_be_empty=True).servers.values()
        if not starts_us(value) and any(_identity(server) in known for server in servers):
            found.append(name)
    return tuple(found)


def _one(value: Any) -> str:
    return json.dumps({"mcpServers": {"one": value}}, default=str)


def _identity(server: ServerConfig) -> tuple[str | None, tuple[str, ...], str | None]:
    """What is started or reached; where its secrets are kept makes no other server of it."""
    return server.command, tuple("" if "${" in word else word for word in server.args), server.url


def _edited(path: Path, text: str, edit: Callable[[Any, str], Any]) -> Any:
    editor = _EDITORS.get(path.suffix.lower(), edit_json)
    try:
        return edit(editor, text)
    except UnreadableError as error:
        raise ConfigError(f"{path} cannot be read at {error}: repair it first; nothing was changed") from None
    except (ValueError, yaml.YAMLError) as error:
        # The first line only: a parser quotes what it stumbled over, and that may be a secret.
        reason = str(error).splitlines()[0] if type(error) is ValueError else type(error).__name__
        raise ConfigError(f"{path} cannot be edited ({reason}): repair it first; nothing was changed") from None


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("the client's file is not UTF-8 text; nothing was changed") from None


def _bytes(text: str, before: bytes | None) -> bytes:
    return (_BOM if before is not None and before.startswith(_BOM) else b"") + text.encode()
