"""Mail addresses, and passwords inside of addresses (``postgres://user:password@host``). Both turn on an ``@``."""

import re
from collections.abc import Callable

from gristmill.guard.spans import Found

_AT = re.compile(r"(?:@|%40)(?=[0-9A-Za-z\u00c0-\u024f\u0370-\u052f\[])")
_LETTER = r"0-9A-Za-z\u00c0-\u024f\u0370-\u052f"
_LOCAL_BACKWARDS = re.compile(rf"[{_LETTER}_.+%'-]{{1,64}}+")
_DOMAIN = re.compile(
    rf"(?:[{_LETTER}](?:[{_LETTER}-]{{0,62}})\.){{1,8}}(?:xn--[0-9A-Za-z-]{{2,59}}|[A-Za-z\u00c0-\u024f\u0370-\u052f]{{2,24}})(?![{_LETTER}_])"
)
_CREDENTIALS = re.compile(r"://[^\s/@:\0]{0,128}:([^\s/@\0]{1,256})$")

_FILES = frozenset(
    "png jpg jpeg gif svg webp ico tgz gz js mjs css json html woff woff2 map txt xml yml yaml toml lock whl".split()
)
"""Endings of ``icon@2x.png`` and ``left-pad@1.3.0.tgz``."""


def email_finder(kinds: frozenset[str]) -> Callable[[str], Found]:
    """A search for ``email``, and for ``secret`` where an address carries a password."""

    def find(text: str) -> Found:
        found: Found = []
        for at in _AT.finditer(text):
            password = _password_before(text, at.start()) if at[0] == "@" else None
            if password is not None:
                found += [(password, at.start(), "SECRET")] if "secret" in kinds else []
            elif "email" in kinds:
                found += _address_around(text, at.start(), at.end())
        return found

    return find


def _password_before(text: str, at: int) -> int | None:
    """Where the password begins that ends at the ``@``."""
    scheme = text.rfind("://", max(0, at - 400), at)
    match = _CREDENTIALS.match(text[scheme:at]) if scheme >= 0 else None
    return scheme + match.start(1) if match else None


def _address_around(text: str, at: int, after: int) -> Found:
    domain = _DOMAIN.match(text, after)
    if domain is None or domain[0].rpartition(".")[2].lower() in _FILES:
        return []
    local = _LOCAL_BACKWARDS.match(text[max(0, at - 64) : at][::-1])
    name = local[0][::-1].lstrip(".'%-") if local else ""
    start = at - len(name)
    # "https://bob@host" names an account of a host, and "git@host:path" a repository: neither is anybody's mailbox.
    if (
        not name
        or text[max(0, start - 2) : start] == "//"
        or (name == "git" and text[domain.end() : domain.end() + 1] in (":", "/"))
    ):
        return []
    return [(start, domain.end(), "EMAIL")]
