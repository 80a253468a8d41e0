"""Finds the servers that the clients of a machine have: reads every file, merges duplicates, makes names unique."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gristmill.config.atomic_write import read_bytes, resolve_file
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ConfigError
from gristmill.mcp_configs.client_places import Machine, McpClient, Scope, list_clients
from gristmill.mcp_configs.read_servers import ImportedServers, MovedSecret, read_client_config
from gristmill.mcp_configs.same_server import make_server_key


class FoundServer(Struct, frozen=True, kw_only=True):
    """One server, and the clients that have it. ``secrets`` were in plain text; ``config`` holds references instead.

    ``scopes`` says which files list it: a server that is listed only in a project's files may come from another author.
    """

    name: str
    config: ServerConfig
    secrets: tuple[MovedSecret, ...]
    clients: tuple[str, ...]
    scopes: tuple[Scope, ...] = ("user",)


class FoundFile(Struct, frozen=True, kw_only=True):
    """One file of a client: the number of its servers, or why it cannot be read."""

    client: str
    scope: Scope
    path: Path
    servers: int = 0
    problem: str | None = None


class ServerSurvey(Struct, frozen=True, kw_only=True):
    """All files and servers that were found, and what was left out."""

    files: tuple[FoundFile, ...]
    servers: tuple[FoundServer, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What was carried over differently, and which entries are the same server."""

    def pick(self, names: frozenset[str]) -> ImportedServers:
        """Returns the named servers as one import."""
        picked = [server for server in self.servers if server.name in names]
        return ImportedServers(
            servers={server.name: server.config for server in picked},
            secrets=tuple(secret for server in picked for secret in server.secrets),
            skipped=self.skipped,
            notes=self.notes,
        )


def survey_servers(machine: Machine) -> ServerSurvey:
    """Reads the files of every client; a file that cannot be read is reported and does not hide the others."""
    files: list[FoundFile] = []
    skipped: list[str] = []
    notes: list[str] = []
    found: dict[str, FoundServer] = {}
    for client, scope, path in _list_files(machine):
        try:
            imported = _read_file(path, scope, machine)
        except ConfigError as error:
            files.append(FoundFile(client=client.name, scope=scope, path=path, problem=error.message))
            continue
        if imported is None:
            continue
        files.append(FoundFile(client=client.name, scope=scope, path=path, servers=len(imported.servers)))
        skipped += [f"{reason} ({client.title})" for reason in imported.skipped]
        notes += [f"{note} ({client.title})" for note in imported.notes]
        for server in _list_servers(imported, client.name, scope):
            if (note := _add_server(found, server)) is not None:
                notes.append(f"{note} ({client.title})")
    return ServerSurvey(
        files=tuple(files),
        servers=tuple(found.values()),
        skipped=tuple(dict.fromkeys(skipped)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _list_files(machine: Machine) -> Iterator[tuple[McpClient, Scope, Path]]:
    for client in list_clients(machine).values():
        yield client, "user", client.user
        if client.project is not None:
            yield client, "project", client.project
        for path in client.also:
            yield client, "user", path


def _read_file(path: Path, scope: Scope, machine: Machine) -> ImportedServers | None:
    content = read_bytes(resolve_file(path, within=machine.cwd if scope == "project" else None))
    if content is None:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None
    return read_client_config(text, file=path.name, project=str(machine.cwd), may_be_empty=True)


def _list_servers(imported: ImportedServers, client: str, scope: Scope) -> Iterator[FoundServer]:
    for name, config in imported.servers.items():
        mine = tuple(secret for secret in imported.secrets if _is_secret_of(secret, name, imported.servers))
        yield FoundServer(name=name, config=config, secrets=mine, clients=(client,), scopes=(scope,))


def _is_secret_of(secret: MovedSecret, name: str, servers: Mapping[str, ServerConfig]) -> bool:
    return max((each for each in servers if secret.name.startswith(f"{each}.")), key=len) == name


def _add_server(found: dict[str, FoundServer], new: FoundServer) -> str | None:
    """Adds a server, or merges it with the same one of another client; returns a sentence if that one is spelled differently.

    A different server of the same name gets the client's name too. Names that differ only in their case count as the same.
    """
    key = make_server_key(new.config, new.secrets)
    for known in found.values():
        if make_server_key(known.config, known.secrets) == key:
            found[known.name] = _merge_servers(known, new)
            is_spelled_same = known.name == new.name and known.config == new.config
            return (
                None
                if is_spelled_same
                else f"{new.name} is the same server as {known.name} of {known.clients[0]}: it was taken once"
            )
    taken = {name.casefold() for name in found}
    for number in range(1, 100):
        suffix = ["", f"_{new.clients[0].replace('-', '_')}", f"_{number}"][min(number - 1, 2)]
        candidate = _rename_server(new, f"{new.name[:40]}{suffix}")
        if candidate.name.casefold() not in taken:
            found[candidate.name] = candidate
            return None
    return f"{new.name} was left out: there are too many servers of that name"


def _merge_servers(known: FoundServer, new: FoundServer) -> FoundServer:
    """Returns one server with the clients of both. The user's own spelling wins: a project's file may name another program."""
    better = _rename_server(new, known.name) if "user" in new.scopes and "user" not in known.scopes else known
    clients = tuple(dict.fromkeys((*known.clients, *new.clients)))
    return replace(better, clients=clients, scopes=tuple(dict.fromkeys((*known.scopes, *new.scopes))))


def _rename_server(server: FoundServer, name: str) -> FoundServer:
    if name == server.name:
        return server
    old, new = f"${{keyring:gristmill/{server.name}.", f"${{keyring:gristmill/{name}."
    text = json.dumps(server.config.model_dump(mode="json", exclude_unset=True)).replace(old, new)
    secrets = tuple(dataclasses.replace(secret, name=name + secret.name.removeprefix(server.name)) for secret in server.secrets)
    return replace(server, name=name, config=ServerConfig.model_validate_json(text), secrets=secrets)
