"""Finds secrets in the words of a command line and in addresses: after an option, after a name, in a URL, or by their prefix."""

import re

from gristmill.config.sections.servers_section import SECRET_REFERENCE

_WORDS = (
    r"(?:token|secret|passw(?:or)?d|pwd|passphrase|pass|(?:api|private|access|auth|secret|client)[-_]?key|apikey|credentials?|"
    r"auth|authorization|bearer|cookie|pat)"
)
_SECRET_OPTION = re.compile(rf"(?i)--?(?:[\w.-]+[-_.])?{_WORDS}")
"""An option whose value is the next word. The secret is the last part of its name: `--no-token-check` has no value."""
_NAMED = re.compile(rf"(?is)(?:--?)?(?:[\w.-]*?[-_.]?){_WORDS}\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?(?P<value>\S.*)")
_URL_PASSWORD = re.compile(r"://[^/\s:@]*:(?P<value>[^/\s@]+)@")
_URL_PARAMETER = re.compile(r"(?i)[?&][\w.-]*?(?:token|secret|passw(?:or)?d|key|auth|credential)[\w.-]*=(?P<value>[^&#\s]+)")
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9_-])(?P<value>(?:gh[pousr]_|github_pat_|glpat-|xox[abceprs]-|sk-|sk_live_|sk_test_|rk_live_|AKIA|AIza|ya29\.|hf_|npm_"
    r"|shpat_|dop_v1_|lin_api_|ntn_|secret_|pypi-|eyJ[A-Za-z0-9_-]{8,}\.)[A-Za-z0-9_.+/=-]{12,})"
)
_PATH = ("/", "./", "../", "~/")


def find_secret(word: str, previous: str = "") -> tuple[int, int] | None:
    """Returns where in ``word`` a secret stands in plain text, or None; ``previous`` is the word before it."""
    for pattern in (_URL_PASSWORD, _URL_PARAMETER, _ISSUED):
        for found in pattern.finditer(word):
            if _is_plain(found["value"]):
                return found.span("value")
    named = _NAMED.fullmatch(word)
    if named and "://" not in word and _is_plain(named["value"]):
        return named.span("value")
    if _SECRET_OPTION.fullmatch(previous) and not word.startswith("-") and _is_plain(word):
        return 0, len(word)
    return None


def _is_plain(value: str) -> bool:
    """Returns whether this is a value of its own: neither a reference nor the path of a file that holds the secret."""
    return bool(SECRET_REFERENCE.sub("", value).strip()) and not value.startswith(_PATH) and "${" not in value
