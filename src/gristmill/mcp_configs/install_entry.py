"""Puts Gristmill's entry into a client's file and removes it again: works the change out as bytes first, and only then writes.

A backup lies beside the file; its name contains a hash of the file as Gristmill left it, so a later removal knows whether the
file was changed since. If it was not, the backup is restored byte for byte; otherwise the entry is removed, and the entries that
an installation took out are put back.
"""

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import yaml
from msgspec import Struct

from gristmill.config.atomic_write import read_bytes, write_file_atomically
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.mcp_configs import edit_json, edit_toml, edit_yaml
from gristmill.mcp_configs.client_places import McpClient
from gristmill.mcp_configs.hide_secrets import find_document_secrets, hide_secrets
from gristmill.mcp_configs.our_entry import ENTRY_NAME, starts_gristmill
from gristmill.mcp_configs.read_servers import read_client_config
from gristmill.mcp_configs.replaced_entries import encode_record, name_record, read_record
from gristmill.mcp_configs.same_server import identify_server
from gristmill.mcp_configs.scan_json import UnreadableError

_EDITORS: dict[str, ModuleType] = {".toml": edit_toml, ".yaml": edit_yaml, ".yml": edit_yaml}
_BOM = b"\xef\xbb\xbf"


class FileChange(Struct, frozen=True, kw_only=True):
    """The content of a file before and after a change; None means that there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    """Written with ``original`` when installing; deleted when removing."""
    original: bytes | None = None
    """The content for the backup."""
    replaced: tuple[str, ...] = ()
    """Servers that were removed because they are served through Gristmill."""
    restored: tuple[str, ...] = ()
    """Servers that an installation had removed, and that a removal puts back."""
    record: Mapping[str, Any] | None = None
    """All entries that installations have taken out, to be kept beside the file; None leaves the record as it is."""

    @property
    def diff(self) -> str:
        """The change as a unified diff without secrets; empty if there is none."""
        old, new = (_decode_text(content or b"").splitlines(keepends=True) for content in (self.before, self.after))
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path))
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        return hide_secrets(text, _find_secrets(self.path, self.before) | _find_secrets(self.path, self.after))


def plan_install(
    client: McpClient, path: Path, entry: Mapping[str, Any], *, served: Mapping[str, ServerConfig] | None = None
) -> FileChange:
    """Works out the change that installs ``entry`` into ``path``; with ``served`` removes the client's entries for those servers.

    Raises:
        ConfigError: the file cannot be read or edited; says what to repair.
    """
    before = read_bytes(path)
    text = _decode_text(before or b"")
    is_there = before is not None and _has_entry(client, path, before)
    # An older entry of Gristmill is replaced; a later removal must still restore the file as it was before the first entry.
    original = plan_removal(client, path).after if is_there else before
    replaced = _find_served_entries(client, path, text, served or {})
    if not is_there or _run_editor(path, text, lambda edit, text: edit.get_value(text, (client.key, ENTRY_NAME))) != entry:
        text = _run_editor(path, text, lambda edit, text: edit.put_value(text, (client.key, ENTRY_NAME), dict(entry)))
    taken: dict[str, Any] = {}
    for name in replaced:
        taken[name] = _run_editor(path, text, lambda edit, text, name=name: edit.get_value(text, (client.key, name)))
        text = _run_editor(path, text, lambda edit, text, name=name: edit.remove_value(text, (client.key, name)))
    after = _encode_text(text, before)
    return FileChange(
        path=path,
        before=before,
        after=after,
        backup=None if original is None else _name_backup(path, after),
        original=original,
        replaced=replaced,
        record=read_record(path) | taken if taken else None,
    )


def plan_removal(client: McpClient, path: Path) -> FileChange:
    """Works out the change that removes Gristmill's entry from ``path``, and puts back what installations took out.

    Raises:
        ConfigError: the file cannot be read or edited.
    """
    before, record = read_bytes(path), read_record(path)
    has_entry = before is not None and _has_entry(client, path, before)
    if before is None or not (has_entry or record):
        return FileChange(path=path, before=before, after=before)
    backup = _name_backup(path, before)
    original = read_bytes(backup)
    if original is not None:
        return FileChange(path=path, before=before, after=original, backup=backup, restored=tuple(record))
    text = _decode_text(before)
    if record:
        return _plan_merge(client, path, before, record)
    entry = _run_editor(path, text, lambda edit, text: edit.get_value(text, (client.key, ENTRY_NAME)))
    made_by_us = _run_editor(path, "", lambda edit, text: edit.put_value(text, (client.key, ENTRY_NAME), entry))
    if made_by_us == text:
        return FileChange(path=path, before=before, after=None)
    after = _run_editor(path, text, lambda edit, text: edit.remove_value(text, (client.key, ENTRY_NAME)))
    return FileChange(path=path, before=before, after=_encode_text(after, before))


def _plan_merge(client: McpClient, path: Path, before: bytes, record: Mapping[str, Any]) -> FileChange:
    """Works out the removal from a file that was rewritten since: an entry that is there again stays as it is."""
    text = _run_editor(path, _decode_text(before), lambda edit, text: edit.remove_value(text, (client.key, ENTRY_NAME)))
    restored: list[str] = []
    for name, entry in record.items():
        place = (client.key, name)
        if _run_editor(path, text, lambda edit, text, place=place: edit.get_value(text, place)) is None:
            text = _run_editor(path, text, lambda edit, text, place=place, entry=entry: edit.put_value(text, place, entry))
            restored.append(name)
    return FileChange(path=path, before=before, after=_encode_text(text, before), restored=tuple(restored))


def apply_install(change: FileChange) -> None:
    """Carries out a planned installation: writes the backup and the record first, then the file.

    Raises:
        ConfigError: the files cannot be written.
    """
    assert change.after is not None
    if change.before == change.after:
        return
    earlier = _name_backup(change.path, change.before) if change.before is not None else None
    if change.backup is not None and change.original is not None:
        write_file_atomically(change.backup, change.original)
    if change.record is not None:
        write_file_atomically(name_record(change.path), encode_record(change.record))
    write_file_atomically(change.path, change.after)
    if earlier is not None and earlier != change.backup:
        earlier.unlink(missing_ok=True)  # the backup for an older entry of Gristmill, which was replaced


def apply_removal(change: FileChange) -> None:
    """Carries out a planned removal.

    Raises:
        ConfigError: the file cannot be written.
    """
    if change.before != change.after:
        if change.after is None:
            change.path.unlink(missing_ok=True)
        else:
            write_file_atomically(change.path, change.after)
    name_record(change.path).unlink(missing_ok=True)
    if change.backup is not None:
        change.backup.unlink(missing_ok=True)


def find_backups(path: Path) -> tuple[Path, ...]:
    """Returns the backups beside ``path``."""
    return tuple(sorted(path.parent.glob(f"{path.name}.gristmill-backup-*")))


def _name_backup(path: Path, installed: bytes) -> Path:
    return path.with_name(f"{path.name}.gristmill-backup-{hashlib.sha256(installed).hexdigest()[:16]}")


def _has_entry(client: McpClient, path: Path, content: bytes) -> bool:
    found = _run_editor(path, _decode_text(content), lambda edit, text: edit.get_value(text, (client.key, ENTRY_NAME)))
    if found is not None and not starts_gristmill(found):
        raise ConfigError(f"{path} has a server {ENTRY_NAME!r} that does not start Gristmill: rename it first")
    return found is not None


def _find_served_entries(client: McpClient, path: Path, text: str, served: Mapping[str, ServerConfig]) -> tuple[str, ...]:
    """Returns the client's entries that start or reach the same servers as ``served``."""
    known = {identify_server(server) for server in served.values()}
    entries = _run_editor(path, text, lambda edit, text: edit.get_value(text, (client.key,))) if known else None
    found: list[str] = []
    for name, value in cast("dict[str, Any]", entries).items() if isinstance(entries, dict) else ():
        servers = read_client_config(_wrap_entry(value), may_be_empty=True).servers.values()
        if not starts_gristmill(value) and any(identify_server(server) in known for server in servers):
            found.append(name)
    return tuple(found)


def _wrap_entry(value: Any) -> str:
    return json.dumps({"mcpServers": {"one": value}}, default=str)


def _find_secrets(path: Path, content: bytes | None) -> frozenset[str]:
    if not content:
        return frozenset()
    return find_document_secrets(_run_editor(path, _decode_text(content), lambda edit, text: edit.get_value(text, ())))


def _run_editor(path: Path, text: str, edit: Callable[[Any, str], Any]) -> Any:
    editor = _EDITORS.get(path.suffix.lower(), edit_json)
    try:
        return edit(editor, text)
    except UnreadableError as error:
        raise ConfigError(f"{path} cannot be read at {error}: repair it first; nothing was changed") from None
    except (ValueError, yaml.YAMLError) as error:
        # Only our own message, in one line: a parser quotes the text that it failed on, and that may be a secret.
        reason = str(error).splitlines()[0] if type(error) is ValueError else type(error).__name__
        raise ConfigError(f"{path} cannot be edited ({reason}): repair it first; nothing was changed") from None


def _decode_text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("the client's file is not UTF-8 text; nothing was changed") from None


def _encode_text(text: str, before: bytes | None) -> bytes:
    return (_BOM if before is not None and before.startswith(_BOM) else b"") + text.encode()
