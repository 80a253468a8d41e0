"""The store of the configuration and the audit in it, for whoever needs no more: no sandbox or server is opened."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote

from gristmill.config.sections.servers_section import REFERENCE
from gristmill.config.tree import Config
from gristmill.errors import NotFound, StoreUnavailable
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditFilter, AuditTree, Verified
from gristmill.ledger.audit.audit_rows import AUDIT_TABLES
from gristmill.ledger.ledger_keys import load_key
from gristmill.store.database import Database
from gristmill.store.open_store import FILE, open_store
from gristmill.upstream.login.system_keyring import find_keyring
from gristmill.upstream.secret_references import Secrets, no_keyring

__all__ = ["Audit", "AuditEntry", "AuditFilter", "AuditTree", "Verified", "ledger_key", "open_config_store", "open_records"]


@asynccontextmanager
async def open_config_store(config: Config, tables: Sequence[str], *, read_only: bool = False) -> AsyncGenerator[Database]:
    """The store that ``config`` asks for, with ``tables``; references in its address become values here.

    Raises:
        StoreUnavailable: it cannot be opened.
        ConfigError: its address or a reference in it cannot be used.
    """
    settings = config.store
    url = _address(settings.url) if settings.url else None
    store = await open_store(config.state_dir, tables, url=url, sync=settings.sync, read_only=read_only)
    try:
        yield store
    finally:
        await store.close()


def ledger_key(config: Config, *, make: bool = True) -> bytes:
    """The key that seals and signs records.

    Raises:
        ConfigError: it is too short or missing, or others can read it.
    """
    configured = _secrets().resolve(config.store.key) if config.store.key else None
    return load_key(config.state_dir, configured, make=make)


@asynccontextmanager
async def open_records(config: Config) -> AsyncGenerator[Audit]:
    """The audit, to look at; nothing is made or written.

    Raises:
        NotFound: nothing has been recorded yet.
        StoreUnavailable: the store cannot be read.
        ConfigError: the key that signed the records is missing.
    """
    if config.store.url is None and not (config.state_dir / FILE).exists():
        raise _nothing(config)
    async with open_config_store(config, AUDIT_TABLES, read_only=True) as store:
        try:
            await store.read("SELECT 1 FROM audit_anchors LIMIT 1")
        except StoreUnavailable:
            raise _nothing(config) from None
        yield Audit(store, ledger_key(config, make=False), config.state_dir)


def _nothing(config: Config) -> NotFound:
    place = "the database of store.url" if config.store.url else str(config.state_dir)
    return NotFound(f"nothing has been recorded in {place} yet")


def _address(url: str) -> str:
    """An address with its references resolved. A value inside it is escaped; one that is the whole of it is taken as it is."""
    secrets = _secrets()
    if REFERENCE.fullmatch(url):
        return secrets.resolve(url)
    return REFERENCE.sub(lambda found: quote(secrets.resolve(found[0]), safe=""), url)


def _secrets() -> Secrets:
    keyring = find_keyring()
    return Secrets(environ=os.environ, keyring=keyring.get if keyring else no_keyring)
