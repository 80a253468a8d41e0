"""What the check of a program is held against: servers, their tools, what can be imported. Values; the hall fills them in."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import field
from typing import cast

from gristmill.guard.program.literal_schemas import is_plain, is_tame
from gristmill.guard.program.program_problems import near
from gristmill.model import Json, Tool
from gristmill.values import dataclass

_BRANCHING = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "dependentSchemas"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument: ``name`` on the wire, ``python`` in code."""

    name: str
    python: str
    required: bool
    schema: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The arguments of a tool, required ones first."""

    parameters: tuple[Parameter, ...]
    open: bool
    """Other names are welcome."""
    closed: bool
    """The schema itself, not only the typed module, refuses other names."""
    plain: bool
    """The whole schema is understood here, so what does not fit it will surely be refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownServer:
    """One server: its own name, the module it is imported as, and its tools by function name."""

    name: str
    module: str
    tools: Mapping[str, Tool]
    complete: bool = True
    """False when the server may have tools that are not listed here."""

    def function(self, name: str) -> str | None:
        """The function that ``name``, the server's spelling or Python's, stands for."""
        if name in self.tools:
            return name
        return next((function for function, tool in self.tools.items() if tool.name == name), None)


def _same(names: Iterable[str]) -> Mapping[str, str]:
    return {name: name for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Everything that is known before a program runs. What is not known is never held against it."""

    servers: tuple[KnownServer, ...] = ()
    unlisted: frozenset[str] = frozenset()
    """Servers, by name and by module, whose tools are not known yet."""
    importable: Callable[[str], bool] | frozenset[str] | None = None
    """Top-level modules that the sandbox has; None is not known."""
    workspace: Callable[[], Container[str]] = frozenset
    """Top-level modules in the session's workspace; asked only when a program imports what nobody else has."""
    argument_names: Callable[[Iterable[str]], Mapping[str, str]] = _same
    """The names of a tool's arguments and what they are called in its typed module."""
    typed: bool = True
    """Whether tools are imported from typed modules, which refuse wrong names themselves."""
    _signatures: dict[str, tuple[Tool, Signature | None]] = field(default_factory=dict[str, tuple[Tool, Signature | None]])

    def server(self, name: str) -> KnownServer | None:
        """The server of that name or module."""
        return next((each for each in self.servers if name in (each.module, each.name)), None)

    def has_module(self, name: str) -> bool:
        """Whether ``import name`` can work, as far as is known."""
        if self.importable is None:
            return True
        found = self.importable(name) if callable(self.importable) else name in self.importable
        return found or name in self.workspace()

    def near_module(self, name: str) -> str | None:
        """The module that was probably meant, where they can be listed."""
        return None if self.importable is None or callable(self.importable) else near(name, self.importable)

    def signature(self, tool: Tool) -> Signature | None:
        """The arguments of ``tool``; None when its schema is not simple enough to tell."""
        found = self._signatures.get(tool.key)
        if found is None or found[0] is not tool:
            found = self._signatures[tool.key] = tool, self._read(tool.input_schema)
        return found[1]

    def _read(self, schema: Mapping[str, Json]) -> Signature | None:
        properties: Json = schema.get("properties", {})
        required: Json = schema.get("required", [])
        if _BRANCHING & schema.keys() or not isinstance(properties, Mapping) or not isinstance(required, list):
            return None
        if not is_tame(schema):
            return None
        fields: dict[str, Json] = dict(cast("Mapping[str, Json]", properties))
        needed = [str(name) for name in cast("list[Json]", required)]
        fields |= {name: True for name in sorted(needed) if name not in fields}
        python = self.argument_names(fields)
        parameters = [
            Parameter(name=name, python=python[name], required=name in needed, schema=each) for name, each in fields.items()
        ]
        extra = schema.get("additionalProperties")
        return Signature(
            parameters=tuple(sorted(parameters, key=lambda parameter: not parameter.required)),
            open=(extra is not None and extra is not False) or bool(schema.get("patternProperties")),
            closed=extra is False,
            plain=is_plain(schema),
        )
