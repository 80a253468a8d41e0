"""What a program is checked against: servers, their tools and the importable modules. The runtime fills in these values."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import cast

from msgspec import Struct, field

from gristmill.guard.program.literal_schemas import is_small_schema, is_understood_schema
from gristmill.loose_names import fold_name
from gristmill.model import Json, Tool
from gristmill.near_names import find_misspelt_name

_PACKAGES = frozenset({"attr", "dotenv", "httplib2", "httpx", "mcp", "orjson", "pytz", "rich", "simplejson", "ujson", "yaml"})
"""Packages with names like those of modules that Python has."""
_BRANCHING_WORDS = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "dependentSchemas"})


class KnownParameter(Struct, frozen=True, kw_only=True):
    """One argument: ``name`` is the server's name for it, ``python`` its name in the typed module."""

    name: str
    python: str
    required: bool
    schema: Json


class KnownSignature(Struct, frozen=True, kw_only=True):
    """The arguments of a tool, required ones first."""

    parameters: tuple[KnownParameter, ...]
    open: bool
    """Whether arguments with other names are accepted."""
    closed: bool
    """Whether the schema itself, not only the typed module, refuses other names."""
    plain: bool
    """Whether the whole schema is understood here, so that a value which does not fit is certainly refused."""


class KnownServer(Struct, frozen=True, kw_only=True):
    """One server: its own name, the module it is imported as, and its tools by function name."""

    name: str
    module: str
    tools: Mapping[str, Tool]
    complete: bool = True
    """False when the server may have tools that are not listed here."""

    def find_function(self, name: str) -> str | None:
        """Returns the function name for ``name``, which is spelled as by the server or as in Python."""
        if name in self.tools:
            return name
        exact = next((function for function, tool in self.tools.items() if tool.name == name), None)
        if exact is not None or name.startswith("_"):
            return exact
        folded = fold_name(name)
        same = [function for function in self.tools if fold_name(function) == folded]
        return same[0] if len(same) == 1 else None


def _map_to_itself(names: Iterable[str]) -> Mapping[str, str]:
    return {name: name for name in names}


class KnownTools(Struct, frozen=True, kw_only=True):
    """Everything that is known before a program runs. Names about which nothing is known are never reported as problems."""

    servers: tuple[KnownServer, ...] = ()
    unlisted: frozenset[str] = frozenset()
    """Servers, by name and by module, whose tools are not known yet."""
    importable: Callable[[str], bool] | frozenset[str] | None = None
    """Top-level modules that the sandbox has; None when that is not known."""
    workspace: Callable[[], Container[str]] = frozenset
    """Top-level modules in the session's workspace; only read when a program imports a module that the sandbox lacks."""
    argument_names: Callable[[Iterable[str]], Mapping[str, str]] = _map_to_itself
    """Maps the names of a tool's arguments to their names in its typed module."""
    typed: bool = True
    """Whether tools are imported from typed modules, which refuse wrong names themselves."""
    _signatures: dict[str, tuple[Tool, KnownSignature | None]] = field(
        default_factory=dict[str, tuple[Tool, KnownSignature | None]]
    )

    def find_server(self, name: str) -> KnownServer | None:
        """Returns the server with that name or module name, in any spelling."""
        exact = next((each for each in self.servers if name in (each.module, each.name)), None)
        if exact is not None or name.startswith("_"):
            return exact
        folded = fold_name(name)
        return next((each for each in self.servers if folded in (fold_name(each.module), fold_name(each.name))), None)

    def has_module(self, name: str) -> bool:
        """Tells whether ``import name`` can work, as far as is known."""
        if self.importable is None:
            return True
        found = self.importable(name) if callable(self.importable) else name in self.importable
        return found or name in self.workspace()

    def find_near_module(self, name: str) -> str | None:
        """Returns the module whose name was misspelt, if the modules can be listed. A missing package is no misspelling."""
        if self.importable is None or callable(self.importable) or name in _PACKAGES:
            return None
        return find_misspelt_name(name, self.importable, likeness=0.75)

    def find_signature(self, tool: Tool) -> KnownSignature | None:
        """Returns the arguments of ``tool``; None when its schema is too complex to read them."""
        found = self._signatures.get(tool.key)
        if found is None or found[0] is not tool:
            found = self._signatures[tool.key] = tool, self._read_signature(tool.input_schema)
        return found[1]

    def _read_signature(self, schema: Mapping[str, Json]) -> KnownSignature | None:
        properties: Json = schema.get("properties", {})
        required: Json = schema.get("required", [])
        if _BRANCHING_WORDS & schema.keys() or not isinstance(properties, Mapping) or not isinstance(required, list):
            return None
        if not is_small_schema(schema):
            return None
        fields: dict[str, Json] = dict(cast("Mapping[str, Json]", properties))
        needed = [str(name) for name in cast("list[Json]", required)]
        fields |= {name: True for name in sorted(needed) if name not in fields}
        python = self.argument_names(fields)
        parameters = [
            KnownParameter(name=name, python=python[name], required=name in needed, schema=each) for name, each in fields.items()
        ]
        extra = schema.get("additionalProperties")
        takes_any = not fields and "properties" not in schema and extra is not False  # as {"type": "object"}
        return KnownSignature(
            parameters=tuple(sorted(parameters, key=lambda parameter: not parameter.required)),
            open=(extra is not None and extra is not False) or bool(schema.get("patternProperties")) or takes_any,
            closed=extra is False,
            plain=is_understood_schema(schema),
        )
