"""Offers Python functions of this process as a server: schemas come from their signatures, and calls need no transport."""

import importlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, get_type_hints

import anyio
import anyio.to_thread
from msgspec import Struct
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
from gristmill.upstream.base import ServerStatus, check_tool_listed

Function = Callable[..., Any]


class _BoundFunction(Struct, frozen=True, kw_only=True):
    """One function as a tool: its definition, the model that checks its arguments, and how it is run."""

    tool: Tool
    function: Function
    arguments: type[BaseModel]
    threaded: bool
    at_once: bool


class PythonFunctions:
    """Functions of this process as an ``Upstream``."""

    def __init__(
        self, name: str, functions: Iterable[Function] | Mapping[str, Function], *, seconds: float = 60.0, cheap: bool = False
    ) -> None:
        """Offers ``functions``, under their own names or under the names in a mapping.

        With ``cheap`` they run on the event loop; otherwise functions that are not async run in a thread.

        Raises:
            ConfigError: a signature cannot be expressed as a schema.
        """
        self._name = name
        self._seconds = seconds
        named = _name_functions(functions)
        self._bound = {tool: _bind_function(name, tool, function, cheap=cheap) for tool, function in named.items()}
        self._tools = tuple(bound.tool for bound in self._bound.values())

    @property
    def name(self) -> str:
        """Returns the name from the configuration."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns one tool per function."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """Returns the state, which is always "ready"."""
        return ServerStatus(name=self._name, kind="python", state="ready", tools=len(self._bound))

    @property
    def is_listed(self) -> bool:
        """Returns true: the functions themselves say what they are."""
        return True

    async def run(self) -> None:
        """Does nothing: there is no connection."""

    async def wait_until_settled(self) -> None:
        """Returns at once: functions are always ready."""

    async def connect(self) -> None:
        """Returns at once: there is no connection."""

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Checks the arguments and calls the function."""
        bound = self._bound.get(tool)
        if bound is None:
            check_tool_listed(tool, self._name, self.tools)
            raise AssertionError
        arguments = _check_arguments(bound, call.arguments)
        value: Any = None
        try:
            if bound.at_once:  # runs to its end on the event loop, so no timeout could stop it
                value = bound.function(**arguments)
            if not bound.at_once or inspect.isawaitable(value):
                with anyio.fail_after(self._seconds):
                    value = await (value if bound.at_once else _run_function(bound, arguments))
        except TimeoutError:
            raise UpstreamTimeout(f"{call.tool} did not return within {self._seconds:g} s") from None
        except Error:
            raise
        except Exception as error:  # the function may raise anything: that is the tool's answer
            raise ToolFailed(describe_exception(error)) from error
        return ToolResult(value=to_jsonable_python(value, fallback=str))


def describe_exception(error: Exception) -> str:
    """Returns the class and the text. Of a file that was not there or not allowed only the name: its folder is the host's."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str | bytes):
        return f"{type(error).__name__}: {error.strerror}: {os.path.basename(os.fsdecode(error.filename))!r}"
    return f"{type(error).__name__}: {error}"


def _name_functions(functions: Iterable[Function] | Mapping[str, Function]) -> Mapping[str, Function]:
    if isinstance(functions, Mapping):
        return cast("Mapping[str, Function]", functions)  # a mapping is an iterable too: isinstance does not narrow it
    return {function.__name__: function for function in functions}


def find_public_functions(module: str) -> list[Function]:
    """Returns the public functions of a module: those in ``__all__``, or those defined in it without a leading underscore.

    Raises:
        ConfigError: the module cannot be imported, or has no public functions.
    """
    try:
        found = importlib.import_module(module)
    except Exception as error:  # importing runs foreign code, which may raise anything
        raise ConfigError(f"the module {module} cannot be imported: {type(error).__name__}: {error}") from None
    names = getattr(found, "__all__", [name for name in vars(found) if not name.startswith("_")])
    members = [getattr(found, name) for name in names]
    functions = [item for item in members if inspect.isfunction(item) and (item.__module__ == module or "__all__" in vars(found))]
    if not functions:
        raise ConfigError(f"the module {module} has no public functions")
    return functions


def _bind_function(server: str, name: str, function: Function, *, cheap: bool) -> _BoundFunction:
    try:
        hints = get_type_hints(function, include_extras=True)
        arguments = _make_arguments_model(function, hints)
        tool = Tool(
            server=server,
            name=name,
            description=inspect.getdoc(function) or "",
            input_schema=arguments.model_json_schema(),
            output_schema=_make_output_schema(hints),
        )
    except (PydanticSchemaGenerationError, PydanticUserError, NameError, TypeError) as error:
        raise ConfigError(f"{server}.{name} cannot be a tool: {error}") from None
    return _BoundFunction(
        tool=tool,
        function=function,
        arguments=arguments,
        threaded=not cheap and not inspect.iscoroutinefunction(function),
        at_once=cheap and inspect.isfunction(function) and not inspect.iscoroutinefunction(function),
    )


def _make_arguments_model(function: Function, hints: dict[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}  # Any: what create_model takes
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the parameter {parameter.name} has no name that a caller could use")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, Any), default)
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields)


def _make_output_schema(hints: dict[str, Any]) -> dict[str, Json] | None:
    returned = hints.get("return", Any)
    if returned in (Any, None, type(None)):
        return None
    return TypeAdapter[Any](returned).json_schema(mode="serialization")


def _check_arguments(bound: _BoundFunction, arguments: Any) -> dict[str, Any]:
    try:
        model = bound.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ToolFailed(f"{bound.tool.key}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    return {name: getattr(model, name) for name in type(model).model_fields}


async def _run_function(bound: _BoundFunction, arguments: dict[str, Any]) -> Any:
    if bound.threaded:
        return await anyio.to_thread.run_sync(lambda: bound.function(**arguments), abandon_on_cancel=True)
    value = bound.function(**arguments)
    return await value if inspect.isawaitable(value) else value
