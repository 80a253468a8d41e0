"""Who asks: a verified caller of a tenant with scopes. Tokens are kept as digests only; a handle alone is never proof."""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import cast, get_args

from gristmill.config.sections.serve_section import Scope
from gristmill.errors import NotFound, Refused, StoreUnavailable, Unauthorized
from gristmill.model import LOCAL
from gristmill.store.base import Row, Store
from gristmill.values import dataclass

SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "gm"
ENVIRONMENT = "env"
"""The id of a token that was given from outside."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of callers and tenants: nothing that could be taken for a separator, a path or markup."""
KNOWN_SECONDS = 1.0
"""How long a token that was looked up is taken without asking the store again: so long a revoked one lives on at most."""
AWAY_SECONDS = 3_600.0
"""So long a token that was known is taken while the store cannot be asked."""
KNOWN_MOST = 10_000

TABLES = (
    """CREATE TABLE IF NOT EXISTS tokens (
        id TEXT PRIMARY KEY, digest TEXT NOT NULL, caller TEXT NOT NULL, tenant TEXT NOT NULL, scopes TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION, revoked DOUBLE PRECISION)""",
)
_COLUMNS = "id, caller, tenant, scopes, created, expires, revoked, digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks, as verified. ``token`` is the id of the token it came with, if any."""

    name: str
    tenant: str
    scopes: frozenset[Scope]
    token: str | None = None

    @property
    def caller(self) -> str:
        """Never the same for two tenants: rooms that know callers only keep tenants apart by it."""
        return self.name if self.tenant == LOCAL and "@" not in self.name else f"{self.name}@{self.tenant}"

    @property
    def is_operator(self) -> bool:
        """Whether he answers for the whole service: what he sees is not one tenant's."""
        return self.tenant == LOCAL and "admin" in self.scopes

    def needs(self, *scopes: Scope) -> None:
        """Require one of ``scopes``.

        Raises:
            Refused: it has none of them.
        """
        if not self.scopes.intersection(scopes):
            wanted = " or ".join(scopes)
            raise Refused(f"this needs the scope {wanted}; yours are {', '.join(sorted(self.scopes)) or 'none'}", rule="scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token: everything but itself."""

    id: str
    caller: str
    tenant: str
    scopes: tuple[Scope, ...]
    created: float
    expires: float | None
    revoked: float | None

    def is_good(self, now: float) -> bool:
        """Whether it still opens anything."""
        return self.revoked is None and (self.expires is None or self.expires > now)


class Tokens:
    """The register of tokens. A token is ``gm_ID_SECRET``, 256 bits of chance; its SHA-256 is all that is kept."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._known: dict[str, tuple[float, Token, bytes]] = {}

    async def create(
        self, caller: str, *, tenant: str = LOCAL, scopes: Sequence[str] = ("execute",), seconds: float | None = None
    ) -> tuple[str, Token]:
        """A new token, shown this once, and what is kept of it.

        Raises:
            Refused: a name that cannot be one, or a scope that there is not.
        """
        for name in (caller, tenant):
            if not NAME.fullmatch(name):
                raise Refused(f"{name!r} is no name: letters, digits, '.', '_' and '-', at most 64", rule="token.name")
        if unknown := [scope for scope in scopes if scope not in SCOPES]:
            raise Refused(f"there is no scope {unknown[0]!r}; there are {', '.join(SCOPES)}", rule="token.scope")
        now = self._clock()
        made = Token(
            id=secrets.token_hex(6), caller=caller, tenant=tenant, scopes=tuple(scope for scope in SCOPES if scope in scopes),
            created=now, expires=None if seconds is None else now + seconds, revoked=None,
        )  # fmt: skip
        text = f"{PREFIX}_{made.id}_{secrets.token_urlsafe(32)}"
        row = (made.id, caller, tenant, json.dumps(made.scopes), now, made.expires, None, _digest(text).hex())
        insert = f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own words
        await self._store.write((insert, row))
        return text, made

    async def list(self, tenant: str | None = None) -> tuple[Token, ...]:
        """Every token, the oldest first; of one tenant, where one is named."""
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM tokens ORDER BY created, id")  # noqa: S608 - our own words
        return tuple(token for token in map(_token, rows) if tenant in (None, token.tenant))

    async def revoke(self, id: str) -> Token:  # noqa: A002 - the register's own word
        """Let a token open nothing any more.

        Raises:
            NotFound: there is none of that id.
        """
        now = self._clock()
        await self._store.write(("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", (now, id)))
        self._known.pop(id, None)
        for token in await self.list():
            if token.id == id:
                return token
        raise NotFound(f"there is no token {id[:80]!r}; `gristmill tokens list` shows them")

    async def verify(self, text: str) -> Principal:
        """Whose token this is.

        Raises:
            Unauthorized: it is none, or no longer one; which of them is not said.
        """
        prefix, _, rest = text.partition("_")
        id_ = rest.partition("_")[0]
        found = await self._find(id_) if prefix == PREFIX and len(text) <= 200 else None
        # Compared even when there is nothing to compare with: how long a no takes tells nothing.
        same = hmac.compare_digest(_digest(text), found[1] if found else _digest(""))
        if found is None or not same or not found[0].is_good(self._clock()):
            raise Unauthorized("this token is unknown, expired or revoked")
        token = found[0]
        return Principal(name=token.caller, tenant=token.tenant, scopes=frozenset(token.scopes), token=token.id)

    async def _find(self, id_: str) -> tuple[Token, bytes] | None:
        known = self._known.get(id_)
        now = time.monotonic()
        if known is not None and known[0] > now:
            return known[1], known[2]
        try:
            rows = await self._store.read(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", id_)  # noqa: S608 - our own words
        except StoreUnavailable:
            # Who watches over us must see that it is away; nothing can be executed or revoked then anyway.
            if known is None or now - known[0] > AWAY_SECONDS:
                raise
            return known[1], known[2]
        if not rows:
            return None
        if len(self._known) >= KNOWN_MOST:
            self._known.clear()
        token, digest = _token(rows[0]), bytes.fromhex(str(rows[0][7]))
        self._known[id_] = (now + KNOWN_SECONDS, token, digest)
        return token, digest


def tenant_of(caller: str) -> str:
    """The tenant of a ``Principal.caller``: for doors that are handed the caller only."""
    return caller.rpartition("@")[2] if "@" in caller else LOCAL


def static_token(text: str) -> Callable[[str], Principal | None]:
    """One token given from outside (``GRISTMILL_TOKEN``), for whoever needs no register: it executes, reads and administers.

    Raises:
        Refused: it is too short to be a secret.
    """
    if len(text) < 16:
        raise Refused("GRISTMILL_TOKEN is too short to be a secret: use at least 16 characters", rule="token.length")
    digest = _digest(text)
    known = Principal(name="http", tenant=LOCAL, scopes=frozenset({"execute", "read", "admin"}), token=ENVIRONMENT)
    return lambda given: known if hmac.compare_digest(_digest(given), digest) else None


def bearer(header: str | None) -> str | None:
    """The token of an ``Authorization`` header."""
    scheme, _, text = (header or "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip() else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _token(row: Row) -> Token:
    scopes = cast("list[Scope]", json.loads(str(row[3])))
    created, expires, revoked = (None if value is None else float(value) for value in row[4:7])
    return Token(
        id=str(row[0]), caller=str(row[1]), tenant=str(row[2]), scopes=tuple(scopes), created=created or 0.0, expires=expires,
        revoked=revoked,
    )  # fmt: skip
