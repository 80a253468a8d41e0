"""Offers functions of this process that bring their own schemas as a server; it can be added to an open runtime."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import anyio
from msgspec import Struct, field

from gristmill.errors import Error, ToolFailed, UpstreamTimeout
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, check_tool_listed
from gristmill.upstream.python_functions import describe_exception

CALL_SECONDS = 300.0


class DescribedFunction(Struct, frozen=True, kw_only=True):
    """An asynchronous function and its definition as a tool: it gets the call, and returns JSON."""

    name: str
    call: Callable[[ToolCall], Awaitable[Json]]
    description: str = ""
    input_schema: Mapping[str, Json] = field(default_factory=dict[str, Json])
    output_schema: Mapping[str, Json] | None = None
    annotations: Mapping[str, Json] = field(default_factory=dict[str, Json])


class DescribedFunctions:
    """Described functions as an ``Upstream``."""

    def __init__(self, name: str, functions: Iterable[DescribedFunction], *, seconds: float = CALL_SECONDS) -> None:
        self._name, self._seconds = name, seconds
        self._functions: dict[str, DescribedFunction] = {}
        self._tools: tuple[Tool, ...] = ()
        self.extend(functions)

    def extend(self, functions: Iterable[DescribedFunction]) -> None:
        """Adds functions; one of the same name is replaced."""
        self._functions |= {function.name: function for function in functions}
        self._tools = tuple(
            Tool(
                server=self._name,
                name=function.name,
                description=function.description,
                input_schema=function.input_schema,
                output_schema=function.output_schema,
                annotations=function.annotations,
            )
            for function in self._functions.values()
        )

    @property
    def name(self) -> str:
        """Returns the name under which the functions were added."""
        return self._name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Returns one tool per function."""
        return self._tools

    @property
    def status(self) -> ServerStatus:
        """Returns the state, which is always "ready"."""
        return ServerStatus(name=self._name, kind="python", state="ready", tools=len(self._tools))

    @property
    def is_listed(self) -> bool:
        """Returns true: the functions brought their definitions."""
        return True

    async def run(self) -> None:
        """Does nothing: there is no connection."""

    async def wait_until_settled(self) -> None:
        """Returns at once: functions are always ready."""

    async def connect(self) -> None:
        """Returns at once: there is no connection."""

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Calls the function; the arguments were checked against its schema before."""
        found = self._functions.get(tool)
        if found is None:
            check_tool_listed(tool, self._name, self._tools)
            raise AssertionError
        try:
            with anyio.fail_after(self._seconds):
                return ToolResult(value=await found.call(call))
        except TimeoutError:
            raise UpstreamTimeout(f"{call.tool} did not return within {self._seconds:g} s") from None
        except Error:
            raise
        except Exception as error:  # the function may raise anything: that is the tool's answer
            raise ToolFailed(describe_exception(error)) from error
