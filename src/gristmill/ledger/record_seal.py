"""Encrypts what the journal keeps, with AES-GCM; sealed bytes are bound to the place where they belong."""

import os
from functools import cached_property

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gristmill.errors import StoreUnavailable
from gristmill.ledger.ledger_keys import derive_key, name_key

_NONCE = 12


class RecordSeal:
    """Seals bytes with a key derived from the master key. Nonces are random: safe for four thousand million seals per key."""

    def __init__(self, master: bytes) -> None:
        self._key = derive_key(master, "seal")
        self._key_name = bytes.fromhex(name_key(self._key))

    def seal(self, plain: bytes, place: str) -> bytes:
        """Seals ``plain`` for ``place``; it cannot be opened for any other place."""
        nonce = os.urandom(_NONCE)
        return self._key_name + nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Opens bytes that were sealed for ``place``.

        Raises:
            StoreUnavailable: they were sealed with another key or for another place, or were changed.
        """
        if sealed[: len(self._key_name)] != self._key_name:
            raise StoreUnavailable("the journal was sealed with another key: give every machine the same store.key")
        nonce, rest = sealed[len(self._key_name) :][:_NONCE], sealed[len(self._key_name) + _NONCE :]
        try:
            return self._cipher.decrypt(nonce, rest, place.encode())
        except (InvalidTag, ValueError):
            raise StoreUnavailable("an entry of the journal was changed or moved; it is not used") from None

    @cached_property
    def _cipher(self) -> "AESGCM":
        return AESGCM(self._key)
