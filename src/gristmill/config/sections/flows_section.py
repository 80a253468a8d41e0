"""The `flows` section of the configuration: which values may not go from server to server."""

import re
from typing import Annotated

from msgspec import Struct
from pydantic import AfterValidator

from gristmill.config.sections.base import Section

_FORM = re.compile(r"\s*([^\s>]+)\s*->\s*([^\s>]+)\s*")


class FlowRule(Struct, frozen=True, kw_only=True):
    """Values of tools that match ``source`` may not reach tools that match ``sink``; both are patterns of ``server.tool``."""

    source: str
    sink: str

    @classmethod
    def parse(cls, text: str) -> "FlowRule":
        """Parses ``source -> sink``; a server's name alone means all of its tools.

        Raises:
            ValueError: the text does not have that form.
        """
        form = _FORM.fullmatch(text)
        if form is None:
            raise ValueError(f'{text!r} is not of the form "server -> server.tool", such as "crm -> web.*"')
        return cls(source=add_tool_wildcard(form[1]), sink=add_tool_wildcard(form[2]))


def add_tool_wildcard(pattern: str) -> str:
    """Returns the pattern of all tools of a server if ``pattern`` is a server's name alone; else the pattern itself."""
    return pattern if "." in pattern else f"{pattern}.*"


def _check_flow_rules(rules: tuple[str, ...]) -> tuple[str, ...]:
    for rule in rules:
        FlowRule.parse(rule)
    return rules


class FlowsConfig(Section):
    """Which values may not go from one server to another."""

    deny: Annotated[tuple[str, ...], AfterValidator(_check_flow_rules)] = ()
    """Rules such as `crm -> web.*`: no value from a result of `crm` may go to a tool of `web`. Empty forbids nothing."""
