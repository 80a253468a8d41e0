"""Structured results are held against the tool's own output schema, in native code.

The SDK's pure-Python validator takes half a second of the event loop for 10,000 rows; this takes milliseconds.
"""

from collections.abc import Mapping

import jsonschema_rs

from gristmill.errors import ToolFailed
from gristmill.model import Json

_LONGEST = 300


class OutputChecks:
    """Compiled schemas of one server's tools; compiled at first use, forgotten when the tools change."""

    def __init__(self) -> None:
        self._schemas: dict[str, Mapping[str, Json]] = {}
        self._compiled: dict[str, jsonschema_rs.Validator | None] = {}

    def know(self, schemas: Mapping[str, Mapping[str, Json]]) -> None:
        """Take over the output schemas of the newest listing."""
        kept = {name for name, schema in schemas.items() if self._schemas.get(name) == schema}
        self._compiled = {name: check for name, check in self._compiled.items() if name in kept}
        self._schemas = dict(schemas)

    def schema(self, tool: str) -> Mapping[str, Json] | None:
        """What ``tool`` promises, if it does."""
        return self._schemas.get(tool)

    def check(self, tool: str, value: Json) -> None:
        """Do nothing if ``value`` is what ``tool`` promised, or promised nothing.

        Raises:
            ToolFailed: it is not.
        """
        check = self._compiled[tool] if tool in self._compiled else self._compile(tool)
        if check is None or check.is_valid(value):
            return
        problem = next(iter(check.iter_errors(value)))
        place = "/".join(map(str, problem.instance_path)) or "the top"
        raise ToolFailed(f"the answer breaks the tool's own output schema at {place}: {problem.message[:_LONGEST]}")

    def _compile(self, tool: str) -> jsonschema_rs.Validator | None:
        schema = self._schemas.get(tool)
        compiled = _compile(schema) if schema is not None else None
        self._compiled[tool] = compiled
        return compiled


def _compile(schema: Mapping[str, Json]) -> jsonschema_rs.Validator | None:
    try:
        return jsonschema_rs.validator_for(
            dict(schema),
            # A schema comes from a stranger: it may not make us fetch anything,
            retriever=_refuse,
            # and its patterns run in an engine whose time is linear in the text.
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, OSError):
        return None  # a schema that does not compile promises nothing


def _refuse(uri: str) -> Json:
    raise OSError(f"{uri} is not fetched")
