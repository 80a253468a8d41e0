"""Python functions are a server too: schemas from their signatures, calls without any transport."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, get_type_hints

import anyio
import anyio.to_thread
from pydantic import (
    BaseModel,
    ConfigDict,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import to_jsonable_python

from gristmill.errors import ConfigError, Error, ToolFailed, UpstreamTimeout
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, check_known
from gristmill.values import dataclass

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    tool: Tool
    function: Function
    arguments: type[BaseModel]
    threaded: bool
    at_once: bool


class Inproc:
    """Functions of this process behind the face of an ``Upstream``."""

    def __init__(
        self, name: str, functions: Iterable[Function] | Mapping[str, Function], *, seconds: float = 60.0, cheap: bool = False
    ) -> None:
        """Offer ``functions``, named by themselves or by a mapping.

        ``cheap`` ones run on the event loop, others that are not async in a thread.

        Raises:
            ConfigError: a signature that has no schema.
        """
        self._name = name
        self._seconds = seconds
        named = _by_name(functions)
        self._bound = {tool: _bind(name, tool, function, cheap=cheap) for tool, function in named.items()}
        self._tools = tuple(bound.tool for bound in self._bound.values())

    @property
    def name(self) -> str:
        """As in the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """One per function."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """Always ready."""
        return ServerStatus(name=self._name, kind="python", state="ready", tools=len(self._bound))

    async def run(self) -> None:
        """There is nothing to own."""

    async def settled(self) -> None:
        """It always is."""

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Check the arguments and call the function."""
        bound = self._bound.get(tool)
        if bound is None:
            check_known(tool, self._name, self.tools)
            raise AssertionError
        arguments = _checked(bound, call.arguments)
        value: Any = None
        try:
            if bound.at_once:  # nothing to wait for, so nothing to limit
                value = bound.function(**arguments)
            if not bound.at_once or inspect.isawaitable(value):
                with anyio.fail_after(self._seconds):
                    value = await (value if bound.at_once else _run(bound, arguments))
        except TimeoutError:
            raise UpstreamTimeout(f"{call.tool} did not return within {self._seconds:g} s") from None
        except Error:
            raise
        except Exception as error:  # the function's failure is its answer
            raise ToolFailed(f"{type(error).__name__}: {error}") from error
        return ToolResult(value=to_jsonable_python(value, fallback=str))


def _by_name(functions: Iterable[Function] | Mapping[str, Function]) -> Mapping[str, Function]:
    if isinstance(functions, Mapping):
        return cast("Mapping[str, Function]", functions)  # a mapping is an iterable too, so the type alone does not tell
    return {function.__name__: function for function in functions}


def functions_of(module: str) -> list[Function]:
    """The public functions of a module: those in ``__all__``, or defined in it without an underscore.

    Raises:
        ConfigError: it cannot be imported, or has none.
    """
    try:
        found = importlib.import_module(module)
    except Exception as error:  # importing runs a stranger's code
        raise ConfigError(f"the module {module} cannot be imported: {type(error).__name__}: {error}") from None
    names = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    members = [getattr(found, name) for name in names]
    functions = [item for item in members if inspect.isfunction(item) and (item.__module__ == module or "__all__" in vars(found))]
    if not functions:
        raise ConfigError(f"the module {module} has no public functions")
    return functions


def _bind(server: str, name: str, function: Function, *, cheap: bool) -> _Bound:
    try:
        hints = get_type_hints(function, include_extras=True)
        arguments = _arguments(function, hints)
        tool = Tool(
            server=server,
            name=name,
            description=inspect.getdoc(function) or "",
            input_schema=arguments.model_json_schema(),
            output_schema=_output_schema(hints),
        )
    except (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError) as error:
        raise ConfigError(f"{server}.{name} cannot be a tool: {error}") from None
    return _Bound(
        tool=tool,
        function=function,
        arguments=arguments,
        threaded=not cheap and not inspect.iscoroutinefunction(function),
        at_once=cheap and inspect.isfunction(function) and not inspect.iscoroutinefunction(function),
    )


def _arguments(function: Function, hints: dict[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}  # Any: what create_model takes
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the parameter {parameter.name} has no name that a caller could use")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, Any), default)
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)


def _output_schema(hints: dict[str, Any]) -> dict[str, Json] | None:
    returned = hints.get("return", Any)
    if returned in (Any, None, type(None)):
        return None
    return TypeAdapter[Any](returned).json_schema(mode="serialization")


def _checked(bound: _Bound, arguments: Any) -> dict[str, Any]:
    try:
        model = bound.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ToolFailed(f"{bound.tool.key}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    return {name: getattr(model, name) for name in type(model).model_fields}


async def _run(bound: _Bound, arguments: dict[str, Any]) -> Any:
    if bound.threaded:
        return await anyio.to_thread.run_sync(lambda: bound.function(**arguments), abandon_on_cancel=True)
    value = bound.function(**arguments)
    return await value if inspect.isawaitable(value) else value
