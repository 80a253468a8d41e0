"""The audit's hash chain, its signed anchors and its counter. Pure, but for the counter's file.

A record's hash is sha256 over the hash before it, its number and the record as canonical JSON, a line each. An anchor is a number
and its hash, signed with a key that is not in the database: whoever can rewrite the table cannot sign a new chain.
"""

import fcntl
import hashlib
import hmac
import os
from pathlib import Path

from gristmill.ledger.ledger_keys import derive, name_of
from gristmill.values import dataclass

GENESIS = "0" * 64
HEAD, PRUNED, EVERY = "head", "pruned", 1_000
"""Names of anchors; beside these, every thousandth record has one, so that a forgery can be placed."""


def chained(previous: str, seq: int, record: str) -> str:
    """The hash of the ``seq``-th ``record`` after ``previous``."""
    return hashlib.sha256(f"{previous}\n{seq}\n{record}".encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the chain and its signature."""

    name: str
    seq: int
    hash: str
    key: str = ""
    mac: str = ""


class Signer:
    """Signs places in the chain."""

    def __init__(self, master: bytes) -> None:
        self._key = derive(master, "audit")
        self.key_name = name_of(self._key)

    def sign(self, name: str, seq: int, hash_: str) -> Anchor:
        """An anchor called ``name``."""
        return Anchor(name=name, seq=seq, hash=hash_, key=self.key_name, mac=self._mac(name, seq, hash_))

    def problem(self, anchor: Anchor) -> str | None:
        """Why ``anchor`` is not ours, if it is not."""
        if hmac.compare_digest(anchor.mac, self._mac(anchor.name, anchor.seq, anchor.hash)):
            return None
        if anchor.key != self.key_name:
            return f"the anchor {anchor.name} was signed with another key ({anchor.key}, not {self.key_name})"
        return f"the signature of the anchor {anchor.name} is wrong"

    def _mac(self, name: str, seq: int, hash_: str) -> str:
        return hmac.new(self._key, f"{name}|{seq}|{hash_}".encode(), hashlib.sha256).hexdigest()


class Counter:
    """How far the chain has come, kept beside the key and outside the database, so that a cut tail is noticed."""

    def __init__(self, path: Path, signer: Signer) -> None:
        self._path, self._signer = path, signer

    def read(self) -> int:
        """The highest number noted here; 0 when there is none that we signed."""
        try:
            return self._parse(self._path.read_text())
        except (OSError, UnicodeDecodeError):
            return 0

    def note(self, seq: int, hash_: str) -> None:
        """Raise the counter to ``seq``; it never goes down, whichever process writes last."""
        handle = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if self._parse(os.pread(handle, 500, 0).decode("ascii", "replace")) < seq:
                os.pwrite(handle, f"{seq:020} {hash_} {self._signer.sign('counter', seq, hash_).mac}\n".encode(), 0)
        finally:
            os.close(handle)

    def _parse(self, text: str) -> int:
        parts = text.split()
        if len(parts) != 3 or not parts[0].isdigit():
            return 0
        seq = int(parts[0])
        return seq if hmac.compare_digest(self._signer.sign("counter", seq, parts[1]).mac, parts[2]) else 0
