"""Merges another client's servers into Gristmill's configuration file: comments and order stay, secrets are not copied."""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import tomlkit
from msgspec import Struct
from tomlkit.exceptions import TOMLKitError

from gristmill.config.atomic_write import write_file_atomically
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import load_config
from gristmill.errors import ConfigError
from gristmill.mcp_configs.add_settings import add_settings
from gristmill.mcp_configs.read_servers import ImportedServers, MovedSecret, read_client_config

REFERENCE_TEXT = re.compile(r"\$\{env:([A-Za-z_]\w*)")


class UncopiedSecret(Struct, frozen=True, kw_only=True):
    """A secret that was in plain text and was not copied: store it where ``reference`` points."""

    server: str
    key: str
    reference: str

    def explain(self, *, stored: bool) -> str:
        """Says in a sentence where the secret is, or is to be put."""
        kind, _, name = self.reference.strip("${}").partition(":")
        if kind == "keyring" and stored:
            return f"{self.server}: {self.key} was a secret in plain text and is stored as {name}"
        how = f"export {name}=..." if kind == "env" else f"gristmill secrets set {name}"
        return f"{self.server}: {self.key} was a secret in plain text and was not copied: {how}"


def find_stored(secrets: Sequence[MovedSecret], done: "MergedImport") -> tuple[MovedSecret, ...]:
    """Returns the secrets that the written configuration expects in the keyring."""
    expected = {secret.reference for secret in done.secrets}
    return tuple(secret for secret in secrets if f"${{keyring:{secret.service}/{secret.name}}}" in expected)


class MergedImport(Struct, frozen=True, kw_only=True):
    """What an import did, or would do."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    skipped: tuple[str, ...]
    secrets: tuple[UncopiedSecret, ...]
    diff: str
    notes: tuple[str, ...] = ()

    def lines(self, *, stored: bool = False) -> list[str]:
        """Returns everything in words, one line each; ``stored`` says that secrets for the keyring have been stored."""
        lines = [f"added {name}" for name in self.added] + [f"replaced {name}" for name in self.replaced]
        lines += list(self.notes)
        lines += [f"left out {reason}" for reason in self.skipped] + [secret.explain(stored=stored) for secret in self.secrets]
        return lines or ["there was nothing to import"]


def import_client_file(
    source: Path, target: Path, *, project: str | None = None, replace: bool = False, keyring: bool = False, write: bool = True
) -> MergedImport:
    """Merges the servers of a client's file into ``target``; without ``write`` only reports what would change.

    Raises:
        ConfigError: a file cannot be read or parsed, or the result would not be valid.
    """
    found = read_client_file(source, project=project)
    return merge_servers(found, target, replace=replace, keyring=keyring, write=write)


def read_client_file(source: Path, *, project: str | None = None) -> ImportedServers:
    """Reads the servers of a client's file.

    Raises:
        ConfigError: it cannot be read or parsed.
    """
    return read_client_config(_read_file(source), file=source.name, project=project)


def merge_servers(
    found: ImportedServers,
    target: Path,
    *,
    replace: bool = False,
    keyring: bool = False,
    write: bool = True,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> MergedImport:
    """Merges servers of one or several clients into ``target``; without ``write`` only reports what would change.

    ``settings`` are further keys by their section: a key that the file sets stays as it is, a list gets what it lacks.

    Raises:
        ConfigError: ``target`` cannot be read or parsed, or the result would not be valid.
    """
    before = _read_file(target) if target.exists() else ""
    document = _parse_toml(before, target)
    servers: Any = document.setdefault("servers", tomlkit.table(is_super_table=True))
    taken = [name for name in found.servers if name in servers and not replace]
    replaced = tuple(name for name in found.servers if name in servers and replace)
    moved = [secret for secret in found.secrets if _find_server(secret, found) not in taken]
    others = tomlkit.dumps({name: table for name, table in servers.items() if name not in replaced})
    secrets = _choose_references(moved, others, keyring=keyring)
    for name, config in found.servers.items():
        table = _build_table(config, secrets)
        # A server that is already the same is left as it is, with its comments and blank lines.
        if name not in taken and not (name in servers and servers[name].unwrap() == table.unwrap()):
            servers[name] = table
    has_settings = add_settings(document, settings or {})
    after = tomlkit.dumps(document) if has_settings or len(found.servers) > len(taken) else before
    if write and after != before:
        # For the owner alone: arguments may hold what no rule recognises as a secret.
        write_file_atomically(target, after.encode(), check=load_config)
    return MergedImport(
        added=tuple(name for name in found.servers if name not in taken and name not in replaced),
        replaced=replaced,
        skipped=(*found.skipped, *(f"{name}: there is a server of that name already; --replace overwrites it" for name in taken)),
        secrets=tuple(
            UncopiedSecret(server=_find_server(secret, found), key=_find_key(secret, found), reference=reference)
            for secret, reference in secrets.items()
        ),
        notes=found.notes,
        diff="".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), str(target), str(target))),
    )


def _build_table(config: ServerConfig, secrets: Mapping[MovedSecret, str]) -> Any:
    table = tomlkit.table()
    for key, value in config.model_dump(mode="json", exclude_defaults=True).items():
        table[key] = _insert_references(value, secrets)
    if config.oauth is not None and "oauth" not in table:
        table["oauth"] = tomlkit.inline_table()
    return table


def _insert_references(value: Any, secrets: Mapping[MovedSecret, str]) -> Any:
    """Returns the value with the chosen references; short tables on one line."""
    if isinstance(value, str):
        for secret, reference in secrets.items():
            value = value.replace(f"${{keyring:{secret.service}/{secret.name}}}", reference)
        return value
    if isinstance(value, dict):
        table: Any = tomlkit.inline_table()  # Any: the library leaves its mappings untyped
        for key, item in cast("dict[str, Any]", value).items():
            table[key] = _insert_references(item, secrets)
        return table
    return [_insert_references(item, secrets) for item in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _choose_references(secrets: Sequence[MovedSecret], others: str, *, keyring: bool) -> dict[MovedSecret, str]:
    """Chooses where each secret is to be stored; a variable that already stands for one secret is not used for another."""
    if keyring:
        return {secret: f"${{keyring:{secret.service}/{secret.name}}}" for secret in secrets}
    chosen: dict[MovedSecret, str] = {}
    meant: dict[str, str | None] = dict.fromkeys(REFERENCE_TEXT.findall(others))
    for secret in secrets:
        plain, own = _name_variable(secret), _name_variable(secret, own=True)
        name = plain if meant.get(plain, secret.value) == secret.value else own
        meant[name] = secret.value
        chosen[secret] = f"${{env:{name}}}"
    return chosen


def _name_variable(secret: MovedSecret, *, own: bool = False) -> str:
    server, _, key = secret.name.partition(".")
    section, _, name = key.partition(".")
    if own and section == "env":
        return re.sub(r"[^A-Za-z0-9]+", "_", f"{server}_{name}").upper()
    # A variable that the client's entry set already has a good name; others are named after their server.
    plain = name if section == "env" else f"{server}_{name if section == 'headers' else key}"
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).upper() if section != "env" else plain


def _find_server(secret: MovedSecret, found: ImportedServers) -> str:
    return max((name for name in found.servers if secret.name.startswith(f"{name}.")), key=len)


def _find_key(secret: MovedSecret, found: ImportedServers) -> str:
    return secret.name.removeprefix(f"{_find_server(secret, found)}.")


def _read_file(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not text'}") from None


def _parse_toml(text: str, path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
