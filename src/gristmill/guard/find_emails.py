"""Mail addresses, and passwords inside of addresses (``postgres://user:password@host``). Both turn on an ``@``."""

import re
from collections.abc import Callable

from gristmill.guard.spans import Found

_LATIN = r"A-Za-z\u00c0-\u024f\u0370-\u052f"
_LETTER = rf"0-9{_LATIN}"
_LABELS = rf"(?:[{_LETTER}][{_LETTER}-]{{0,62}}\.){{1,8}}"
_DOMAIN = rf"({_LABELS}(?:xn--[0-9A-Za-z-]{{2,59}}|[{_LATIN}]{{2,24}}))(?![{_LETTER}_])"
# Each begins with a literal, to which the engine skips.
_AT = re.compile("@" + _DOMAIN)
_QUOTED_AT = re.compile("%40" + _DOMAIN)
_LOCAL_BACKWARDS = re.compile(rf"[{_LETTER}_.+%'-]{{1,64}}+")
_CREDENTIALS = re.compile(r"://[^\s/@:\0]{0,128}:([^\s/@\0]{1,256})@")

_FILES = frozenset(
    "png jpg jpeg gif svg webp ico tgz gz js mjs css json html woff woff2 map txt xml yml yaml toml lock whl".split()
)
"""Endings of ``icon@2x.png`` and ``left-pad@1.3.0.tgz``."""


def email_finder(kinds: frozenset[str]) -> Callable[[str], Found]:
    """A search for ``email``, and for ``secret`` where an address carries a password."""

    def find(text: str) -> Found:
        found: Found = []
        if "@" not in text and "%40" not in text:
            return found
        if "secret" in kinds:
            found += [(*match.span(1), "SECRET") for match in _CREDENTIALS.finditer(text)]
        if "email" in kinds:
            passwords_end = {match.end() - 1 for match in _CREDENTIALS.finditer(text)}
            for at in (*_AT.finditer(text), *(_QUOTED_AT.finditer(text) if "%40" in text else ())):
                if at.start() not in passwords_end:
                    found += _address_around(text, at)
        return found

    return find


def _address_around(text: str, at: re.Match[str]) -> Found:
    if at[1].rpartition(".")[2].lower() in _FILES:
        return []
    local = _LOCAL_BACKWARDS.match(text[max(0, at.start() - 64) : at.start()][::-1])
    name = local[0][::-1].lstrip(".'%-") if local else ""
    start = at.start() - len(name)
    # "https://bob@host" names an account of a host, and "git@host:path" a repository: neither is anybody's mailbox.
    if not name or text[max(0, start - 2) : start] == "//" or (name == "git" and text[at.end() : at.end() + 1] in (":", "/")):
        return []
    return [(start, at.end(), "EMAIL")]
