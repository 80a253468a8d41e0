"""Converts server lists of other MCP clients into a `servers` section: text in, values out; no file is read or written.

Supported are Claude Desktop and Code, Cursor, VS Code, Windsurf, Codex (TOML), Gemini CLI, Zed and Goose (YAML): they
differ in the name of the list, in how a remote server is written, and in how a variable is spelled.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, cast

import json5
import yaml
from msgspec import Struct
from pydantic import ValidationError

from gristmill.config.sections.servers_section import (
    RESERVED_NAMES,
    SERVER_NAME_PATTERN,
    ServerConfig,
    looks_secret,
    names_secret,
)
from gristmill.errors import ConfigError
from gristmill.mcp_configs.argument_secrets import find_secret

SERVER_LIST_KEYS = ("mcpServers", "servers", "context_servers", "mcp_servers", "extensions")
"""The keys under which clients keep their list, in the order in which they are tried."""

MAX_BYTES = 4_000_000
"""A larger file is not a client configuration; parsing it would only cost time."""

MOST_IN_ONE_WORD = 5
"""How many secrets one argument or address may hold."""

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(:-[^{}]*)?\}|\$([A-Za-z_]\w*)")
_FOREIGN = re.compile(r"\$\{(?!env:|keyring:)([A-Za-z]+:[^}]*)\}")
_EDITOR_VARIABLE = re.compile(
    r"\$\{(?:env:)?(workspaceFolder\w*|workspaceRoot|cwd|file[A-Z]\w*|file|relativeFile\w*|selectedText|lineNumber|execPath"
    r"|defaultBuildTask|extensionPath|CLAUDE_PLUGIN_ROOT|CLAUDE_PROJECT_DIR|projectRoot|ZED_\w+)\}"
)
"""Variables that an editor fills in anew for each folder; as variables of the environment they would be empty."""
_EDITOR_SPELLINGS = {"${userHome}": "${env:HOME}", "${pathSeparator}": "/", "${/}": "/"}
"""Variables of editors that mean the same everywhere on this machine."""
_BARE_SCHEME = re.compile(r"(?i)\s*(?:bearer|basic|token)?\s*")
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token)\s+(?=\S)")
_ALIASES = {"transport": "type", "serverUrl": "url", "httpUrl": "url", "uri": "url", "cmd": "command", "envs": "env"}
_OURS = re.compile(r"(^|[/\\@])gristmill(@\S+|==\S+)?(\.exe)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSecret:
    """A secret that was in plain text: store ``value`` in the keyring under ``service``/``name``."""

    service: str
    name: str
    value: str = field(repr=False)


class ImportedServers(Struct, frozen=True, kw_only=True):
    """The servers of a client's file. ``skipped`` says in one line each what was left out and why."""

    servers: Mapping[str, ServerConfig]
    secrets: tuple[MovedSecret, ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was carried over differently, in one line each."""


def read_client_config(
    text: str, *, file: str = "mcp.json", project: str | None = None, may_be_empty: bool = False
) -> ImportedServers:
    """Parses the content of a client's configuration file; ``project`` adds Claude Code's list for that folder.

    A file without any server list is an error, unless ``may_be_empty`` is set: many clients keep other settings in the same file.

    Raises:
        ConfigError: the text cannot be parsed, or contains no server list.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f"{file} is larger than {MAX_BYTES} bytes: not the configuration of a client")
    document = _parse_document(text, file)
    entries = dict(_list_entries(document, project))
    if not entries and not may_be_empty and not any(name in document for name in SERVER_LIST_KEYS):
        raise ConfigError(f"{file} holds no server list; looked for {', '.join(SERVER_LIST_KEYS)}")
    return _import_entries(entries)


def _parse_document(text: str, file: str) -> Mapping[str, Any]:
    if not text.strip():
        return {}
    suffix = PurePath(file).suffix.lower()
    try:
        if suffix == ".toml":
            document: Any = tomllib.loads(text)
        elif suffix in (".yaml", ".yml"):
            document = yaml.safe_load(text)
        else:
            document = _parse_json(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        # Only the type of the error: a parser quotes the text that it failed on, and that may be a secret.
        raise ConfigError(f"{file} cannot be parsed: {type(error).__name__}") from None
    if not isinstance(document, Mapping):
        raise ConfigError(f"{file} is not an object with a server list")
    return cast("Mapping[str, Any]", document)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return json5.loads(text)  # pyright: ignore[reportUnknownMemberType]  # VS Code and Zed allow comments and trailing commas


def _list_entries(document: Mapping[str, Any], project: str | None) -> Iterator[tuple[str, Any]]:
    for name in SERVER_LIST_KEYS:
        if isinstance(document.get(name), Mapping):
            yield from _as_table(document[name]).items()
            break
    local = _as_table(_as_table(document.get("projects")).get(project)) if project else {}
    yield from _as_table(local.get("mcpServers")).items()


def _as_table(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in cast("Mapping[Any, Any]", value).items()} if isinstance(value, Mapping) else {}


def _import_entries(entries: Mapping[str, Any]) -> ImportedServers:
    servers: dict[str, ServerConfig] = {}
    secrets: list[MovedSecret] = []
    skipped: list[str] = []
    notes: list[str] = []
    for title, entry in entries.items():
        name = _choose_free_name(title, servers)
        try:
            values, moved = _translate_entry(name, entry)
            empty = _drop_empty_credentials(values)
            servers[name] = ServerConfig.model_validate(values)
            secrets += moved
            notes += [
                f"{name}: the header {header} held no credential and was left out; set it under [servers.{name}.headers]"
                for header in empty
            ]
        except _SkippedError as reason:
            skipped.append(f"{title}: {reason}")
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            skipped.append(f"{title}: {'.'.join(map(str, problem['loc']))} {problem['msg']}".replace("  ", " "))
    return ImportedServers(servers=servers, secrets=tuple(secrets), skipped=tuple(skipped), notes=tuple(notes))


class _SkippedError(Exception):
    """The reason why one entry is left out."""


def _translate_entry(name: str, entry: Any) -> tuple[dict[str, Any], list[MovedSecret]]:
    if not isinstance(entry, Mapping):
        raise _SkippedError("not an object")
    given = _as_table(cast("Any", entry))
    raw = {_ALIASES.get(key, key): value for key, value in given.items()}
    if raw.get("type") in ("builtin", "platform", "frontend", "inline_python"):
        raise _SkippedError(f"a built-in extension of that client ({raw['type']})")
    _refuse_gristmill(raw)
    values = _translate_remote(raw, given) if raw.get("url") else _translate_local(raw)
    values |= _translate_shared(raw)
    if (editor := _EDITOR_VARIABLE.search(json.dumps(values))) is not None:
        raise _SkippedError(f"only that client can fill in ${{{editor[1]}}}: write the path of the folder in its place")
    foreign = _FOREIGN.search(json.dumps(values))
    if foreign:
        raise _SkippedError(f"only that client can fill in ${{{foreign[1]}}}; write ${{env:NAME}} instead")
    return _move_secrets(name, values)


def is_gristmill(word: str) -> bool:
    """Returns whether a word of a command is Gristmill itself."""
    return _OURS.search(word) is not None


def _refuse_gristmill(raw: Mapping[str, Any]) -> None:
    # Importing the entry that starts Gristmill would make it its own upstream, endlessly.
    words = [str(raw.get("command", "")), *map(str, raw.get("args") or ())]
    if any(is_gristmill(word) for word in words):
        raise _SkippedError("this is Gristmill itself")


def _translate_local(raw: Mapping[str, Any]) -> dict[str, Any]:
    nested = _as_table(raw.get("command"))
    if nested:  # older Zed: {"command": {"path": ..., "args": ..., "env": ...}}
        raw = {**raw, "command": nested.get("path"), "args": nested.get("args"), "env": nested.get("env")}
    if not raw.get("command"):
        raise _SkippedError("neither a command nor an address")
    env = {key: _rewrite_variables(str(value)) for key, value in _as_table(raw.get("env")).items()}
    # Codex and Goose name variables whose values they take from elsewhere.
    env |= {str(name): f"${{env:{name}}}" for name in (*(raw.get("env_vars") or ()), *(raw.get("env_keys") or ()))}
    args = tuple(_rewrite_variables(str(word)) for word in raw.get("args") or ())
    return {"command": _rewrite_variables(str(raw["command"])), "args": args, "env": env, "cwd": raw.get("cwd") or None}


def _translate_remote(raw: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    given = _as_table(raw.get("headers")) or _as_table(raw.get("http_headers"))
    headers = {key: _rewrite_variables(str(value)) for key, value in given.items()}
    headers |= {key: f"${{env:{name}}}" for key, name in _as_table(raw.get("env_http_headers")).items()}
    if raw.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{env:{raw['bearer_token_env_var']}}}"
    url = _rewrite_variables(str(raw["url"]))
    # Gemini's bare `url` once meant SSE, but its own CLI writes a type today; only an address that ends in /sse still means it.
    is_sse = raw.get("type") == "sse" or (raw.get("type") is None and "httpUrl" not in entry and url.endswith("/sse"))
    values: dict[str, Any] = {"url": url, "headers": headers, "transport": "sse" if is_sse else "http"}
    return values | ({"oauth": {}} if raw.get("oauth") else {})


def _translate_shared(raw: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if raw.get("enabled") is False or raw.get("disabled") is True:
        values["enabled"] = False
    include = raw.get("enabled_tools") or raw.get("includeTools")
    exclude = raw.get("disabled_tools") or raw.get("excludeTools")
    values |= {"include": tuple(include)} if include else {}
    values |= {"exclude": tuple(exclude)} if exclude else {}
    values |= {"connect_seconds": raw["startup_timeout_sec"]} if raw.get("startup_timeout_sec") else {}
    values |= {"call_seconds": raw["tool_timeout_sec"]} if raw.get("tool_timeout_sec") else {}
    return values


def _drop_empty_credentials(values: dict[str, Any]) -> list[str]:
    """Removes headers that hold an authentication scheme and no credential; returns their names."""
    headers: dict[str, str] = values.get("headers") or {}
    empty = [name for name, value in headers.items() if names_secret(name) and _BARE_SCHEME.fullmatch(value)]
    if empty:
        values["headers"] = {name: value for name, value in headers.items() if name not in empty}
    return empty


def _rewrite_variables(text: str) -> str:
    """Rewrites every client's spelling of a variable as ``${env:NAME}``."""
    for spelling, ours in _EDITOR_SPELLINGS.items():
        text = text.replace(spelling, ours)
    return _VARIABLE.sub(lambda found: f"${{env:{found[1] or found[3]}{found[2] or ''}}}", text)


def _move_secrets(name: str, values: dict[str, Any]) -> tuple[dict[str, Any], list[MovedSecret]]:
    mover = _SecretMover(name)
    for section in ("env", "headers"):
        if section in values:
            values[section] = {key: mover.move_value(f"{section}.{key}", value) for key, value in values[section].items()}
    if "args" in values:
        before = ("", *values["args"])
        values["args"] = tuple(mover.move_word(f"args.{index}", word, before[index]) for index, word in enumerate(values["args"]))
    if "url" in values:
        values["url"] = mover.move_parts("url", values["url"])
    return values, mover.moved


class _SecretMover:
    """Replaces the secrets of one server by references, and collects them."""

    def __init__(self, server: str) -> None:
        self._server = server
        self.moved: list[MovedSecret] = []

    def move_value(self, key: str, value: str) -> str:
        """Moves the value of a variable or header if it is a secret; a scheme such as `Bearer` stays."""
        if not looks_secret(key, value) and not find_secret(value):
            return value
        scheme = _SCHEME.match(value)
        start = scheme.end() if scheme else 0
        return value[:start] + self._move(key, value[start:])

    def move_word(self, key: str, word: str, previous: str) -> str:
        """Moves what is secret in one word of a command line; ``previous`` is the word before it."""
        return self._move(key, word) if looks_secret("args", word) else self.move_parts(key, word, previous)

    def move_parts(self, key: str, word: str, previous: str = "") -> str:
        """Moves every secret within a word or an address."""
        for number in range(1, MOST_IN_ONE_WORD + 1):
            if (found := find_secret(word, previous)) is None:
                return word
            reference = self._move(key if number == 1 else f"{key}.{number}", word[slice(*found)])
            word = word[: found[0]] + reference + word[found[1] :]
        raise _SkippedError(f"{key} holds more than {MOST_IN_ONE_WORD} secrets in plain text: write references in their place")

    def _move(self, key: str, value: str) -> str:
        self.moved.append(MovedSecret(service="gristmill", name=f"{self._server}.{key}", value=value))
        return f"${{keyring:gristmill/{self._server}.{key}}}"


def _choose_free_name(title: str, taken: Mapping[str, Any]) -> str:
    name = re.sub(r"\W+", "_", title, flags=re.ASCII).strip("_")[:60] or "server"
    if not SERVER_NAME_PATTERN.fullmatch(name):
        name = f"s_{name}"[:60]
    if name in RESERVED_NAMES:
        name = f"{name}_server"
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
