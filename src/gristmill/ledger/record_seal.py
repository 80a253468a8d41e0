"""What a journal keeps is not readable at rest: AES-GCM, bound to the place it belongs to."""

import os
from functools import cached_property
from typing import TYPE_CHECKING

from gristmill.errors import StoreUnavailable
from gristmill.ledger.ledger_keys import derive, name_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE = 12


class Seal:
    """Seals bytes with a key derived from the master key. Random nonces: good for four thousand million seals per key."""

    def __init__(self, master: bytes) -> None:
        self._key = derive(master, "seal")
        self._name = bytes.fromhex(name_of(self._key))

    def seal(self, plain: bytes, place: str) -> bytes:
        """``plain`` sealed for ``place``; put anywhere else it does not open."""
        nonce = os.urandom(_NONCE)
        return self._name + nonce + self._cipher.encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """What was sealed for ``place``.

        Raises:
            StoreUnavailable: another key, another place, or changed bytes.
        """
        from cryptography.exceptions import InvalidTag

        if sealed[: len(self._name)] != self._name:
            raise StoreUnavailable("the journal was sealed with another key: give every machine the same store.key")
        nonce, rest = sealed[len(self._name) :][:_NONCE], sealed[len(self._name) + _NONCE :]
        try:
            return self._cipher.decrypt(nonce, rest, place.encode())
        except (InvalidTag, ValueError):
            raise StoreUnavailable("an entry of the journal was changed or moved; it is not used") from None

    @cached_property
    def _cipher(self) -> "AESGCM":
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # slow to import; many runs seal nothing

        return AESGCM(self._key)
