"""The checks of ``gristmill doctor`` other than the sandbox: the configuration, the state folder, the store, each server."""

import asyncio
import re
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from gristmill.config.sources import DEFAULT_FILE, find_user_file
from gristmill.config.tree import Config, load_config
from gristmill.errors import ConfigError, Error
from gristmill.runtime.open.open_records import (
    NEWEST_VERSION,
    find_clock_problem,
    load_ledger_key,
    open_config_store,
    read_store_version,
)
from gristmill.runtime.open.state_folders import check_state_folder
from gristmill.runtime.tools.discovery import Discovery, ServerRow
from gristmill.serve.cli.ask_discovery import ask_discovery_in_loop

STORE_SECONDS = 10.0

_REMEDIES = (
    (r"environment variable (\S+) is not set", r"export \1=... before you start Gristmill, or keep it in the keyring"),
    (r"cannot be confined|\.confine\b", "follow the message; docs/guides/servers.md says what a confined server can use"),
    (r"is not installed or not on PATH", "install it, or set `command` to its full path"),
    (r"working directory .* does not exist", "create the folder, or change `cwd`"),
    (r"gristmill login (\S+)", r"run `gristmill login \1`"),
    (r"keyring has no entry (\S+):", r"run `gristmill secrets set \1`"),
    (r"keyring", "unlock the keyring, or use an environment variable instead: ${env:NAME}"),
    (r"HTTP 40[13]|401|403", "its credentials are missing or wrong: set `headers`, or `oauth = {}` and run `gristmill login`"),
)  # fmt: skip
_PROGRAM_REMEDIES = (
    (r"not ready within|did not answer in time", "start its command by hand to see why; if it is slow, raise `connect_seconds`"),
    (r"on stdout, where only messages of MCP belong", "let the program print to stderr only; an option for stdio may be missing"),
    (r"closed the connection", "start its command by hand to see why it ends before it answers"),
)  # fmt: skip
_ADDRESS_REMEDIES = (
    (r"Name or service not known|cannot be resolved|nodename nor servname", "check the name in its `url`, and the network"),
    (r"the proxy ", "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment"),
    (r"certificate|CERTIFICATE", "if a company's own authority signed it, set SSL_CERT_FILE to its certificate"),
    (r"HTTP 404", "check the path of its `url`; many servers answer at /mcp, older ones need transport = \"sse\""),
    (r"not ready within|did not answer in time", "check that it is running; if it is slow, raise `connect_seconds`"),
    (r"closed the connection|cannot be reached|ConnectError|refused", "check its `url`, and that it is running"),
)  # fmt: skip


class DoctorFinding(Struct, frozen=True, kw_only=True):
    """The result of one check; ``fix`` says what to do if it failed, or gives a tip."""

    name: str
    ok: bool
    seen: str
    fix: str | None = None


def check_config(file: Path | None) -> tuple[DoctorFinding, Config | None]:
    """Checks that the configuration can be used; also returns it, or None if it cannot."""
    path = file or Path(DEFAULT_FILE)
    try:
        settings = load_config(file)
    except ConfigError as error:
        fix = f"correct {path}; docs/reference/config.md lists all keys"
        return DoctorFinding(name="config", ok=False, seen=error.message, fix=fix), None
    own = find_user_file()
    beside = f" over {own}" if own is not None and own.is_file() else ""
    if not path.exists() and beside:
        return DoctorFinding(name="config", ok=True, seen=f"{own}: {len(settings.servers)} servers"), settings
    if not path.exists():
        seen = f"there is no {path} here: defaults apply, without servers"
        return DoctorFinding(
            name="config", ok=True, seen=seen, fix="`gristmill init` writes one with the servers of your MCP clients"
        ), settings
    return DoctorFinding(name="config", ok=True, seen=f"{path.absolute()}{beside}: {len(settings.servers)} servers"), settings


def check_state(settings: Config) -> DoctorFinding:
    """Checks that the state folder can be written."""
    try:
        check_state_folder(settings.state_dir)
    except ConfigError as error:
        seen, _, fix = error.message.partition("): ")
        return DoctorFinding(name="state", ok=False, seen=f"{seen})", fix=fix)
    return DoctorFinding(name="state", ok=True, seen=str(settings.state_dir))


async def check_store(settings: Config) -> DoctorFinding:
    """Checks that the store opens and answers, and which version its schema has; an older store is left as it is."""
    kind = "PostgreSQL" if settings.store.url else "SQLite"
    try:
        async with asyncio.timeout(STORE_SECONDS):
            version = await read_store_version(settings)
            if version is not None and not version.is_empty and version.number < NEWEST_VERSION:
                return _describe_older_store(kind, max(version.number, 1), NEWEST_VERSION)
            async with open_config_store(settings) as store:
                await store.read("SELECT 1")
                load_ledger_key(settings)
                if (problem := await find_clock_problem(store)) is not None:
                    fix = "set the clock; if it is right, run `gristmill doctor --trust-clock`"
                    return DoctorFinding(name="clock", ok=False, seen=f"{problem}: nothing is deleted as old", fix=fix)
    except Error as error:
        fix = "follow the message, or correct [store] in the configuration"
        return DoctorFinding(name="store", ok=False, seen=f"{kind}: {error.message}", fix=fix)
    except TimeoutError:
        seen = f"{kind}: no answer within {STORE_SECONDS:g} s"
        return DoctorFinding(name="store", ok=False, seen=seen, fix="check that the database at `url` under [store] is running")
    return DoctorFinding(name="store", ok=True, seen=f"{kind} opens and answers, schema version {NEWEST_VERSION}")


def _describe_older_store(kind: str, found: int, newest: int) -> DoctorFinding:
    seen = f"{kind} opens and answers, schema version {found}; the next start brings it to version {newest}"
    tip = "make a dump before (pg_dump)" if kind == "PostgreSQL" else f"a copy is kept beside it as gristmill.db.before-{newest}"
    return DoctorFinding(name="store", ok=True, seen=seen, fix=f"stop all processes that use the store; {tip}")


async def check_servers(settings: Config, seconds: float) -> list[dict[str, Any]]:
    """Connects to each server; a server that fails is returned with a ``fix`` and its last ``output``."""

    async def look(discovery: Discovery) -> list[tuple[ServerRow, tuple[str, ...]]]:
        return [(row, () if _is_ready(row) else discovery.last_output(row.name)) for row in await discovery.servers()]

    rows = await ask_discovery_in_loop(settings, look, wait=seconds, again=True)
    return [
        {
            **to_builtins(row),
            "ok": _is_ready(row),
            "fix": None if _is_ready(row) else suggest_fix(row.error, seconds, row.kind),
            "output": list(lines),
        }
        for row, lines in rows
    ]


def _is_ready(row: ServerRow) -> bool:
    return row.state == "ready"


def suggest_fix(error: str | None, seconds: float, kind: str = "stdio") -> str:
    """Suggests what to do about a server's last error; only a program can be started by hand."""
    is_program = kind == "stdio"
    look = "start its command by hand to see what it prints" if is_program else "check its address, and that it is running"
    if error is None:
        return f"it was not ready within {seconds:g} s: wait longer with --wait, or {look}"
    for pattern, words in (*_REMEDIES, *(_PROGRAM_REMEDIES if is_program else _ADDRESS_REMEDIES)):
        if found := re.search(pattern, error):
            return found.expand(words)
    return "correct `python`, or the module that it names" if kind == "python" else look
