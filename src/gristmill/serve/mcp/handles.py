"""Session handles: opaque, unguessable, bound to the caller who opened them, and with an end.

A handle carries its own proof (time, chance, a keyed digest over both and the caller), so there is no table to keep: it
holds after a restart and on any replica that has the same key. To know a handle is not enough, the caller must be its own.
"""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import UnknownSession

DAYS = 7
_LIFETIME = DAYS * 86_400
_CHANCE, _PROOF = 16, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """Makes and checks handles; ``now`` is the clock."""

    key: bytes
    now: Callable[[], float]

    def open(self, caller: str) -> str:
        """A new handle for ``caller``."""
        body = int(self.now()).to_bytes(5, "big") + secrets.token_bytes(_CHANCE)
        return _text(body + self._proof(body, caller))

    def check(self, handle: str, caller: str) -> str:
        """The name of the session behind ``handle``, if it is the caller's.

        Raises:
            UnknownSession: it is none, somebody else's, or expired.
        """
        raw = _bytes(handle)
        body, proof = raw[:-_PROOF], raw[-_PROOF:]
        if len(raw) != 5 + _CHANCE + _PROOF or not hmac.compare_digest(proof, self._proof(body, caller)):
            raise UnknownSession('there is no such session here; call with session="new" and use the handle it returns')
        if self.now() - int.from_bytes(body[:5], "big") > _LIFETIME:
            raise UnknownSession(f'this session is older than {DAYS} days and has expired; call with session="new"')
        return handle

    def _proof(self, body: bytes, caller: str) -> bytes:
        return hmac.digest(self.key, body + caller.encode("utf-8", "surrogatepass"), hashlib.sha256)[:_PROOF]


def load_key(folder: Path) -> bytes:
    """The key in ``folder``, made when there is none; only its owner may read it."""
    path = folder / "handle-key"
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        mine = folder / f".handle-key-{secrets.token_hex(8)}"
        with os.fdopen(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        try:
            os.link(mine, path)  # the first of several that start at once wins, and a reader never sees half a key
        except FileExistsError:
            pass
        mine.unlink()
        found = path.read_bytes()
    return found


def _text(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=").lower()


def _bytes(text: str) -> bytes:
    try:
        return base64.b32decode(text.upper() + "=" * (-len(text) % 8))
    except ValueError:
        return b""
