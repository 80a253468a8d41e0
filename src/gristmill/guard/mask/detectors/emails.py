"""Finds mail addresses, and passwords inside URLs (``postgres://user:password@host``). Both contain an ``@``."""

import re
from collections.abc import Callable, Container

from gristmill.guard.mask.text.text_spans import Found

_LATIN = r"A-Za-z\u00c0-\u024f\u0370-\u052f"
_LETTER = rf"0-9{_LATIN}"
_LABELS = rf"(?:[{_LETTER}][{_LETTER}-]{{0,62}}+\.){{1,8}}"
_DOMAIN = rf"{_LABELS}(xn--[0-9A-Za-z-]{{2,59}}|[{_LATIN}]{{2,24}})(?![{_LETTER}_])"
# Each pattern begins with a literal, to which the engine skips.
_AT = re.compile("@" + _DOMAIN)
_QUOTED_AT = re.compile("%40" + _DOMAIN)
_LONGEST_LOCAL = 64
_LOCAL = re.compile(rf"[{_LETTER}_.+%'-]{{1,{_LONGEST_LOCAL}}}+")
_LOCAL_CLASSES = bytes(ord("x" if _LOCAL.match(chr(byte)) else " ") for byte in range(256))
# "?" stands for every character that has no byte of its own. The first character is "@" if there is nothing before it.
_ODD_BEFORE, _ODD_FIRST, _ODD_AFTER = frozenset(b"/?"), frozenset(b"@.'%-"), frozenset(b":/")
_REPOSITORY, _PATH = ("git@", "git%40"), (":", "/")
_NOT_AT_START = ".'%-"
_CREDENTIALS = re.compile(r"://[^\s/@:\0]{0,128}:([^\s/@\0]{1,256})@")

FILE_ENDINGS = frozenset(
    "png jpg jpeg gif svg webp ico tgz gz js mjs css json html woff woff2 map txt xml yml yaml toml lock whl".split()
)
"""Endings of file names that look like addresses, such as ``icon@2x.png`` and ``left-pad@1.3.0.tgz``."""


def build_email_finder(kinds: frozenset[str]) -> Callable[[str], Found]:
    """Builds a search for ``email``, and for ``secret`` where a URL holds a password."""

    def find(text: str) -> Found:
        has_quoted = "%" in text and "%40" in text
        if "@" not in text and not has_quoted:
            return []
        passwords = [match.span(1) for match in _CREDENTIALS.finditer(text)] if "://" in text else []
        found: Found = [(start, end, "SECRET") for start, end in passwords] if "secret" in kinds else []
        if "email" in kinds:
            ats = [*_AT.finditer(text), *(_QUOTED_AT.finditer(text) if has_quoted else ())]
            found += _find_addresses(text, ats, {end for _, end in passwords})
        return found

    return find


def _find_addresses(text: str, ats: list[re.Match[str]], passwords_end: Container[int]) -> Found:
    """Finds the addresses around each match of ``@`` and a domain. It does each step for all matches before the next step:
    there may be very many, and that takes half the time."""
    spans = [at.span() for at in ats]
    endings = [at[1] for at in ats]
    files = {ending for ending in set(endings) if ending.lower() in FILE_ENDINGS}
    characters = text.encode("latin-1", "replace")
    if text[-1].isalnum() or text[-1] == "-":  # an address may end there, and the check below reads the next character
        characters += b" "
    # The part before an "@" is read from right to left, in a copy of the text where all other characters are blanks.
    last_blank = characters.translate(_LOCAL_CLASSES).rfind
    starts = [last_blank(b" ", middle - _LONGEST_LOCAL if middle > _LONGEST_LOCAL else 0, middle) + 1 for middle, _ in spans]
    found: Found = []
    for start, (middle, end), ending in zip(starts, spans, endings, strict=True):
        if ending in files or middle in passwords_end:
            continue
        is_odd = (
            not start or characters[start - 1] in _ODD_BEFORE or characters[start] in _ODD_FIRST or characters[end] in _ODD_AFTER
        )
        if not is_odd or ((start := _find_local_start(text, middle)) < middle and not _is_account(text, start, end)):
            found.append((start, end, "EMAIL"))
    return found


def _find_local_start(text: str, middle: int) -> int:
    """Returns where the address with the ``@`` at ``middle`` begins; ``middle`` itself if nothing valid is before it."""
    local = _LOCAL.match(text[max(0, middle - _LONGEST_LOCAL) : middle][::-1])
    return middle - len(local[0][::-1].lstrip(_NOT_AT_START)) if local else middle


def _is_account(text: str, start: int, end: int) -> bool:
    """Tells whether it is an account ("https://bob@host") or a repository ("git@host:path") and not a mailbox."""
    is_repository = text.startswith(_PATH, end) and text.startswith(_REPOSITORY, start)
    return is_repository or text.startswith("//", max(0, start - 2), start)
