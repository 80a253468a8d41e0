"""Names inside a workspace. Code that runs may have chosen them to harm whoever reads them: what is odd is escaped, both ways."""

import re
import unicodedata

from gristmill.errors import Refused
from gristmill.values import dataclass

PART_BYTES, PATH_BYTES, DEPTH = 255, 4_000, 100
"""What Linux takes for one name and, nearly, for a path; and how deep folders may be nested."""

_ODD = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_ESCAPE = re.compile(r"\\(\\|x[0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class CheckedPath:
    """A path that stays inside: relative, without `..`. Made by ``checked`` only; the kernel checks links when it is walked."""

    parts: tuple[bytes, ...]

    @property
    def shown(self) -> str:
        """The path as it may be printed, and asked for again."""
        return "/".join(map(shown, self.parts))

    @property
    def relative(self) -> bytes:
        """As the kernel takes it."""
        return b"/".join(self.parts) or b"."


def checked(path: str, *, new: bool = False) -> CheckedPath:
    """``path`` as listed, checked. A ``new`` name must be one that nobody has to escape.

    Raises:
        Refused: it is absolute, leads upwards, is too long, or is odd.
    """
    if path.startswith("/"):
        raise Refused(f"{_quoted(path)} is absolute; paths begin in the workspace, such as 'out/rows.csv'", rule="file.path")
    parts = tuple(_actual(part, path) for part in path.split("/")) if path else ()
    if any(part in (b"", b".", b"..") for part in parts):
        raise Refused(f"{_quoted(path)} has an empty, '.' or '..' part", rule="file.path")
    if any(len(part) > PART_BYTES or b"\0" in part or b"/" in part for part in parts):
        raise Refused(f"{_quoted(path)} has a part that cannot be a file's name", rule="file.path")
    if len(parts) > DEPTH or sum(map(len, parts)) + len(parts) > PATH_BYTES:
        raise Refused(f"{_quoted(path)} is too long: {DEPTH} parts and {PATH_BYTES:,} bytes at most", rule="file.path")
    found = CheckedPath(parts)
    if new and found.shown != path:
        raise Refused(f"{_quoted(path)} holds characters that cannot be seen or trusted; choose another name", rule="file.name")
    if new and not parts:
        raise Refused("a file needs a name", rule="file.path")
    return found


def shown(name: bytes) -> str:
    """``name`` with everything that could mislead a reader written as ``\\xNN``; never the same for two names."""
    text = name.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable() and unicodedata.category(character) not in _ODD:
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def _actual(part: str, path: str) -> bytes:
    """The name on disk that is shown as ``part``."""
    pieces: list[bytes] = []
    end = 0
    try:
        for escape in _ESCAPE.finditer(part):
            pieces.append(part[end : escape.start()].encode("utf-8"))
            pieces.append(b"\\" if escape[1] == "\\" else bytes.fromhex(escape[1][1:]))
            end = escape.end()
        return b"".join((*pieces, part[end:].encode("utf-8")))
    except UnicodeEncodeError:
        raise Refused(f"{_quoted(path)} is not text", rule="file.name") from None


def _quoted(path: str) -> str:
    return ascii(path if len(path) <= 80 else f"{path[:80]}...")
