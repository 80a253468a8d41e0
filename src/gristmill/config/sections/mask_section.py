"""The `mask` section of the configuration: which personal data and secrets are masked."""

import re
from typing import Annotated, Literal

import re2
from pydantic import AfterValidator, Field

from gristmill.config.sections.base import Section, use_section_defaults

_PATTERN_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_RESERVED_NAMES = frozenset({"email", "phone", "card", "iban", "ssn", "secret", "ip", "name", "credential"})


class KindsConfig(Section):
    """Which built-in kinds are masked, beside `names` and `patterns`."""

    email: bool = True
    """Mail addresses."""
    phone: bool = True
    """Telephone numbers in international and common national spellings, and bare digits in fields such as `phone`."""
    card: bool = True
    """Card numbers of known issuers with a correct check digit."""
    iban: bool = True
    """Bank account numbers (IBAN) with correct check digits."""
    ssn: bool = True
    """Social security numbers of the United States."""
    secret: bool = True
    """Keys and tokens by their issuers' prefixes, private keys, passwords in URLs, values of fields such as `password`."""
    ip: bool = False
    """IP addresses."""


def _check_patterns(patterns: dict[str, str]) -> dict[str, str]:
    for name, pattern in patterns.items():
        if not _PATTERN_NAME.fullmatch(name) or name in _RESERVED_NAMES or name.endswith("_number"):
            raise ValueError(
                f"{name!r} cannot name a pattern: use small letters, digits and _, no built-in kind, no name ending in _number"
            )
        _check_pattern(name, pattern)
    return patterns


def _check_pattern(name: str, pattern: str) -> None:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"the pattern {name!r} is not valid in RE2 (no look-around, no back-references): {error}") from None
    if compiled.search("") is not None:
        raise ValueError(f"the pattern {name!r} matches the empty text, so it would match everywhere")


def _check_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if short := [name for name in names if len(name.strip()) < 3]:
        raise ValueError(f"{short[0]!r} is too short for a name: it would be found everywhere; use 3 letters or more")
    return names


class MaskConfig(Section):
    """Which personal data and secrets are replaced by placeholders."""

    mode: Literal["off", "output", "full"] = "output"
    """`output` masks what goes back to the model; `full` also tool results before the code sees them; `off` masks nothing."""
    kinds: KindsConfig = use_section_defaults()
    """Which built-in kinds are masked, beside `names` and `patterns`."""
    names: Annotated[tuple[str, ...], AfterValidator(_check_names)] = ()
    """Names of people or firms, masked as whole words, as written and in capitals."""
    patterns: Annotated[dict[str, str], AfterValidator(_check_patterns)] = Field(default_factory=dict[str, str])
    """Further patterns in the syntax of RE2, by the name that their placeholders get; matched within one line."""
    allow_binary: tuple[str, ...] = ()
    """Patterns (`scanner.*`) of tools whose images, PDFs and other files enter the sandbox unsearched in `full` mode."""
    allow: tuple[str, ...] = ()
    """Values that are never masked; `*` stands for anything (`*@example.com`)."""
