"""Paths inside a workspace. The code that made them may want to mislead readers, so unsafe characters are escaped, both ways."""

import re
import unicodedata

from msgspec import Struct

from gristmill.errors import Refused

PART_BYTES, PATH_BYTES = 255, 4_000
"""The limits of Linux for one name and (nearly) for a path."""
MOST_PARTS = 100
"""How many parts a path may have, so how deep folders may be nested."""

_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_ESCAPE = re.compile(r"\\(\\|x[0-9a-f]{2})")


class CheckedPath(Struct, frozen=True):
    """A path that stays inside: relative, without `..`, and made in this module only.

    The kernel checks links when it is opened.
    """

    parts: tuple[bytes, ...]

    @property
    def printable(self) -> str:
        """Returns the path in a form that is safe to print and that can be passed in again."""
        return "/".join(map(escape_name, self.parts))

    @property
    def relative(self) -> bytes:
        """Returns the path as bytes for the kernel."""
        return b"/".join(self.parts) or b"."


def check_path(path: str, *, new: bool = False) -> CheckedPath:
    """Checks ``path``, which is in the form that listings show. A ``new`` path must not need any escapes.

    Raises:
        Refused: it is absolute, leads upwards, is too long, or has unsafe characters.
    """
    if path.startswith("/"):
        raise Refused(f"{_quote_path(path)} is absolute; paths begin in the workspace, such as 'out/rows.csv'", rule="file.path")
    parts = tuple(_unescape_part(part, path) for part in path.split("/")) if path else ()
    if any(part in (b"", b".", b"..") for part in parts):
        raise Refused(f"{_quote_path(path)} has an empty, '.' or '..' part", rule="file.path")
    if any(len(part) > PART_BYTES or b"\0" in part or b"/" in part for part in parts):
        raise Refused(f"{_quote_path(path)} has a part that cannot be a file's name", rule="file.path")
    if len(parts) > MOST_PARTS or sum(map(len, parts)) + len(parts) > PATH_BYTES:
        raise Refused(f"{_quote_path(path)} is too long: {MOST_PARTS} parts and {PATH_BYTES:,} bytes at most", rule="file.path")
    found = CheckedPath(parts)
    if new and found.printable != path:
        raise Refused(
            f"{_quote_path(path)} has characters that are invisible or misleading; choose another name", rule="file.name"
        )
    if new and not parts:
        raise Refused("a file needs a name", rule="file.path")
    return found


def escape_name(name: bytes) -> str:
    """Returns ``name`` with everything that could mislead a reader written as ``\\xNN``; different for any two names."""
    text = name.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable() and unicodedata.category(character) not in _UNSAFE_CATEGORIES:
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def _unescape_part(part: str, path: str) -> bytes:
    """Returns the name on disk that is shown as ``part``."""
    pieces: list[bytes] = []
    end = 0
    try:
        for escape in _ESCAPE.finditer(part):
            pieces.append(part[end : escape.start()].encode("utf-8"))
            pieces.append(b"\\" if escape[1] == "\\" else bytes.fromhex(escape[1][1:]))
            end = escape.end()
        return b"".join((*pieces, part[end:].encode("utf-8")))
    except UnicodeEncodeError:
        raise Refused(f"{_quote_path(path)} is not text", rule="file.name") from None


def _quote_path(path: str) -> str:
    return ascii(path if len(path) <= 80 else f"{path[:80]}...")
