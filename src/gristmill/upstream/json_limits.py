"""Counts the values and the nesting of JSON before it is parsed, so that a small message cannot fill our memory. Pure.

A value of two bytes (`{}`) becomes an object of 64 bytes or more. The scan is linear, reads pieces of limited size, and each
of its steps is short: in a thread it does not keep the event loop waiting, which a parser in C would.
"""

from array import array
from itertools import accumulate
from typing import Literal

from msgspec import Struct

MOST_LEVELS = 128
"""How deep a message may be nested. Real answers have fewer than 20 levels; parsers and our own functions recurse."""

_PIECE = 65_536
_OPENING, _CLOSING = b"[{", b"]}"
_NOT_BRACKETS = bytes(code for code in range(256) if code not in _OPENING + _CLOSING)
_STEPS = bytes(1 if code in _OPENING else 255 if code in _CLOSING else 0 for code in range(256))
"""Maps an opening bracket to 1 and a closing one to 255, which is -1 in a signed byte."""


class JsonLimits(Struct, frozen=True, kw_only=True):
    """How much one JSON text may hold. ``values`` counts list items and object members at all levels."""

    values: int = 1_000_000
    levels: int = MOST_LEVELS


LimitSetting = Literal["message_mb", "message_values"]
"""The setting of a server that raises a limit."""


class JsonRefused(Exception):
    """The text holds more than the limits allow. ``setting`` is the setting that raises the limit, if one does."""

    def __init__(self, reason: str, *, setting: LimitSetting | None = None) -> None:
        super().__init__(reason)
        self.setting: LimitSetting | None = setting


class JsonSize(Struct, frozen=True, kw_only=True):
    """How many values a JSON text has at most, and how deep they are nested at most."""

    values: int
    levels: int


def check_json(text: bytes, limits: JsonLimits) -> JsonSize:
    """Checks JSON against the limits without parsing it; returns upper bounds of its size.

    What is not JSON may pass: the parser refuses it at the place up to which this check has counted correctly.

    Raises:
        JsonRefused: it has too many values or is nested too deeply.
    """
    opening = text.count(b"[") + text.count(b"{")
    values = opening + text.count(b",")
    if opening <= limits.levels and values <= limits.values:
        # Most messages: even if every bracket and comma were outside of strings, they would be within the limits.
        return JsonSize(values=values, levels=opening)
    scan = JsonScan(limits)
    for start in range(0, len(text), _PIECE):
        scan.feed(text[start : start + _PIECE])
    return JsonSize(values=scan.values, levels=scan.most_levels)


class JsonScan:
    """Scans JSON that arrives in pieces. Brackets and commas within strings do not count."""

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self._held = b""
        self._is_in_string = False
        self._levels = 0
        self.most_levels = 0
        self.values = 0

    def feed(self, piece: bytes) -> None:
        """Counts what is in ``piece``, which should be short: the work per piece is what the event loop may have to wait for.

        Raises:
            JsonRefused: there are too many values up to here, or they are nested too deeply.
        """
        structure = self._remove_strings(self._held + piece)
        brackets = structure.translate(None, _NOT_BRACKETS)
        levels = list(accumulate(array("b", brackets.translate(_STEPS)), initial=self._levels))
        self._levels = levels[-1]
        self.values += structure.count(b",") + structure.count(b"[") + structure.count(b"{")
        self.most_levels = max(self.most_levels, *levels)
        if self.most_levels > self._limits.levels:
            raise JsonRefused(f"it is nested deeper than {self._limits.levels} levels")
        if self.values > self._limits.values:
            raise JsonRefused(f"it holds more than {self._limits.values:,} values", setting="message_values")

    def _remove_strings(self, text: bytes) -> bytes:
        """Returns the text outside of strings. A backslash at the end is held back: it belongs to the next character."""
        self._held = b""
        if b"\\" in text:
            text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
            if text.endswith(b"\\"):
                text, self._held = text[:-1], b"\\"
        parts = text.split(b'"')
        outside = parts[1 if self._is_in_string else 0 :: 2]
        self._is_in_string ^= len(parts) % 2 == 0
        return b"".join(outside)
