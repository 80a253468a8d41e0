"""Verified callers and the register of access tokens. Tokens are kept as digests only; the id of a token alone proves nothing."""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import cast, get_args

from msgspec import Struct

from gristmill.config.sections.serve_section import Scope
from gristmill.errors import NotFound, Refused, StoreUnavailable, Unauthorized
from gristmill.model import LOCAL, Identity
from gristmill.store.base import Row, Store

SCOPES: tuple[Scope, ...] = get_args(Scope)
TOKEN_PREFIX = "gm"  # noqa: S105 - no secret
ENVIRONMENT_TOKEN_ID = "env"  # noqa: S105 - no secret
"""The token id of the token that was given in the environment (``GRISTMILL_TOKEN``)."""
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Valid names of callers and tenants: no character that could be read as a separator, a path or markup."""
CACHE_SECONDS = 1.0
"""How long a token is accepted after a lookup without asking the store again: a revoked token works at most this much longer."""
OUTAGE_SECONDS = 3_600.0
"""How long a token that was looked up before is accepted while the store cannot be reached."""
MOST_CACHED = 10_000

_COLUMNS = "id, caller, tenant, scopes, created, expires, revoked, digest"


class Principal(Struct, frozen=True, kw_only=True):
    """A verified caller: its name, tenant and scopes. ``token`` is the id of the token that it sent, if it sent one."""

    name: str
    tenant: str
    scopes: frozenset[Scope]
    token: str | None = None

    @property
    def identity(self) -> Identity:
        """The owner of what this caller makes.

        Its ``caller`` is never the same for two tenants: what is shown of callers only keeps tenants apart by it.
        """
        is_plain = self.tenant == LOCAL and "@" not in self.name
        return Identity(tenant=self.tenant, caller=self.name if is_plain else f"{self.name}@{self.tenant}")

    @property
    def is_operator(self) -> bool:
        """Whether the caller operates the whole service, and so may see what belongs to all tenants."""
        return self.tenant == LOCAL and "admin" in self.scopes

    def require_scope(self, *scopes: Scope) -> None:
        """Requires one of ``scopes``.

        Raises:
            Refused: the caller has none of them.
        """
        if not self.scopes.intersection(scopes):
            wanted = " or ".join(scopes)
            raise Refused(
                f"this needs the scope {wanted}; your scopes are {', '.join(sorted(self.scopes)) or 'none'}", rule="scope"
            )


class TokenRecord(Struct, frozen=True, kw_only=True):
    """One registered token: everything but its secret text."""

    id: str
    caller: str
    tenant: str
    scopes: tuple[Scope, ...]
    created: float
    expires: float | None
    revoked: float | None

    def is_valid(self, now: float) -> bool:
        """Whether the token is neither revoked nor expired at the time ``now``."""
        return self.revoked is None and (self.expires is None or self.expires > now)


class TokenRegister:
    """The register of tokens. A token is ``gm_ID_SECRET`` with a random secret of 256 bits; only its SHA-256 is stored."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._cache: dict[str, tuple[float, TokenRecord, bytes]] = {}

    async def create(
        self, caller: str, *, tenant: str = LOCAL, scopes: Sequence[str] = ("execute",), seconds: float | None = None
    ) -> tuple[str, TokenRecord]:
        """Creates a token; returns its text, which is not stored and cannot be shown again, and its entry in the register.

        Raises:
            Refused: the name is not valid, or a scope is unknown.
        """
        for name in (caller, tenant):
            if not NAME_PATTERN.fullmatch(name):
                raise Refused(
                    f"{name!r} is not a valid name: use letters, digits, '.', '_' and '-', at most 64", rule="token.name"
                )
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise Refused(f"there is no scope {unknown[0]!r}; the scopes are {', '.join(SCOPES)}", rule="token.scope")
        now = self._clock()
        made = TokenRecord(
            id=secrets.token_hex(6), caller=caller, tenant=tenant, scopes=tuple(scope for scope in SCOPES if scope in scopes),
            created=now, expires=None if seconds is None else now + seconds, revoked=None,
        )  # fmt: skip
        text = f"{TOKEN_PREFIX}_{made.id}_{secrets.token_urlsafe(32)}"
        row = (made.id, caller, tenant, json.dumps(made.scopes), now, made.expires, None, hash_token(text).hex())
        insert = f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own words
        await self._store.write((insert, row))
        return text, made

    async def list(self, tenant: str | None = None) -> tuple[TokenRecord, ...]:
        """Returns the tokens of ``tenant``, or of all tenants without it, the oldest first."""
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM tokens ORDER BY created, id")  # noqa: S608 - our own words
        return tuple(token for token in map(_read_row, rows) if tenant in (None, token.tenant))

    async def revoke(self, id: str) -> TokenRecord:  # noqa: A002 - the register's own word
        """Revokes a token and returns its entry.

        Raises:
            NotFound: there is no token with that id.
        """
        now = self._clock()
        await self._store.write(("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, id)))
        self._cache.pop(id, None)
        for token in await self.list():
            if token.id == id:
                return token
        raise NotFound(f"there is no token {id[:80]!r}; `gristmill tokens list` shows them")

    async def verify(self, text: str) -> Principal:
        """Returns the caller whose token this is.

        Raises:
            Unauthorized: the token is unknown, expired or revoked; the error does not say which.
        """
        prefix, _, rest = text.partition("_")
        id_ = rest.partition("_")[0]
        found = await self._find_token(id_) if prefix == TOKEN_PREFIX and len(text) <= 200 else None
        # Compared even if there is no such token, so that the time of a refusal reveals nothing.
        same = hmac.compare_digest(hash_token(text), found[1] if found else hash_token(""))
        if found is None or not same or not found[0].is_valid(self._clock()):
            raise Unauthorized("this token is unknown, expired or revoked")
        token = found[0]
        return Principal(name=token.caller, tenant=token.tenant, scopes=frozenset(token.scopes), token=token.id)

    async def _find_token(self, id_: str) -> tuple[TokenRecord, bytes] | None:
        known = self._cache.get(id_)
        now = time.monotonic()
        if known is not None and known[0] > now:
            return known[1], known[2]
        try:
            rows = await self._store.read(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", id_)  # noqa: S608 - our own words
        except StoreUnavailable:
            # Monitoring must still be able to see that the store is away; nothing can be executed or revoked meanwhile anyway.
            if known is None or now - known[0] > OUTAGE_SECONDS:
                raise
            return known[1], known[2]
        if not rows:
            return None
        if len(self._cache) >= MOST_CACHED:
            self._cache.clear()
        token, digest = _read_row(rows[0]), bytes.fromhex(str(rows[0][7]))
        self._cache[id_] = (now + CACHE_SECONDS, token, digest)
        return token, digest


def build_static_check(text: str) -> Callable[[str], Principal | None]:
    """Builds a check for one token from the environment (``GRISTMILL_TOKEN``), which works without the register of tokens.

    Its holder may execute, read and administer.

    Raises:
        Refused: the token is too short to be a secret.
    """
    if len(text) < 16:
        raise Refused("GRISTMILL_TOKEN is too short to be a secret: use at least 16 characters", rule="token.length")
    digest = hash_token(text)
    known = Principal(name="http", tenant=LOCAL, scopes=frozenset({"execute", "read", "admin"}), token=ENVIRONMENT_TOKEN_ID)
    return lambda given: known if hmac.compare_digest(hash_token(given), digest) else None


def read_bearer_token(header: str | None) -> str | None:
    """Returns the token of an ``Authorization`` header, or None if the header holds no bearer token."""
    scheme, _, text = (header or "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip() else None


def hash_token(text: str) -> bytes:
    """Returns what is stored and compared of a token, instead of the token."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _read_row(row: Row) -> TokenRecord:
    scopes = cast("list[Scope]", json.loads(str(row[3])))
    created, expires, revoked = (None if value is None else float(value) for value in row[4:7])
    return TokenRecord(
        id=str(row[0]), caller=str(row[1]), tenant=str(row[2]), scopes=tuple(scopes), created=created or 0.0, expires=expires,
        revoked=revoked,
    )  # fmt: skip
