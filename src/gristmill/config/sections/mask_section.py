"""The `mask` and `flows` sections of the configuration. Ground below `config`, which reads the files."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gristmill.config.sections.base import Section, defaults

_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_TAKEN = frozenset({"email", "phone", "card", "iban", "ssn", "secret", "ip", "name", "credential"})
_FLOW = re.compile(r"\s*[^\s>]+\s*->\s*[^\s>]+\s*")


class KindsConfig(Section):
    """What is looked for, beside names and patterns."""

    email: bool = True
    """Mail addresses."""
    phone: bool = True
    """Telephone numbers in international and common national spellings, and bare digits in fields such as `phone`."""
    card: bool = True
    """Card numbers of known issuers whose check digit is right."""
    iban: bool = True
    """Bank account numbers (IBAN) whose check digits are right."""
    ssn: bool = True
    """Social security numbers of the United States."""
    secret: bool = True
    """Keys and tokens by their issuers' prefixes, private keys, passwords in URLs, values of fields such as `password`."""
    ip: bool = False
    """IP addresses."""


def _checked_patterns(patterns: dict[str, str]) -> dict[str, str]:
    for name, pattern in patterns.items():
        if not _NAME.fullmatch(name) or name in _TAKEN or name.endswith("_number"):
            raise ValueError(
                f"{name!r} cannot name a pattern: small letters, digits and _, no built-in kind, not ending in _number"
            )
        _check_pattern(name, pattern)
    return patterns


def _check_pattern(name: str, pattern: str) -> None:
    import re2  # only where somebody wrote a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"the pattern {name!r} is none that RE2 knows (no look-around, no back-references): {error}") from None
    if compiled.search("") is not None:
        raise ValueError(f"the pattern {name!r} matches nothing at all, and so everything")


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if short := [name for name in names if len(name.strip()) < 3]:
        raise ValueError(f"{short[0]!r} is too short for a name: it would be found everywhere")
    return names


def _checked_flows(rules: tuple[str, ...]) -> tuple[str, ...]:
    for rule in rules:
        if not _FLOW.fullmatch(rule):
            raise ValueError(f'{rule!r} is not of the form "server -> server.tool", such as "crm -> web.*"')
    return rules


class MaskConfig(Section):
    """Personal data and secrets are replaced by placeholders."""

    mode: Literal["off", "output", "full"] = "output"
    """`output` masks what goes back to the model; `full` also what tools answer, before the code sees it; `off` masks nothing."""
    kinds: KindsConfig = defaults()
    """What is looked for, beside names and patterns."""
    names: Annotated[tuple[str, ...], AfterValidator(_checked_names)] = ()
    """Names of people or firms, masked as whole words, as written and in capitals."""
    patterns: Annotated[dict[str, str], AfterValidator(_checked_patterns)] = Field(default_factory=dict[str, str])
    """Further patterns by the name that their placeholders bear, in the syntax of RE2; matched within a line."""
    allow: tuple[str, ...] = ()
    """Values that are never masked; `*` stands for anything (`*@example.com`)."""


class FlowsConfig(Section):
    """What may not go from one server to another."""

    deny: Annotated[tuple[str, ...], AfterValidator(_checked_flows)] = ()
    """Rules such as `crm -> web.*`: no value that `crm` answered goes to a tool of `web`. Empty forbids nothing."""
