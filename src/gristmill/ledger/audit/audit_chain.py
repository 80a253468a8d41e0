"""The audit's hash chain, its signed anchors and its counter. Pure, except for the counter's file.

A record's hash is sha256 over the hash before it, its number and the record as canonical JSON, one per line. An anchor is a
number and its hash, signed with a key that is not in the database: an attacker who can rewrite the table cannot sign a new chain.
"""

import fcntl
import hashlib
import hmac
import os
from pathlib import Path

from msgspec import Struct

from gristmill.ledger.ledger_keys import derive_key, name_key

GENESIS = "0" * 64
HEAD, PRUNED = "head", "pruned"
"""Names of anchors."""
ANCHOR_INTERVAL = 1_000
"""Every thousandth record has an anchor too, so that a forgery can be located."""


def hash_record(previous: str, seq: int, record: str) -> str:
    """Returns the hash of ``record``, which has the number ``seq`` and follows the hash ``previous``."""
    return hashlib.sha256(f"{previous}\n{seq}\n{record}".encode()).hexdigest()


class AuditAnchor(Struct, frozen=True, kw_only=True):
    """A place in the chain and its signature."""

    name: str
    seq: int
    hash: str
    key: str = ""
    mac: str = ""


class AnchorSigner:
    """Signs places in the chain, and checks their signatures."""

    def __init__(self, master: bytes) -> None:
        self._key = derive_key(master, "audit")
        self.key_name = name_key(self._key)

    def sign(self, name: str, seq: int, hash_: str) -> AuditAnchor:
        """Returns a signed anchor called ``name``."""
        return AuditAnchor(name=name, seq=seq, hash=hash_, key=self.key_name, mac=self._compute_mac(name, seq, hash_))

    def find_problem(self, anchor: AuditAnchor) -> str | None:
        """Returns why ``anchor`` was not signed with our key, or None if it was."""
        if hmac.compare_digest(anchor.mac, self._compute_mac(anchor.name, anchor.seq, anchor.hash)):
            return None
        if anchor.key != self.key_name:
            return f"the anchor {anchor.name} was signed with another key ({anchor.key}, not {self.key_name})"
        return f"the signature of the anchor {anchor.name} is wrong"

    def _compute_mac(self, name: str, seq: int, hash_: str) -> str:
        return hmac.new(self._key, f"{name}|{seq}|{hash_}".encode(), hashlib.sha256).hexdigest()


class AuditCounter:
    """The highest number in the chain, kept beside the key and outside the database, so that a missing end is detected."""

    def __init__(self, path: Path, signer: AnchorSigner) -> None:
        self._path, self._signer = path, signer

    def read(self) -> int:
        """Returns the highest number noted here; 0 when there is none with our signature."""
        try:
            return self._parse_counter(self._path.read_text())
        except (OSError, UnicodeDecodeError):
            return 0

    def raise_to(self, seq: int, hash_: str) -> None:
        """Raises the counter to ``seq``; it never goes down, whichever process writes last."""
        handle = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if self._parse_counter(os.pread(handle, 500, 0).decode("ascii", "replace")) < seq:
                os.pwrite(handle, f"{seq:020} {hash_} {self._signer.sign('counter', seq, hash_).mac}\n".encode(), 0)
        finally:
            os.close(handle)

    def _parse_counter(self, text: str) -> int:
        parts = text.split()
        if len(parts) != 3 or not parts[0].isdigit():
            return 0
        seq = int(parts[0])
        return seq if hmac.compare_digest(self._signer.sign("counter", seq, parts[1]).mac, parts[2]) else 0
