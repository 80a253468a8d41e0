"""What ``gristmill doctor`` looks at beside the sandbox: the configuration, the state folder, the store, each server."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.values import dataclass

if TYPE_CHECKING:
    from gristmill.config.tree import Config
    from gristmill.runtime.tools.discovery import ServerRow

STORE_SECONDS = 10.0

_REMEDIES = (
    (r"environment variable (\S+) is not set", r"export \1=... where Gristmill is started, or keep it in the keyring"),
    (r"cannot be confined|\.confine\b", "do as it says; docs/guides/servers.md tells what a confined server can use"),
    (r"is not installed or not on PATH", "install it, or write its whole path as `command`"),
    (r"working directory .* does not exist", "make the folder, or change `cwd`"),
    (r"gristmill login (\S+)", r"run `gristmill login \1`"),
    (r"not ready within|did not answer in time", "start its command by hand to see; a slow one wants a larger `connect_seconds`"),
    (r"keyring", "install `gristmill[keyring]`, or refer to the environment instead: ${env:NAME}"),
    (r"HTTP 40[13]|401|403", "its credentials are missing or wrong: see `headers`, or `oauth = {}` and `gristmill login`"),
    (r"closed the connection", "start its command by hand: it ends before it has answered"),
    (r"cannot be reached", "check its `url`, and whether it is up"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; ``fix`` says what to do when it is not well."""

    name: str
    ok: bool
    seen: str
    fix: str | None = None


def look_at_config(file: Path | None) -> "tuple[Finding, Config | None]":
    """Whether the configuration can be used, and what it says."""
    from gristmill.config.tree import DEFAULT_FILE, load_config
    from gristmill.errors import ConfigError

    path = file or Path(DEFAULT_FILE)
    try:
        settings = load_config(file)
    except ConfigError as error:
        fix = f"correct {path}; docs/reference/config.md lists every key"
        return Finding(name="config", ok=False, seen=error.message, fix=fix), None
    if not path.exists():
        seen = f"no {path} here: defaults, no servers"
        return Finding(
            name="config", ok=True, seen=seen, fix="`gristmill init` makes one from the servers of your clients"
        ), settings
    return Finding(name="config", ok=True, seen=f"{path.absolute()}: {len(settings.servers)} servers"), settings


def look_at_state(settings: "Config") -> Finding:
    """Whether we may write where state lives."""
    import tempfile

    folder = settings.state_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding(name="state", ok=True, seen=str(folder))
    except OSError as error:
        fix = "make it writable, or set another folder: `path` under [store]"
        return Finding(name="state", ok=False, seen=f"{folder}: {error.strerror}", fix=fix)


async def look_at_store(settings: "Config") -> Finding:
    """Whether the store opens, and answers."""
    import asyncio

    from gristmill.errors import Error
    from gristmill.runtime.open.open_records import ledger_key, open_config_store

    kind = "PostgreSQL" if settings.store.url else "SQLite"
    try:
        async with asyncio.timeout(STORE_SECONDS), open_config_store(settings, ()) as store:
            await store.read("SELECT 1")
            ledger_key(settings)
    except Error as error:
        return Finding(name="store", ok=False, seen=f"{kind}: {error.message}", fix="see [store] in the configuration")
    except TimeoutError:
        seen = f"{kind}: no answer within {STORE_SECONDS:g} s"
        return Finding(name="store", ok=False, seen=seen, fix="check that the database of `url` under [store] is up")
    return Finding(name="store", ok=True, seen=f"{kind} opens and answers")


async def look_at_servers(settings: "Config", seconds: float) -> list[dict[str, Any]]:
    """Each server, connected to now; one that fails with what to do about it."""
    from dataclasses import asdict

    from gristmill.serve.cli.ask_discovery import answer

    rows = await answer(settings, lambda discovery: discovery.servers(), wait=seconds, again=True)
    return [{**asdict(row), "ok": _is_well(row), "fix": None if _is_well(row) else remedy(row.error, seconds)} for row in rows]


def _is_well(row: "ServerRow") -> bool:
    return row.state == "ready"


def remedy(error: str | None, seconds: float) -> str:
    """What to do about a server's last error."""
    if error is None:
        return f"it was not ready within {seconds:g} s: wait longer with --wait, or start its command by hand to see what it does"
    for pattern, words in _REMEDIES:
        if found := re.search(pattern, error):
            return found.expand(words)
    return "start its command by hand to see what it says"
