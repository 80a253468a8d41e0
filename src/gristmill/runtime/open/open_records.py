"""Opens the configured store and the audit in it, without starting sandboxes or servers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import quote

from gristmill.config.sections.servers_section import SECRET_REFERENCE
from gristmill.config.tree import Config
from gristmill.errors import NotFound, StoreUnavailable
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditFilter, AuditTree, AuditVerified
from gristmill.ledger.ledger_keys import load_key
from gristmill.runtime.open.open_secrets import open_secret_references
from gristmill.runtime.open.state_folders import check_state_folder
from gristmill.store.base import Store
from gristmill.store.clock_guard import ClockGuard, trust_clock
from gristmill.store.database import Database
from gristmill.store.open_store import FILE_NAME, open_store
from gristmill.store.schema.migrations import MIGRATIONS
from gristmill.store.schema.store_version import StoreVersion
from gristmill.upstream.secret_references import SecretReferences

__all__ = [
    "NEWEST_VERSION",
    "Audit",
    "AuditEntry",
    "AuditFilter",
    "AuditTree",
    "AuditVerified",
    "find_clock_problem",
    "load_ledger_key",
    "open_config_store",
    "open_records",
    "open_written_audit",
    "read_store_version",
    "trust_clock",
]

NEWEST_VERSION = MIGRATIONS[-1].number
"""The version of the schema that this program brings a store to."""


@asynccontextmanager
async def open_config_store(config: Config, *, read_only: bool = False) -> AsyncGenerator[Database]:
    """Opens the store that ``config`` asks for; references in its address are resolved here.

    Raises:
        StoreUnavailable: it cannot be opened.
        ConfigError: its address or a reference in it cannot be used, or the state folder cannot be written.
    """
    settings = config.store
    if settings.url is None and not read_only:
        check_state_folder(config.state_dir)
    url = _resolve_address(settings.url, open_secret_references(config.state_dir)) if settings.url else None
    store = await open_store(config.state_dir, url=url, sync=settings.sync, read_only=read_only)
    try:
        yield store
    finally:
        await store.close()


async def find_clock_problem(store: Store) -> str | None:
    """Returns why the clock is in doubt, compared with the time that ``store`` has seen; None if it is not."""
    guard = ClockGuard(store)
    await guard.sync()
    return guard.problem


async def read_store_version(config: Config) -> StoreVersion | None:
    """Returns which version of the schema the store has, without changing it; None if there is no store yet.

    Raises:
        StoreUnavailable: it cannot be read, or is newer than this program.
        ConfigError: its address or a reference in it cannot be used.
    """
    if config.store.url is None and not (config.state_dir / FILE_NAME).exists():
        return None
    async with open_config_store(config, read_only=True) as store:
        return await store.read_version()


def load_ledger_key(config: Config, *, make: bool = True) -> bytes:
    """Returns the key that seals and signs records.

    Raises:
        ConfigError: the key is too short or missing, or others can read it.
    """
    if make:
        check_state_folder(config.state_dir)
    configured = open_secret_references(config.state_dir).resolve(config.store.key) if config.store.key else None
    return load_key(config.state_dir, configured, make=make)


@asynccontextmanager
async def open_records(config: Config) -> AsyncGenerator[Audit]:
    """Opens the audit for reading; nothing is created or written.

    Raises:
        NotFound: nothing has been recorded yet.
        StoreUnavailable: the store cannot be read.
        ConfigError: the key that signed the records is missing.
    """
    if config.store.url is None and not (config.state_dir / FILE_NAME).exists():
        raise _build_not_found(config)
    async with open_config_store(config, read_only=True) as store:
        try:
            await store.read("SELECT 1 FROM audit_anchors LIMIT 1")
        except StoreUnavailable:
            raise _build_not_found(config) from None
        yield Audit(store, load_ledger_key(config, make=False), config.state_dir)


@asynccontextmanager
async def open_written_audit(config: Config, store: Store) -> AsyncGenerator[Audit]:
    """Opens the audit of an open store for writing; what was recorded is stored before it closes.

    Raises:
        ConfigError: the key of the store cannot be used.
    """
    audit = Audit(store, load_ledger_key(config), config.state_dir)
    try:
        yield audit
    finally:
        await audit.close()


def _build_not_found(config: Config) -> NotFound:
    place = "the database of store.url" if config.store.url else str(config.state_dir)
    return NotFound(f"nothing has been recorded in {place} yet")


def _resolve_address(url: str, secrets: SecretReferences) -> str:
    """Resolves the references in an address. A value within the address is escaped; one that is the whole address is not."""
    if SECRET_REFERENCE.fullmatch(url):
        return secrets.resolve(url)
    return SECRET_REFERENCE.sub(lambda found: quote(secrets.resolve(found[0]), safe=""), url)
