"""Checks structured results against the tool's own output schema, in native code.

The SDK's pure-Python validator blocks the event loop for half a second per 10,000 rows; this one takes milliseconds.
"""

from collections.abc import Mapping

import jsonschema_rs

from gristmill.errors import ToolFailed
from gristmill.model import Json

_LONGEST_MESSAGE = 300


class OutputChecks:
    """The output schemas of one server's tools; each is compiled at first use and dropped when it changes."""

    def __init__(self) -> None:
        self._schemas: dict[str, Mapping[str, Json]] = {}
        self._compiled: dict[str, jsonschema_rs.Validator | None] = {}

    def set_schemas(self, schemas: Mapping[str, Mapping[str, Json]]) -> None:
        """Replaces the output schemas by those of the newest listing; compiled schemas that did not change are kept."""
        kept = {name for name, schema in schemas.items() if self._schemas.get(name) == schema}
        self._compiled = {name: check for name, check in self._compiled.items() if name in kept}
        self._schemas = dict(schemas)

    def schema(self, tool: str) -> Mapping[str, Json] | None:
        """Returns the output schema of ``tool``, if it has one."""
        return self._schemas.get(tool)

    def check(self, tool: str, value: Json) -> None:
        """Checks that ``value`` fits the output schema of ``tool``; a tool without a usable schema passes.

        Raises:
            ToolFailed: the value does not fit.
        """
        check = self._compiled[tool] if tool in self._compiled else self._compile(tool)
        if check is None or check.is_valid(value):
            return
        problem = next(iter(check.iter_errors(value)))
        place = "/".join(map(str, problem.instance_path)) or "the top"
        raise ToolFailed(f"the answer breaks the tool's own output schema at {place}: {problem.message[:_LONGEST_MESSAGE]}")

    def _compile(self, tool: str) -> jsonschema_rs.Validator | None:
        schema = self._schemas.get(tool)
        compiled = _compile_schema(schema) if schema is not None else None
        self._compiled[tool] = compiled
        return compiled


def _compile_schema(schema: Mapping[str, Json]) -> jsonschema_rs.Validator | None:
    try:
        return jsonschema_rs.validator_for(
            dict(schema),
            # A schema is untrusted: its references must not make us fetch anything,
            retriever=_refuse_fetch,
            # and its patterns run in a regex engine whose time is linear in the text.
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, OSError):
        return None  # a schema that does not compile is not checked


def _refuse_fetch(uri: str) -> Json:
    raise OSError(f"{uri} is not fetched")
