"""Escapes characters that steer terminals, logs and models: text of programs and servers may do none of that."""

import unicodedata

_STEERING = frozenset(("Cc", "Cf", "Co", "Cs"))
"""Control, format (bidirectional marks, tag characters), private use, lone surrogates: machines read them, people do not see
them."""
KEPT = "\n\t"
"""Line ends and tabs, which make no harm in text of several lines."""


def escape_steering(text: str, keep: str = KEPT) -> str:
    """Returns ``text`` with control, bidirectional and tag characters replaced by visible escapes."""
    if text.isprintable() or (keep == KEPT and text.replace("\n", "").replace("\t", "").isprintable()):
        return text
    return "".join(
        char if char in keep or unicodedata.category(char) not in _STEERING else escape_character(char) for char in text
    )


def shorten_name(name: str, most: int) -> str:
    """Returns a name that a stranger chose in one line of at most ``most`` characters, with steering characters escaped."""
    cut = name[:most]
    return cut if cut.isprintable() else "".join(char if char.isprintable() else escape_character(char) for char in cut)[:most]


def escape_character(char: str) -> str:
    """Returns a visible escape for a character."""
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
